"""Device functions that compilers must not inline."""

from __future__ import annotations

import pytest

from jetpy.engines.cuda.source import LONGEST, MAX_STATEMENTS, source
from jetpy.kernel_language import Width, inlining
from jetpy.kernel_language.inlining import not_inlined
from jetpy.kernel_language.reading import read_workunits
from jetpy.workloads.ordering import tries
from jetpy.workloads.refinement import independent_set, jetlp, moves
from tests.modules import Load

TEXT = """
@pk.function
def long(i: int, a: pk.View1D[pk.int32]):
    a[i] += 1
    a[i] += 2
    a[i] += 3
    a[i] += 4


@pk.function
def short(i: int, a: pk.View1D[pk.int32]):
    a[i] += 1


@pk.function
def middle(i: int, a: pk.View1D[pk.int32]):
    long(i, a)
    long(i, a)
    short(i, a)
    short(i, a)


@pk.function
def outer(i: int, a: pk.View1D[pk.int32]):
    if a[i] > 0:
        middle(i, a)
    else:
        middle(i, a)


@pk.workunit
def run(i: int, a: pk.View1D[pk.int32]):
    outer(i, a)


@pk.workunit
def run_long(i: int, a: pk.View1D[pk.int32]):
    long(i, a)
"""


@pytest.mark.parametrize(
    ("most", "short", "called"),
    [
        (1000, 1, set()),
        (28, 1, set()),
        (27, 1, {"middle"}),
        (16, 1, {"middle"}),
        (15, 1, {"long", "middle"}),
        (15, 5, set()),
        (3, 1, {"long", "short", "middle"}),
        (3, 2, {"long", "middle"}),
    ],
)
def test_functions_with_long_copies_are_called(
    load: Load, monkeypatch: pytest.MonkeyPatch, most: int, short: int, called: set[str]
) -> None:
    """With all calls inlined, `run` has 2 copies of `middle`, 4 of `long` and 4 of `short`.

    They have 4 + 2 * 4 + 2 * 1, 4 and 1 statements.
    """
    monkeypatch.setattr(inlining, "SHORT", short)
    workunits = read_workunits(load(TEXT)).values()
    assert {one.name for one in not_inlined(list(workunits), most, 1000)} == called


def test_a_function_with_one_copy_is_inlined(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "SHORT", 0)
    workunits = read_workunits(load(TEXT))
    assert not not_inlined([workunits["run_long"]], 0, 1000)
    assert "outer" not in {one.name for one in not_inlined([workunits["run"]], 0, 1000)}


@pytest.mark.parametrize(
    ("kernel", "longest", "called"),
    [(31, 31, set()), (31, 13, {"middle"}), (31, 3, {"long", "middle"}), (32, 3, set())],
)
def test_long_functions_are_called_by_long_kernels(
    load: Load, monkeypatch: pytest.MonkeyPatch, kernel: int, longest: int, called: set[str]
) -> None:
    """`middle` has 14 statements with those inlined in it, `outer` 31 and `run` 32."""
    monkeypatch.setattr(inlining, "LONG_KERNEL", kernel)
    workunits = read_workunits(load(TEXT)).values()
    assert {one.name for one in not_inlined(list(workunits), 1000, longest)} == called


def test_kernels_of_one_thread_call_functions_and_parallel_kernels_inline_them() -> None:
    called = not_inlined(read_workunits(tries).values(), MAX_STATEMENTS, LONGEST)
    assert {"enqueue", "move_to"} <= {one.name for one in called}
    text = source(tries, Width.NARROW)
    assert text.count("__noinline__") == len(called)
    for module in (independent_set, jetlp, moves):
        assert "__noinline__" not in source(module, Width.NARROW)
