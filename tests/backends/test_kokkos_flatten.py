"""What PyKokkos would translate wrongly is rewritten or refused. Needs no PyKokkos."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from jetpy import workloads
from jetpy.backends.kokkos.flatten import flatten
from jetpy.backends.numba_engine.translate import Kind, read_module
from jetpy.errors import BackendError
from tests.backends.modules import load_workunits

Flatten = Callable[[str], str]


@pytest.fixture
def flattened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flatten:
    """Flatten the workunit `w` of a module."""
    return lambda text: flatten(load_workunits(text, tmp_path, monkeypatch), "w")


def body(*lines: str) -> str:
    statements = "\n".join(f"    {line}" for line in lines)
    return f"@pk.workunit\ndef w(i: int, a: pk.View1D[pk.int32], k: int):\n{statements}\n"


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ("(i < 1 or i < 2) and i < 3", "(not not (i < 1 or i < 2)) and i < 3"),
        ("i < 0 and (i < 1 or i < 2)", "i < 0 and (not not (i < 1 or i < 2))"),
        ("(i < 1 and i < 2) == (k < 3)", "(not not (i < 1 and i < 2)) == (k < 3)"),
        ("i < 1 and i < 2 or i < 3", "(i < 1 and i < 2) or i < 3"),
        ("not (i < 1 or i < 2)", "not (i < 1 or i < 2)"),
    ],
)
def test_parentheses_are_kept(flattened: Flatten, written: str, rewritten: str) -> None:
    text = flattened(body(f"if {written}:", "    a[i] = 1"))
    assert f"if {ast.unparse(ast.parse(rewritten))}:" in text


def test_all_workunits_flatten_to_modules_of_their_own() -> None:
    for module in workloads.MODULES:
        for name, definition in read_module(module).items():
            if definition.kind is Kind.FUNCTION:
                continue
            tree = ast.parse(flatten(module, name))
            defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert name in defined
            called = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert called <= defined | {"range"}


def test_device_functions_are_copied_once_and_before_their_callers(flattened: Flatten) -> None:
    text = flattened(
        "@pk.function\ndef unused(x: int) -> int:\n    return x\n"
        "@pk.function\ndef one(x: int) -> int:\n    return x + 1\n"
        "@pk.function\ndef two(x: int) -> int:\n    return one(x) + one(x)\n"
        + body("a[i] = one(i) + two(i)")
    )
    tree = ast.parse(text)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names == ["one", "two", "w"]


def test_device_functions_without_result_get_an_annotation(flattened: Flatten) -> None:
    text = flattened(
        "@pk.function\ndef put(a: pk.View1D[pk.int32], i: int):\n    a[i] = 1\n" + body("put(a, i)")
    )
    assert "def put(a: pk.View1D[pk.int32], i: int) -> None:" in text


def test_variables_may_be_keywords_of_cpp(flattened: Flatten) -> None:
    text = flattened(body("new: int = k", "a[i] = new"))
    assert "new_: int = k" in text
    assert "a[i] = new_" in text


def test_comments_and_docstrings_change_nothing(flattened: Flatten) -> None:
    plain = flattened(body("a[i] = 1"))
    assert flattened(body('"""Set to one."""', "# at once", "a[i] = 1")) == plain
    assert flattened(body('"""Do nothing."""')) == flattened(body("pass"))


@pytest.mark.parametrize(
    "lines",
    [
        ("x: int = 1", "if i > 0:", "    x: int = 2", "a[i] = x"),
        ("if i > 0:", "    k: int = 2", "    a[i] = k"),
        ("j: int = 1", "for j in range(k):", "    a[i] = j"),
    ],
)
def test_second_declarations_are_refused(flattened: Flatten, lines: tuple[str, ...]) -> None:
    with pytest.raises(BackendError, match=r"w: '[xkj]' is declared twice"):
        flattened(body(*lines))


def test_declarations_in_separate_blocks_are_not_refused(flattened: Flatten) -> None:
    lines = (
        "if i > 0:",
        "    x: int = 1",
        "    a[i] = x",
        "else:",
        "    x: int = 2",
        "    a[i] = x",
    )
    assert flattened(body(*lines)).count("x_: int") == 2


def test_views_of_one_name_and_two_types_are_refused(flattened: Flatten) -> None:
    with pytest.raises(BackendError, match=r"view 'a' has elements of type int64 .* int32"):
        flattened(
            "@pk.function\ndef get(a: pk.View1D[pk.int64]) -> pk.int64:\n    return a[0]\n"
            "@pk.workunit\ndef w(i: int, a: pk.View1D[pk.int32], b: pk.View1D[pk.int64]):\n"
            "    a[i] = get(b)\n"
        )


def test_names_of_the_dispatch_are_refused(flattened: Flatten) -> None:
    with pytest.raises(BackendError, match="w: PyKokkos takes 'members' for its own"):
        flattened(
            "@pk.workunit\ndef w(i: int, members: pk.View1D[pk.int32]):\n    members[i] = 1\n"
        )


def test_more_arguments_than_a_graph_can_record_are_refused(flattened: Flatten) -> None:
    views = [f"a{number}: pk.View1D[pk.int32]" for number in range(19)]
    text = "@pk.workunit\ndef w(i: int, {}):\n    a0[i] = 1\n"
    assert "n1" in flattened(text.format(", ".join([*views, "n0: int", "n1: int"])))
    for more in (["n0: int", "n1: int", "n2: int"], ["n0: int", "n1: pk.int64"]):
        with pytest.raises(BackendError, match="arguments of w take 468 bytes; with more than 464"):
            flattened(text.format(", ".join([*views, *more])))
