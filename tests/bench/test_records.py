"""Result files, and means of ratios in tables."""

from __future__ import annotations

from pathlib import Path

from bench.records import append_record, by_tool, read_records
from bench.tables import extreme_text, mean_text


def test_appended_records_are_read(tmp_path: Path) -> None:
    file = tmp_path / "results" / "records.jsonl"
    assert read_records(file) == []
    records = [{"tool": "a", "k": 2}, {"tool": "b", "k": 2}]
    for record in records:
        append_record(file, record)
    assert read_records(file) == records


def test_last_record_of_a_case_counts() -> None:
    first, second = ({"tool": "a", "graph": "g", "k": 2, "cut": cut} for cut in (5, 4))
    other = {"tool": "b", "graph": "g", "k": 2, "cut": 7}
    found = by_tool([first, other, second], "graph", "k")
    assert found == {"a": {("g", 2): second}, "b": {("g", 2): other}}


def test_means_leave_out_missing_ratios() -> None:
    assert mean_text([2.0, None, 8.0]) == "4.000"
    assert mean_text([2.0, 8.0], 1) == "4.0"
    assert mean_text([None]) == "-"


def test_extreme_values_are_named() -> None:
    values = {"b": 2.0, "a": 2.0, "c": 1.0}
    assert extreme_text(values) == "2.000 a"
    assert extreme_text(values, str.upper, min) == "1.000 C"
    assert extreme_text({}) == "-"
