"""Mutations apply as described, and the output of test runs is parsed correctly."""

from __future__ import annotations

import ast
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.broken_lines.copies import Copy, outcome_of
from tests.broken_lines.mutations import Mutation, mutations_of, signatures_of
from tests.broken_lines.sources import ROOT, Case, draw, nearest_tests

TEXT = textwrap.dedent(
    '''\
    """Ünïcode before a place that is counted in bytes."""
    ONE = 1

    def f(v: int, u: int, w: float, weights: list[int], total: int) -> int:
        for i in range(v):
            if v < u and (v  # < not here
                == 3):
                break
        total += weights[i]
        weights[v] = min(u, w)
        pk.atomic_fetch_add(weights, [u], w)
        pk.atomic_fetch_max(weights, [u], w)
        return f(v, u, w, weights, total - 1)
    '''
).encode()
EXPECTED = {
    "comparison: < -> <=",
    "comparison: == -> !=",
    "and, or: and -> or",
    "constant: 3 -> 2",
    "constant: 3 -> 4",
    "jump: break -> pass",
    "sum: += -> -=",
    "weight: weights[i] -> 1",
    "statement: weights[v] = min(u, w) -> pass",
    "min, max: min -> max",
    "atomic: pk.atomic_fetch_add(weights, [u], w) -> pass",
    "atomic: pk.atomic_fetch_add(weights, [u], w) -> weights[u] += w",
    "atomic: pk.atomic_fetch_max(weights, [u], w) -> pass",
    "min, max: pk.atomic_fetch_max -> pk.atomic_fetch_min",
    "arguments: v, u -> u, v",
    "arguments: v, u, w, weights, total - 1 -> total - 1, u, w, weights, v",
    "arguments: u, w, weights, total - 1 -> total - 1, w, weights, u",
    "sum: - -> +",
    "constant: 1 -> 0",
    "constant: 1 -> 2",
}


def test_mutations_of_a_function_are_complete() -> None:
    found = mutations_of(TEXT, signatures_of([TEXT]))
    assert set(map(described, found)) == EXPECTED
    jump = next(one for one in found if one.kind == "jump")
    assert jump.line == 8
    assert jump.applied(TEXT).decode() == TEXT.decode().replace("break", "pass")


def described(mutation: Mutation) -> str:
    return f"{mutation.kind}: {mutation}"


def test_mutations_are_valid_python_and_change_one_position() -> None:
    """Check the present files."""
    for case in draw(2, 60):
        text, mutation = (ROOT / case.path).read_bytes(), case.mutation
        changed = mutation.applied(text)
        tail = len(text) - mutation.end
        assert changed != text
        assert changed[: mutation.start] == text[: mutation.start]
        assert changed[len(changed) - tail :] == text[mutation.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_same_seed_draws_the_same_mutations() -> None:
    drawn = draw(3, 50)
    assert draw(3, 20) == drawn[:20]
    assert draw(4, 20) != drawn[:20]
    assert len({(case.path, case.mutation.line) for case in drawn}) == 50


def test_mutations_of_one_folder() -> None:
    folders = {case.path.parent for case in draw(3, 40, "ordering")}
    assert folders == {Path("jetpy/ordering"), Path("jetpy/workloads/ordering")}


def test_nearest_tests_come_first() -> None:
    for module, test in (
        ("jetpy/workloads/coarsening/matching.py", "tests/coarsening/test_matching.py"),
        ("jetpy/refinement/packing.py", "tests/refinement/test_packing.py"),
        ("jetpy/multilevel/vcycle.py", "tests/multilevel/test_vcycle.py"),
        ("jetpy/ordering/large_nodes.py", "tests/ordering/test_large_nodes.py"),
        ("jetpy/workloads/ordering/separators.py", "tests/ordering/test_separators.py"),
    ):
        found = nearest_tests(Path(module))
        assert test in found[:6]
        assert "tests/test_determinism.py" in found
        assert "tests/cli/test_partition.py" not in found


RAN = "tests/test_a.py::test_all PASSED [ 10%]\ntests/b/test_b.py::test_x[lists and long rows] "


@pytest.mark.parametrize(
    ("text", "status", "hangs", "noticed_by", "test"),
    [
        (f"{RAN}PASSED [100%]\n", 0, False, None, None),
        (
            f"{RAN}FAILED [ 20%]\nFAILED tests/b/test_b.py::test_x[lists and long rows] - Error: a",
            1,
            False,
            "tests/b/test_b.py::test_x[lists and long rows]",
            "tests/b/test_b.py::test_x[lists and long rows]",
        ),
        (
            f"{RAN}Fatal Python error: Segmentation fault\n",
            -11,
            False,
            "SIGSEGV: tests/b/test_b.py::test_x[lists and long rows]",
            "tests/b/test_b.py::test_x[lists and long rows]",
        ),
        (
            RAN,
            -9,
            True,
            "a hang: tests/b/test_b.py::test_x[lists and long rows]",
            "tests/b/test_b.py::test_x[lists and long rows]",
        ),
        ("ImportError while loading conftest", 4, False, "no test runs: ImportError while", None),
    ],
)
def test_output_of_pytest_is_parsed(
    text: str, status: int, hangs: bool, noticed_by: str | None, test: str | None
) -> None:
    found = outcome_of(text, status, hangs, 1.0)
    assert found.test == test
    if noticed_by is None:
        assert found.noticed_by is None
    else:
        assert str(found.noticed_by).startswith(noticed_by)


@pytest.mark.slow
def test_copy_is_broken_only_while_tests_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use a project with one module and one test."""
    own, module = tmp_path / "own", Path("halves.py")
    (own / "tests").mkdir(parents=True)
    loop = "    while i < n:\n        i += 1\n        n -= min(i, 1)\n"
    (own / module).write_text(f"def half(n):\n    i = 0\n{loop}    return i\n")
    (own / "tests/test_halves.py").write_text(
        "from halves import half\ndef test_half():\n    assert half(4) == 2\n"
    )
    subprocess.run(["git", "init", "--quiet"], cwd=own, check=True)
    monkeypatch.setattr("tests.broken_lines.copies.ROOT", own)
    monkeypatch.setattr("tests.broken_lines.copies.SILENCE", 3.0)
    copy, text = Copy(tmp_path / "copy"), (own / module).read_bytes()
    assert (copy.root / module).read_bytes() == text
    test = "tests/test_halves.py::test_half"
    expected = {"< -> <=": test, "+= -> -=": f"a hang: {test}", "min -> max": None}
    for mutation in mutations_of(text, {}):
        if str(mutation) in expected:
            outcome = copy.test(["tests/test_halves.py"], Case(module, mutation))
            assert outcome.noticed_by == expected.pop(str(mutation))
            assert (copy.root / module).read_bytes() == text
    assert not expected
    assert copy.test(["tests/test_halves.py"]).noticed_by is None
