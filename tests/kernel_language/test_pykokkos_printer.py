"""Code that PyKokkos would translate wrongly is printed in a form that it translates correctly."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest

from jetpy import workloads
from jetpy.kernel_language.pykokkos_printer import print_module
from jetpy.kernel_language.reading import read_workunits
from tests.modules import Load

Printed = Callable[[str], str]


@pytest.fixture
def printed(load: Load) -> Printed:
    """Return a function that prints the workunit `w` of a module."""
    return lambda text: print_module(read_workunits(load(text))["w"])


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
def test_parentheses_are_kept(printed: Printed, written: str, rewritten: str) -> None:
    tree = ast.parse(printed(body(f"if {written}:", "    a[i] = 1")))
    tests = [node.test for node in ast.walk(tree) if isinstance(node, ast.If)]
    names = re.sub(r"\b([ik])\b", r"\1_", rewritten)
    assert [ast.unparse(test) for test in tests] == [ast.unparse(ast.parse(names))]


def test_every_workunit_is_printed_as_a_separate_module() -> None:
    for module in workloads.MODULES:
        for name, definition in read_workunits(module).items():
            tree = ast.parse(print_module(definition))
            defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert name in defined
            called = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert called <= defined | {"range"}


def test_device_functions_are_copied_once_and_before_their_callers(printed: Printed) -> None:
    text = printed(
        "@pk.function\ndef unused(x: int) -> int:\n    return x\n"
        "@pk.function\ndef one(x: int) -> int:\n    return x + 1\n"
        "@pk.function\ndef two(x: int) -> int:\n    return one(x) + one(x)\n"
        + body("a[i] = one(i) + two(i)")
    )
    tree = ast.parse(text)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names == ["one", "two", "w"]


def test_device_functions_without_result_get_an_annotation(printed: Printed) -> None:
    text = printed(
        "@pk.function\ndef put(a: pk.View1D[pk.int32], i: int):\n    a[i] = 1\n" + body("put(a, i)")
    )
    assert "def put(a_: pk.View1D[pk.int32], i_: int) -> None:" in text


def test_names_may_be_keywords_of_cpp_and_of_the_dispatch(printed: Printed) -> None:
    text = printed(
        "@pk.function\ndef one(new: int, policy: pk.View1D[pk.int32]) -> int:\n"
        "    return policy[new]\n" + body("delete: int = k", "a[i] = one(delete, a)")
    )
    assert "def one(new_: int, policy_: pk.View1D[pk.int32]) -> int:" in text
    assert "return policy_[new_]" in text
    assert "delete_: int = k_" in text
    assert "a_[i_] = one(delete_, a_)" in text


def test_comments_and_docstrings_change_nothing(printed: Printed) -> None:
    plain = printed(body("a[i] = 1"))
    assert printed(body('"""Set to one."""', "# at once", "a[i] = 1")) == plain
    assert printed(body('"""Do nothing."""')) == printed(body("pass"))
