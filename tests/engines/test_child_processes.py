"""Child processes import nothing from the working directory, and end when work is cancelled."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from threading import Event, Thread
from time import monotonic, sleep

import pytest

import jetpy
from jetpy.device.selfcheck import check_apart
from jetpy.engines import installation
from jetpy.engines.child_processes import ChildProcesses, module_command
from jetpy.engines.cuda.installation import examine_apart
from jetpy.engines.workers import compile_in_parallel

GRANDCHILD = """
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.{})
print(subprocess.Popen(['sleep', '60']).pid, flush=True)
time.sleep(60)
"""


def started_by(process: Popen[str]) -> Path:
    """Return the /proc file of the running grandchild."""
    assert process.stdout is not None
    file = Path("/proc", process.stdout.readline().strip(), "stat")
    assert is_running(file)
    return file


def is_running(file: Path) -> bool:
    return file.exists() and file.read_text().split()[2] != "Z"


def wait_for_end(file: Path) -> None:
    latest = monotonic() + 10
    while is_running(file):
        assert monotonic() < latest
        sleep(0.01)


@pytest.mark.parametrize(
    ("on_sigterm", "code"), [("SIG_DFL", signal.SIGTERM), ("SIG_IGN", signal.SIGKILL)]
)
def test_exception_ends_a_process_and_its_children(on_sigterm: str, code: int) -> None:
    command = [sys.executable, "-c", GRANDCHILD.format(on_sigterm)]
    with suppress(ZeroDivisionError), ChildProcesses().start(command) as process:
        grandchild = started_by(process)
        raise ZeroDivisionError
    assert process.returncode == -code
    wait_for_end(grandchild)


def test_give_up_ends_all_and_starts_no_more() -> None:
    children, ready = ChildProcesses(), Event()
    codes = []

    def serve() -> None:
        with children.start(["sleep", "60"]) as process:
            ready.set()
            process.wait()
        codes.append(process.returncode)

    thread = Thread(target=serve)
    thread.start()
    assert ready.wait(10)
    children.give_up()
    thread.join(10)
    assert codes == [-signal.SIGTERM]
    with pytest.raises(OSError, match="interrupted"), children.start(["sleep", "60"]):
        pass


def test_finished_process_keeps_its_exit_code() -> None:
    with ChildProcesses().start(["echo", "done"], stdin=subprocess.DEVNULL) as process:
        assert process.communicate()[0] == "done\n"
    assert process.returncode == 0


CHILDREN = {
    "self-check": lambda: check_apart("cpu").wrong == [],
    "CUDA": lambda: examine_apart().cupy_error == "",
    "Kokkos": lambda: "hidden" not in installation._import_apart()["error"],
    "compilation": lambda: (
        [*compile_in_parallel("builtins:print", [[("put",)]], 1)] == [[("put",)]]
    ),
}


@pytest.mark.parametrize("child", CHILDREN)
def test_folder_cannot_hide_packages_from_children(
    child: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise ImportError('json is hidden')")
    monkeypatch.chdir(tmp_path)
    assert CHILDREN[child]()


def test_children_find_jetpy_in_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(Path(jetpy.__file__).parents[1])
    command = module_command("jetpy", "--version")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
