"""Code that one engine cannot express is refused for all, with function, line and reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jetpy.errors import BackendError
from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.reading import read_module
from tests.modules import Load

Read = Callable[[str], Definition]


@pytest.fixture
def read(load: Load) -> Read:
    """Return a function that reads the workunit `w` of a module."""
    return lambda text: read_module(load(text))["w"]


HEAD = "@pk.workunit\ndef w(i: int, a: pk.View1D[pk.int32], k: int{}):\n"
WORKUNIT = HEAD.format("")
BROKEN = {
    "b: int = 1\n    del b": (3, "do not support this statement"),
    "with a: pass": (2, "do not support this statement"),
    "a[i] = [1, 2]": (2, "expression outside the language"),
    "a[i] = 1 if i else 2": (2, "expression outside the language"),
    "a[i] = (0 < i < 3)": (2, "expression outside the language"),
    "x = 1\n    a[i] = x": (2, "undeclared local"),
    "a[i] = nobody": (2, "unknown or untyped name"),
    "a[i] = a": (2, "expression outside the language"),
    "a[i] = k[i]": (2, "only a view can be indexed"),
    "a[i] = nobody[i]": (2, "only a view can be indexed"),
    "a[i] = print(i)": (2, "only a @pk.function can be called"),
    "a[i] = other(i)": (2, "only a @pk.function can be called"),
    "w2(i, a)": (2, "only a @pk.function can be called"),
    "pk.atomic_fetch_add(k, [0], 1)": (2, "atomics take a view"),
    "pk.atomic_fetch_add(a, 0, 1)": (2, "atomics take a view"),
    "return 1": (2, "must not return a value"),
    "i.x = 1": (2, "do not support this target"),
    "k = 1": (2, "a workunit must not assign to a parameter"),
    "rows.count = 1": (2, "do not support this target"),
    "a[i] = rows.lengths[i]": (2, "rows has no field lengths"),
    "a[i] = rows.starts": (2, "a view without an index"),
    "a[i] = k.count": (2, "k has no field count"),
    "a[i] = first(k)": (2, "must be a group of type Rows"),
    "a[i] = first(other)": (2, "must be a group of type Rows"),
    "a[i] = clip(rows, 1)": (2, "must not be a group"),
    "a[i] = clip(1)": (2, "clip takes 2 arguments"),
    "a[i] = clip(x=1, most=1)": (2, "must not have keyword arguments"),
    "a[i] = get(rows.wide, 0)": (2, "must be a view of int32"),
    "put(a, 1)\n    a[i] = put(a, 1)": (3, "the function returns no value"),
    "a[i] = Rows": (2, "unknown or untyped name"),
    "a[i] = Rows.starts": (2, "unknown or untyped name"),
    "a[i] = k / 2": (2, "/ is for floating point"),
    "x: pk.double = k\n    a[i] = x // 2": (3, "// is for integers"),
    "x: pk.double = k\n    a[i] = 1 << x": (3, "<< is for integers"),
    "x: pk.double = k\n    a[i] = ~x": (3, "~ is for integers"),
    "x: pk.int64 = k\n    for j in range(x):\n        a[i] = j": (
        3,
        "the bounds of a range must be int32",
    ),
    "for j in range(0, k, 2, 2):\n        a[i] = j": (2, "only a range can be looped over"),
    "for j in range(k, 0, -1):\n        a[i] = j": (2, "the step of a range must be above 0"),
    "for j in range(stop=k):\n        a[i] = j": (2, "only a range can be looped over"),
    "for j in clip(i, 1):\n        a[i] = j": (2, "only a range can be looped over"),
    "for j in row(i):\n        a[i] = j": (2, "only a range can be looped over"),
    "for j in count(clip(i, 1)):\n        a[i] = j": (
        2,
        "the arguments of a range must not be calls",
    ),
    "for j in count(i, 1):\n        a[i] = j": (2, "count takes 1 arguments"),
    "for j in rows:\n        a[i] = j": (2, "do not support this statement"),
    "a[i] = count(i)": (2, "only a @pk.function can be called"),
    "for j in range(2 * k):\n        a[i] = j_stop": (3, "unknown or untyped name"),
    "pk.atomic_compare_exchange(a, [0], 1, 2)": (2, "in a @pk.function only"),
    "pk.atomic_fetch_add(a, [0], 1, 2)": (2, "atomics take a view"),
    "if k > 0:\n        x: int = 1\n    a[i] = x": (4, "unknown or untyped name"),
}
BEFORE = """
class Rows:
    starts: pk.View1D[pk.int32]
    wide: pk.View1D[pk.int64]
    count: int


class Other:
    starts: pk.View1D[pk.int32]


other = Other


@pk.function
def first(rows: Rows) -> int:
    return rows.starts[0]


@pk.function
def clip(x: int, most: int) -> int:
    return most


@pk.function
def count(most: int) -> range:
    return range(0, most)


@pk.function
def row(r: int) -> int:
    return r


@pk.function
def row_start(r: int) -> int:
    return r


@pk.function
def get(a: pk.View1D[pk.int32], place: int) -> int:
    return a[place]


@pk.function
def put(a: pk.View1D[pk.int32], value: int):
    a[0] = value


"""
AFTER = """

def other(x):
    return x


@pk.workunit
def w2(i: int, a: pk.View1D[pk.int32]):
    a[i] = 0
"""


@pytest.mark.parametrize("lines", BROKEN, ids=lambda lines: lines.replace("\n   ", ";"))
def test_unsupported_code_is_refused(lines: str, read: Read) -> None:
    offset, words = BROKEN[lines]
    with pytest.raises(BackendError, match=words) as caught:
        read(f"{BEFORE}{HEAD.format(', rows: Rows')}    {lines}\n{AFTER}")
    line = BEFORE.count("\n") + 1 + offset + 1  # the import is line 1
    assert str(caught.value).startswith(f"workunit w, line {line}:")


def test_error_names_the_function(read: Read) -> None:
    with pytest.raises(BackendError, match=r"^function f, line 4: .* undeclared local"):
        read("@pk.function\ndef f(x: int):\n    y = x\n@pk.workunit\ndef w(i: int):\n    f(i)\n")


@pytest.mark.parametrize("annotation", ["", ": str", ": pk.View2D[pk.int32]", ": pk.View1D[Rows]"])
def test_unknown_types_of_parameters_are_refused(annotation: str, read: Read) -> None:
    with pytest.raises(BackendError, match="unknown type"):
        read(f"{BEFORE}@pk.workunit\ndef w(i: int, x{annotation}):\n    pass\n")


def test_range_must_be_returned_at_the_end(read: Read) -> None:
    function = "@pk.function\ndef f(x: int) -> range:\n    {}\n"
    for body in ("return range(x)", "return x", "if x > 0:\n        return range(0, x)"):
        with pytest.raises(BackendError, match="unknown type 'range' of a parameter or result"):
            read(function.format(body) + WORKUNIT + "    a[i] = k\n")


def test_unknown_types_of_fields_are_refused(read: Read) -> None:
    with pytest.raises(BackendError, match="group G: unknown type of field 'name'"):
        read("class G:\n    name: str\n\n\n@pk.workunit\ndef w(i: int, g: G):\n    pass\n")


@pytest.mark.parametrize(
    "lines",
    [
        ("x: int = 1", "if i > 0:", "    x: int = 2", "a[i] = x"),
        ("if i > 0:", "    k: int = 2", "    a[i] = k"),
        ("j: int = 1", "for j in range(k):", "    a[i] = j"),
        ("for j in range(2 * k):", "    a[i] = j", "j_stop: int = 1"),
    ],
)
def test_second_declaration_is_refused(lines: tuple[str, ...], read: Read) -> None:
    with pytest.raises(BackendError, match=r"workunit w, line \d+: '\w+' is declared twice"):
        read(WORKUNIT + "".join(f"    {line}\n" for line in lines))


def test_declarations_in_separate_blocks_are_accepted(read: Read) -> None:
    block = "        x: {} = 1\n        a[i] = x\n"
    text = WORKUNIT + "    if i > 0:\n" + block.format("int") + "    else:\n" + block
    assert read(text.format("int")).name == "w"
    with pytest.raises(BackendError, match="'x' is of type int32 elsewhere"):
        read(text.format("pk.int64"))


def test_views_of_one_name_and_two_types_are_refused(read: Read) -> None:
    with pytest.raises(BackendError, match=r"view 'a' has elements of type int64 .* int32"):
        read(
            "@pk.function\ndef get(a: pk.View1D[pk.int64]) -> pk.int64:\n    return a[0]\n"
            "@pk.workunit\ndef w(i: int, a: pk.View1D[pk.int32], b: pk.View1D[pk.int64]):\n"
            "    a[i] = get(b)\n"
        )


def test_more_arguments_than_a_graph_can_capture_are_refused(read: Read) -> None:
    views = [f"a{number}: pk.View1D[pk.int32]" for number in range(19)]
    text = "@pk.workunit\ndef w(i: int, {}):\n    a0[i] = 1\n"
    read(text.format(", ".join([*views, "n0: int", "n1: int"]))).signature.check_capture()
    for more in (["n0: int", "n1: int", "n2: int"], ["n0: int", "n1: pk.int64"]):
        signature = read(text.format(", ".join([*views, *more]))).signature
        with pytest.raises(
            BackendError, match="arguments of workunit w take 468 bytes; they must take at most 464"
        ):
            signature.check_capture()


@pytest.mark.parametrize(
    ("parameters", "line", "what"),
    [
        ("rows_starts: int, rows: Rows", "a[i] = rows.starts[0] + rows_starts", "field"),
        ("rows: Rows", "rows_starts: int = rows.starts[0]", "field"),
        ("clip: int", "a[i] = clip", ""),
        ("clip: int", "a[i] = get(a, clip)", ""),
        ("get: int", "a[i] = get(a, 0)", "function"),
        ("k: int", "w: int = k", "function"),
    ],
)
def test_clashing_names_are_refused(parameters: str, line: str, what: str, read: Read) -> None:
    head = f"@pk.workunit\ndef w(i: int, a: pk.View1D[pk.int32], {parameters}):\n"
    if not what:
        assert read(f"{BEFORE}{head}    {line}\n").name == "w"
        return
    with pytest.raises(BackendError, match=f"is also the name of a {what}"):
        read(f"{BEFORE}{head}    {line}\n")
