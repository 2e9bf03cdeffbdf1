from __future__ import annotations

import io
import itertools
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.errors import FileFormatError
from jetpy.io import text
from jetpy.io.text import format_rows, read_rows

INTEGERS = st.integers(-(2**31) + 1, 2**31 - 1)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[tuple[int, list[int]]]]:
    """Draw text and the (line number, integers) of its lines without comments."""
    content, rows = "", []
    for number in range(1, draw(st.integers(0, 12)) + 1):
        if draw(st.integers(0, 5)) == 0:
            content += "%" + draw(st.sampled_from(["", " 5 6", "x%#"])) + "\n"
            continue
        integers = draw(st.lists(INTEGERS, max_size=4))
        content += draw(st.sampled_from(["", " "])) if integers else ""
        content += "".join(str(i) + draw(BLANKS) for i in integers)
        content += draw(st.sampled_from(["\n", "\r\n"]))
        rows.append((number, integers))
    return content, rows


def unpacked(
    content: str, chunk: int, comma: bool = False, longest: int = text.LONGEST_LINE
) -> list[tuple[int, list[int]]]:
    """Read the numbers of each line in chunks; lines above `longest` are read in chunks, too."""
    found: list[tuple[int, list[int]]] = []
    long_lines = longest < text.LONGEST_LINE
    original = text.CHUNK, text.LONGEST_LINE
    text.CHUNK, text.LONGEST_LINE = chunk, longest
    try:
        stream = io.BytesIO(content.encode())
        for rows in read_rows(stream, comma=comma, long_lines=long_lines):
            assert rows.values.dtype == np.int32
            values = iter(rows.values.tolist())
            for line, count in zip(rows.lines.tolist(), rows.counts.tolist(), strict=True):
                found.append((line, list(itertools.islice(values, count))))
    finally:
        text.CHUNK, text.LONGEST_LINE = original
    return found


@given(
    lines(), st.sampled_from([1, 2, 7, 64, 1 << 20]), st.booleans(), st.sampled_from([13, 40, None])
)
def test_rows_equal_str_split(
    case: tuple[str, list[tuple[int, list[int]]]],
    chunk: int,
    final_newline: bool,
    longest: int | None,
) -> None:
    """This includes lines too long to be read at once."""
    content, rows = case
    if not final_newline and content.endswith("\n") and rows and rows[-1][1]:
        content = content[:-1]
    assert unpacked(content, chunk, longest=longest or text.LONGEST_LINE) == rows


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4), max_size=9))
def test_rows_are_formatted(rows: Sequence[Sequence[int]]) -> None:
    values = np.array([i for row in rows for i in row], np.int32)
    written = format_rows(values, np.array([len(row) for row in rows], np.int64))
    assert written.decode() == "".join(" ".join(map(str, row)) + "\n" for row in rows)


def test_commas_separate_numbers() -> None:
    assert unpacked("1,2\n3 ,\t4\r\n5 6\n", 4, comma=True) == [
        (1, [1, 2]),
        (2, [3, 4]),
        (3, [5, 6]),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1 2\n3 x\n", "line 2: 'x' is not an integer"),
        ("1.5\n", "line 1: '1.5' is not an integer"),
        ("\n\n7 1e3\n", "line 3: '1e3' is not"),
        ("1 2-3\n", "line 1: '2-3' is not"),
        ("1 -\n", "line 1: '-' is not"),
        ("1 --2\n", "line 1: '--2' is not"),
        ("1-2 -\n", "line 1: '1-2' is not"),
        ("+1\n", r"line 1: '\+1' is not"),
        ("1,2\n", "line 1: '1,2' is not"),
        ("5 % comment\n", "line 1: '%' is not"),
        ("1\n2\n\x00\x01\n", r"line 3: '\\x00\\x01' is not"),
        ("1 2\n2147483648\n", "line 2: '2147483648' does not fit in 32 bits"),
        ("-2147483648\n", "line 1: '-2147483648' does not fit"),
        ("-" + "9" * 30, "line 1: '-9{30}' does not fit"),
        ("9" * 5000, "line 1: '9{40}'... does not fit"),
        ("z" * 100, r"line 1: 'z{40}'\.\.\. is not"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_bad_token_is_named_with_its_line(content: str, words: str, chunk: int) -> None:
    with pytest.raises(FileFormatError, match=words):
        unpacked(content, chunk)


@pytest.mark.parametrize("content", ["1,,2\n", ",1\n", "1,\n", "4 5\n1, ,2\n", "1,2,\r\n"])
def test_empty_field_is_refused(content: str) -> None:
    with pytest.raises(FileFormatError, match="'' is not an integer"):
        unpacked(content, 1 << 20, comma=True)


def test_decimals_are_read() -> None:
    rows = list(read_rows(io.BytesIO(b"1 -2.5\n.5 3. 1e3 +4E-1\n\n"), decimals=True))
    assert [row.values.tolist() for row in rows] == [[1.0, -2.5, 0.5, 3.0, 1000.0, 0.4]]
    assert rows[0].counts.tolist() == [2, 4, 0]


@pytest.mark.parametrize(
    "token", ["1e", "e5", ".", "1.2.3", "1e5e5", "--1", "+", "1-2", "nan", "0x1"]
)
def test_bad_decimal_is_named(token: str) -> None:
    with pytest.raises(FileFormatError, match=rf"line 2: '{re.escape(token)}' is not a number"):
        list(read_rows(io.BytesIO(f"1 2\n3 {token} 4\n".encode()), decimals=True))


def test_long_lines_need_their_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LONGEST_LINE", 20)
    monkeypatch.setattr(text, "CHUNK", 20)
    content = b"1 2\n%" + b"x" * 500 + b"\n3 4\n" + b"5 " * 50
    with pytest.raises(FileFormatError, match="line 4: longer than 20 bytes"):
        list(read_rows(io.BytesIO(content)))
    rows = list(read_rows(io.BytesIO(content), long_lines=True))
    assert [line for row in rows for line in row.lines.tolist()] == [1, 3, 4]
    assert rows[-1].values.tolist() == [5] * 50


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1\n" + b"7 " * 30 + b"x 8", "line 2: 'x' is not an integer"),
        (b"1\n" + b"7 " * 30 + b"% 8", "line 2: '%' is not an integer"),
        (b"7 " * 30 + b"9" * 90, "line 1: ' 9{21}' is too long for a number"),
        (b"0" * 90, "line 1: '0{40}'... is too long for a number"),
    ],
)
def test_bad_token_in_a_long_line_is_named(
    monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setattr(text, "LONGEST_LINE", 20)
    monkeypatch.setattr(text, "CHUNK", 20)
    with pytest.raises(FileFormatError, match=words):
        list(read_rows(io.BytesIO(content), long_lines=True))


def test_line_numbers_of_appended_blocks_are_indexed() -> None:
    numbers = text.LineNumbers()
    blocks = [[3, 4, 5], [7], [9, 11, 12, 13], [], [14, 20]]
    for block in blocks:
        numbers.extend(np.array(block, np.int64))
    expected = [line for block in blocks for line in block]
    assert [numbers[i] for i in range(len(expected))] == expected
