"""Commit, machine, date and command of result files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench import provenance
from bench.provenance import Measurement, caption, command_text, measurements_of, plain
from bench.records import append_record


def test_records_of_a_process_have_one_measurement(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    append_record(path, {"cut": 1})
    append_record(path, {"cut": 2})
    (measurement,) = measurements_of(path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", measurement.date)
    assert re.fullmatch(r".+, \d+ threads(, .+)*", measurement.machine)
    assert measurement.command.startswith("python -m bench.")
    assert measurements_of(tmp_path / "other.jsonl") == []


def test_commits_of_changed_files_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"rev-parse": "abc1234", "status": ""}
    monkeypatch.setattr(provenance, "_git", lambda command, *_: answers[command])
    assert provenance.commit() == "abc1234"
    answers["status"] = " M jetpy/choices.py"
    assert provenance.commit() == "abc1234-changed"


def test_without_a_repository_the_commit_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.commit() == provenance.UNKNOWN


def test_commands_do_not_name_folders(tmp_path: Path) -> None:
    arguments = ["/src/bench/cores.py", "--graphs", str(tmp_path), "--tools", "jetpy/cpu"]
    assert command_text(arguments) == "python -m bench.cores --graphs PATH --tools jetpy/cpu"
    assert command_text(["/src/bench/papers/__main__.py", "a"]) == "python -m bench.papers a"
    assert plain("Intel(R) Xeon(R) CPU E5") == "Intel Xeon E5"


def test_captions_name_folders_and_machines_once(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    one, two = (Measurement(commit, "EPYC", "2026-11-26", "x") for commit in ("a", "b"))
    fields = {"1.jsonl": [vars(one)], "2.jsonl": [vars(one), vars(two)]}
    (folder / provenance.FILE).write_text(json.dumps(fields))
    assert caption([folder / name for name in fields], tmp_path) == (
        "Data: `study`. Measured on EPYC (2026-11-26; a, b)."
    )
