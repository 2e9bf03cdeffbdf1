"""Command lines run as separate programs, as by a shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.children import output_on_terminal
from tests.cli.conftest import ENGINE

PROGRAM = [sys.executable, "-m", "jetpy"]
PARTITION = [*PROGRAM, "partition", "mesh.graph", "-k", "4", *ENGINE]

pytestmark = pytest.mark.usefixtures("folder")


def test_success_prints_json_only() -> None:
    command = [*PARTITION, "-o", "out.part", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["feasible"]
    assert done.stderr == ""
    assert len(Path("out.part").read_text().split()) == 1200


def test_failure_prints_one_line() -> None:
    command = [*PROGRAM, "partition", "mesh.part", "-k", "2", *ENGINE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("jetpy: error: mesh.part: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_terminal_shows_progress_bars_unless_quiet() -> None:
    shown = output_on_terminal([*PARTITION, "--json", "out.json"])
    assert "Reading" in shown
    assert "Refining" in shown
    assert output_on_terminal([*PARTITION, "--quiet", "--json", "out.json"]) == ""


@pytest.mark.parametrize("options", [[], ["--json", "-"]], ids=["summary", "json"])
def test_closed_output_is_a_silent_failure(options: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*PROGRAM, "evaluate", "mesh.graph", "mesh.part", *options]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("options", [[], ["--json", "-"]], ids=["summary", "json"])
def test_full_disk_is_an_error(options: list[str]) -> None:
    command = [*PROGRAM, "evaluate", "mesh.graph", "mesh.part", *options]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered)
    assert done.returncode == 1
    assert done.stderr == "jetpy: error: [Errno 28] No space left on device\n"


@pytest.mark.slow
def test_interrupt_while_reading_leaves_no_file(folder: Path) -> None:
    os.mkfifo("endless.graph")
    before = sorted(folder.iterdir())
    command = [*PROGRAM, "partition", "endless.graph", "-k", "2", "-o", "out.part", *ENGINE]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        open("endless.graph", "wb", buffering=0) as stream,  # blocks until the program opens it
    ):
        stream.write(b"1000 2000\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=30)
    assert (process.returncode, words) == (130, "jetpy: interrupted\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_interrupt_while_writing_leaves_no_file(folder: Path) -> None:
    before = sorted(folder.iterdir())
    command = [*PROGRAM, "generate", "grid", "700", "700", "-o", "large.graph.xz"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not _written(folder, "large"):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=30)
    assert (process.returncode, words) == (130, "jetpy: interrupted\n")
    assert sorted(folder.iterdir()) == before


def _written(folder: Path, name: str) -> bool:
    """Return whether a file whose name contains `name` has more than 4096 bytes."""
    sizes = [entry.stat().st_size for entry in os.scandir(folder) if name in entry.name]
    return max(sizes, default=0) > 4096


COMPILING = """
import sys
from jetpy.cli.main import main
from jetpy.engines.workers import announce
from jetpy.engines.cpu.engine import CpuBackend
CpuBackend.get_ready = lambda *given: announce("112 kernels") or 0.0
main(prog_name="jetpy")
"""


@pytest.mark.slow
def test_compilation_is_announced_in_one_line_unless_quiet() -> None:
    command = [sys.executable, "-c", COMPILING, "partition", "mesh.graph", "-k", "4", *ENGINE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "jetpy compiles 112 kernels; later runs find them in its cache\n"
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert "later runs" not in output_on_terminal(command)
