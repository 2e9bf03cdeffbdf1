"""Tables of the documentation equal those that their data give."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.pages import __main__ as program
from bench.pages import orderings, other, papers, study, times
from bench.pages.claims import SENTENCES
from bench.pages.marked import MARKED, names, pages, updated
from bench.pages.sentences import Sentence
from bench.pages.table import ROOT, STUDIES
from bench.pages.tables import TABLES
from bench.papers.experiment import Result, write_results
from bench.provenance import FILE, UNKNOWN, measurements_of
from bench.records import append_record
from jetpy.study.machine import FILE as MACHINES
from jetpy.study.results import read_results

PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in pages()}
MARKED_PAGES = [name for name, text in PAGES.items() if names(text)]

TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
NUMBER = re.compile(r"[<>~≈]?\d[\d.,]*( |$)")
OTHER_NUMBERS = {
    "| runs compared | equal |": "counts of equal partitions, by bench.determinism",
    "| step | collective calls | bytes |": "a model",
    "| | oldest version |": "versions",
    "| preset | tries | up to 2,000 vertices | growings | passes | levels refined | flows "
    "| flow band | weight of a leaf, at most | choice by subtree |": "options",
}
"""Headers of tables with numbers that are neither times nor cuts, and what the numbers are."""


def measured_tables(text: str) -> Iterator[str]:
    """Yield the headers of the tables of a page that are not marked and contain mostly numbers.

    The first column and empty cells do not count.
    """
    for match in TABLE.finditer(MARKED.sub("", text)):
        header, _, *rows = match[0].splitlines()
        cells = [cell.strip() for row in rows for cell in row.strip().strip("|").split("|")[1:]]
        cells = [cell for cell in cells if cell]
        if 2 * sum(bool(NUMBER.match(cell)) for cell in cells) > len(cells):
            yield header


@pytest.mark.parametrize("page", MARKED_PAGES)
def test_tables_of_a_page_equal_their_data(page: str) -> None:
    assert updated(PAGES[page]) == PAGES[page], "run python -m bench.pages"


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.numbers.__name__)
def test_numbers_of_a_sentence_equal_their_data(sentence: Sentence) -> None:
    page = PAGES[sentence.page]
    assert sentence.updated(page) == page, "run python -m bench.pages"


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_numbers_are_marked(page: str) -> None:
    assert [header for header in measured_tables(PAGES[page]) if header not in OTHER_NUMBERS] == []
    assert PAGES[page].count("<!-- table:") == len(names(PAGES[page]))


def test_every_table_is_in_a_page() -> None:
    assert {name for text in PAGES.values() for name in names(text)} == set(TABLES)
    headers = {header for text in PAGES.values() for header in measured_tables(text)}
    assert headers == set(OTHER_NUMBERS)


def test_data_have_a_commit_a_machine_a_date_and_a_command() -> None:
    files = [path for path in STUDIES.glob("*/*") if path.name not in (FILE, MACHINES)]
    for file in files:
        found = measurements_of(file)
        assert found, file
        for measurement in found:
            fields = vars(measurement).values()
            assert all(fields), file
            assert UNKNOWN not in fields, file


def test_tables_of_numbers_are_found() -> None:
    results = "| | cut |\n|---|---|\n| fast | 0.9 |\n| max | |\n"
    options = "| option | default |\n|---|---|\n| a | 1 |\n| b | none |\n"
    marked = f"<!-- table: x -->\n\n{results}\n<!-- end -->\n"
    assert list(measured_tables(f"Text.\n\n{results}\nMore.\n\n{options}")) == ["| | cut |"]
    assert list(measured_tables(marked)) == []
    assert names(marked) == ["x"]


def test_changed_cells_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- table: cores -->\n| old |\n<!-- end -->\n\nAfter.\n")
    monkeypatch.setattr(program, "pages", lambda: [page])
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["pages", "--check"])
    with pytest.raises(SystemExit, match="1 pages differ"):
        program.main()
    assert "| old |" in page.read_text()
    monkeypatch.setattr(sys, "argv", ["pages"])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 0
    text = page.read_text()
    assert re.fullmatch(r"Before\.\n\n(?s:.*)\n\nAfter\.\n", text)
    assert "| old |" not in text
    assert "| 16 (Xeon) | `fast` |" in text
    assert capsys.readouterr().err == "page.md differs\n" * 2


def test_numbers_of_a_sentence_are_written_again() -> None:
    sentence = Sentence("page.md", "takes {} s (`a`), up to {}.", lambda: ["0.5", "2,000"])
    page = "It takes 12.25 s\n(`a`), up to 1. It takes 3 s.\n"
    assert sentence.updated(page) == "It takes 0.5 s\n(`a`), up to 2,000. It takes 3 s.\n"


@pytest.mark.parametrize("page", ["takes long", "takes 1 s or takes 2 s"])
def test_sentences_that_a_page_does_not_contain_once_are_an_error(page: str) -> None:
    with pytest.raises(SystemExit, match=r"page\.md contains [02] times: takes \{\} s"):
        Sentence("page.md", "takes {} s", lambda: ["1"]).updated(page)


def test_a_sentence_needs_a_number_for_each_gap() -> None:
    with pytest.raises(ValueError, match="zip"):
        Sentence("page.md", "{} of {}", lambda: ["1"]).updated("1 of 2")


def test_unknown_tables_are_an_error() -> None:
    with pytest.raises(SystemExit, match="no table is called nothing"):
        updated("<!-- table: nothing -->\n<!-- end -->\n")


def test_concurrent_calls_have_a_column_per_machine(tmp_path: Path) -> None:
    paths = []
    for processors, seconds in (
        (2, {"1 call": 1.0}),
        (16, {"1 call": 2.0, "2 calls at once": 3.0}),
    ):
        paths.append(tmp_path / f"{processors}.jsonl")
        append_record(paths[-1], {"processors": processors, "seconds": seconds})
    cells = times.of_concurrent_calls(*paths)
    assert cells.headers == ["", "2 processors", "16 processors"]
    assert cells.rows == [["2 calls at once / 1 call", "", "1.50"]]


def test_mapping_has_cost_and_time_over_each_peer(tmp_path: Path) -> None:
    path = tmp_path / "mapping.jsonl"
    for method, cost in (("jetpy/im", 8), ("mtkahypar", 10), ("scotch", 4)):
        record = {
            "method": method,
            "backend": "auto" if method.startswith("jetpy") else "",
            "threads": 1,
            "distance": "1:10:100",
            "graph": "a",
            "hierarchy": "4:8:1",
            "median_cost": cost,
            "median_seconds": cost / 2,
        }
        append_record(path, record)
    row = other.of_mapping(path).rows[0]
    assert row == ["`im`", "-", "-", "0.800", "0.800", "2.000", "2.000", "2.000", "2.000"]


def test_changing_graphs_have_a_row_per_size_of_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "incremental.jsonl"
    for n, seconds in ((1000, 0.1), (600_000, 0.4)):
        record = {"n": n, "modifiers": 50, "near": False, "seconds": seconds, "full_seconds": 4.0}
        append_record(path, {**record, "cuts": [9], "full_cuts": [10]})
    assert other.of_changing_graphs(path).rows == [["50", "anywhere", "2", "20.0", "10.0", "0.900"]]


def test_two_processes_are_compared_with_two_threads(tmp_path: Path) -> None:
    path = tmp_path / "distributed.jsonl"
    for graph in other.GRAPHS:
        for preset, threads, seconds in (("default", 1, 3.0), ("fast", 1, 2.0), ("fast", 2, 9.0)):
            record = {"case": f"{graph}, k = 64, {preset}", "processes": 2, "threads": threads}
            append_record(path, {**record, "seconds": seconds, "single_seconds": 2.0})
    rows = other.of_processes(path).rows
    assert rows == [[title, "1.50", "1.00"] for title in other.GRAPHS.values()]


def test_bandwidth_has_a_row_per_platform_and_a_column_per_preset() -> None:
    file = STUDIES / "2026-11-h100-study/kernels.csv"
    shares = read_results(file.parent).by_bandwidth.by_platform
    cells = study.by_bandwidth(file)
    assert cells.headers == ["", "`fast`", "`default`"]
    assert [row[0] for row in cells.rows] == ["`cpu`, Xeon, 16 threads", "`cuda`, H100"]
    assert cells.rows[1][2] == f"{shares['jetpy/default']['20553809 gpu']:.2f}"


def test_other_distributed_partitioners_have_a_row(tmp_path: Path) -> None:
    path = tmp_path / "distributed_peers.jsonl"
    for tool, cut, seconds in (
        *(("jetpy/default", 8, 2.0), ("jetpy/fast", 9, 1.0)),
        ("parmetis", 10, 4.0),
    ):
        record = {"tool": tool, "graph": "cube:9", "k": 8, "processes": 2, "cuts": [cut]}
        record |= {"seconds": [seconds], "imbalances": [0.0], "parts": ["x"]}
        append_record(path, record)
    rows = other.of_distributed_peers(path).rows
    assert rows == [["ParMETIS", "1 of 1", "0.900", "0.250", "0.800", "0.500"]]


def test_experiments_have_a_row_per_number_of_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "jet.table1.csv"
    results = [
        ("a", "k = 2", "1.10", 1.06),
        ("b", "k = 2", "1.3", "peer missing"),
        ("c", "", "", 2),
    ]
    write_results(path, [Result(*result) for result in results])
    assert papers.of_experiment(path).rows == [["a", "k = 2", "1.10", "1.06"]]


def test_orderings_of_half_b_have_a_row_per_tool(tmp_path: Path) -> None:
    for tool, threads, fill in (
        ("metis", 1, [2, 8]),
        ("amd", 1, [16]),
        *((f"jetpy/{preset}", 1, [1]) for preset in ("fast", "default", "best")),
        *((f"jetpy/{preset}", 2, [2]) for preset in ("fast", "default", "best")),
    ):
        record = {"graph": "a", "half": "B", "n": 10, "tool": tool, "threads": threads}
        record["backend"] = "cpu"
        record |= dict.fromkeys(("fill", "operations", "height", "critical_path"), fill)
        record |= {"seconds": [3.0], "metis_seconds": [2.0]}
        append_record(tmp_path / f"{'jetpy' if threads > 1 else 'other'}.jsonl", record)
    paths = [tmp_path / "jetpy.jsonl", tmp_path / "other.jsonl"]
    presets = [
        [f"`{preset}`", "1", "0.500", "0.500", "0.500 a", "0.500", "0.500", "1.500"]
        for preset in ("fast", "default", "best")
    ]
    amd = ["AMD", "1", "4.000", "4.000", "4.000 a", "4.000", "4.000", "1.500"]
    assert orderings.by_order(*paths).rows == [*presets, amd]
    assert orderings.over_the_better(paths) == ["2", "1", "0.500", "0.500", "0.500"]
