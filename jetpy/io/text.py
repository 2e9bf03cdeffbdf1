"""Lines of numbers: reading with line numbers, and writing, a few megabytes at a time."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.csr import INT32_MAX

CHUNK = 1 << 21  # bytes
LONGEST_LINE = 1 << 21
"""Maximum length in bytes of a line that is read as a whole."""
LONGEST_HEADER = 1 << 16  # bytes

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMMA_TO_BLANK = bytes.maketrans(b",", b" ")
_EMPTY_FIELD = re.compile(rb"^[ \t]*,|,[ \t]*(?:,|\r?$)", re.MULTILINE)
_LONE_MINUS = re.compile(rb"[^ \t\r\n]-|-(?![0-9])")
_INTEGER = re.compile(rb"-?[0-9]+")
_WORD = re.compile(rb"[0-9A-Za-z\"'\x80-\xff]")
_MANTISSA = rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_DECIMAL = re.compile(_MANTISSA + rb"(?:[eEdD][-+]?[0-9]+)?")
"""The exponents of Fortran's double precision begin with D."""
_NUMBER = re.compile(
    _MANTISSA + rb"(?:[edq][-+]?[0-9]+|[-+][0-9]{3})?|[-+]?(?:nan(?:\(\w*\))?|inf(?:inity)?)",
    re.IGNORECASE,
)
"""Everything that programs write as a number; Fortran leaves out the letter of long exponents."""
_D_TO_E = bytes.maketrans(b"dD", b"ee")


class TokenError(FileFormatError):
    """A token is not a number of the kind required.

    Attributes
    ----------
    token : bytes
    place : int
        Index of the token on its line.
    """

    def __init__(self, message: str, token: bytes, place: int) -> None:
        super().__init__(message)
        self.token, self.place = token, place


class NumberError(TokenError):
    """A token is a number, but not of the kind required."""

    @property
    def is_scalable(self) -> bool:
        """Whether the number is finite and not negative, so that weights can be scaled."""
        return 0 <= _float(self.token) < float("inf")


class WordError(TokenError):
    """A token is a word where a number is required."""


@dataclass(frozen=True)
class _Kind:
    """Kind of the tokens of a text; see `read_rows`."""

    comma: bool
    decimals: bool
    any_number: bool

    @property
    def token(self) -> re.Pattern[bytes]:
        """Pattern of a token."""
        return (_NUMBER if self.any_number else _DECIMAL) if self.decimals else _INTEGER


@dataclass(frozen=True)
class Rows:
    """Consecutive lines of numbers.

    Attributes
    ----------
    values : int32 (float64 for decimals), shape (t,)
        All numbers of these lines.
    counts : int64, shape (r,)
        Number of values on each line.
    lines : int64, shape (r,)
        Line number of each line in the file, from 1.
    """

    values: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64]

    def line_of(self, i: int) -> int:
        """Return the line number of ``values[i]``."""
        return int(self.lines[np.searchsorted(np.cumsum(self.counts), i, side="right")])


class LineNumbers:
    """Line numbers of rows, stored as runs of consecutive lines."""

    def __init__(self) -> None:
        self._starts, self._lines = array("q"), array("q")
        self._count = 0

    def extend(self, lines: npt.NDArray[np.int64]) -> None:
        """Append the line numbers of the next rows."""
        starts = np.flatnonzero(np.diff(lines, prepend=-1) != 1)
        self._starts.extend((starts + self._count).tolist())
        self._lines.extend(lines[starts].tolist())
        self._count += len(lines)

    def __getitem__(self, row: int) -> int:
        run = bisect_right(self._starts, row) - 1
        return self._lines[run] + int(row) - self._starts[run]


def first_line(stream: BinaryIO) -> bytes:
    """Read the first line of a text, at most `LONGEST_HEADER` bytes, without a byte order mark."""
    return stream.readline(LONGEST_HEADER).removeprefix(_BYTE_ORDER_MARK)


def read_rows(
    stream: BinaryIO,
    *,
    head: bytes = b"",
    line: int = 1,
    comments: bytes = b"%",
    comma: bool = False,
    decimals: bool = False,
    any_number: bool = False,
    long_lines: bool = False,
) -> Iterator[Rows]:
    """Read lines of numbers up to the end of the stream.

    Parameters
    ----------
    stream : binary stream
    head : bytes
        Bytes that were already taken from the stream; they are read first.
    line : int
        Line number of the first line read.
    comments : bytes
        Lines that start with one of these characters, after any blanks, are skipped.
    comma : bool
        Whether a comma, as well as blanks and tabs, may separate two numbers.
    decimals : bool
        Whether the numbers are decimals; otherwise they are 32-bit integers.
    any_number : bool
        Whether decimals may also be infinite or not a number, because their values do not matter.
    long_lines : bool
        Whether lines of more than `LONGEST_LINE` bytes are allowed if they are not comments.

    Yields
    ------
    Rows
        Of about `CHUNK` bytes. Empty lines are included, with count 0.

    Raises
    ------
    FileFormatError
        At the first invalid token; a `NumberError` if `any_number` would accept it, a `WordError`
        if it begins like a word, another `TokenError` otherwise.
    """
    kind = _Kind(comma, decimals, any_number)
    while chunk := head + stream.read(CHUNK):
        head = b""
        if not chunk.endswith(b"\n"):
            chunk += stream.readline(LONGEST_LINE)
        begun = b""
        if not chunk.endswith(b"\n"):
            following = stream.read(1)
            if following:
                start = chunk.rfind(b"\n") + 1
                chunk, begun = chunk[:start], chunk[start:] + following
            else:
                chunk += b"\n"
        if chunk:
            text, kept = _without_comments(chunk, comments)
            values, counts = _parse(text, line, kind)
            lines = np.arange(line, line + len(counts))
            line += len(counts)
            rows = Rows(values, counts, lines)
            yield rows if kept is None else Rows(values, counts[kept], lines[kept])
        if begun:
            if begun.lstrip().startswith(_marks(comments)):
                while begun and not begun.endswith(b"\n"):
                    begun = stream.readline(LONGEST_LINE)
            elif long_lines:
                yield _long_row(stream, begun, line, kind)
            else:
                raise FileFormatError(f"line {line}: longer than {LONGEST_LINE:,} bytes")
            line += 1


def one_per_line(stream: BinaryIO, noun: str, *, comments: bytes = b"%") -> Iterator[Rows]:
    """Read a text from its first line, as `read_rows` does, with one integer on each line.

    Raises
    ------
    FileFormatError
        If a line has several integers; `noun` is what it must have one of. Also as `read_rows`.
    """
    for rows in read_rows(stream, head=first_line(stream), comments=comments):
        wrong = rows.counts != 1
        if wrong.any():
            i = int(wrong.argmax())
            raise FileFormatError(
                f"line {rows.lines[i]}: the line has {rows.counts[i]} integers; it must have one "
                f"{noun}"
            )
        yield rows


def _long_row(stream: BinaryIO, text: bytes, line: int, kind: _Kind) -> Rows:
    """Read the rest of a line that begins with `text` in segments; commas are not allowed."""
    chunks: list[npt.NDArray[Any]] = []
    more = text
    while True:
        ends = not more or more.endswith(b"\n")
        cut = len(text) if ends else max(text.rfind(b" "), text.rfind(b"\t"))
        if cut <= 0:
            raise FileFormatError(f"line {line}: {show(text)} is too long for a number")
        segment = text[:cut].removesuffix(b"\n") + b"\n"
        chunks.append(_parse(segment, line, kind, sum(map(len, chunks)))[0])
        if ends:
            values = np.concatenate(chunks)
            return Rows(values, np.array([len(values)]), np.array([line]))
        more = stream.readline(LONGEST_LINE)
        text = text[cut:] + more


def format_rows(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> bytes:
    """Format non-negative integers as text, `counts[i]` of them on line i, separated by blanks.

    Parameters
    ----------
    values : int32 or int64, shape (t,)
    counts : integers, shape (r,), summing to t
    """
    ends = np.cumsum(counts)
    empty = counts == 0
    if empty.any():  # a line without integers is a line with one invisible integer
        values = np.insert(values, ends[empty], -1)
        ends = np.cumsum(np.maximum(counts, 1))
    if not len(values):
        return b""
    width = len(str(values.max()))
    powers = 10 ** np.arange(width - 1, -1, -1)
    characters = np.empty((len(values), width + 1), np.uint8)
    unsigned = np.uint32 if values.dtype.itemsize <= 4 else np.uint64
    rest = values.astype(unsigned)
    for column in range(width - 1, -1, -1):
        rest, digit = np.divmod(rest, unsigned(10))
        characters[:, column] = digit + ord("0")
    characters[:, width] = ord(" ")
    characters[ends - 1, width] = ord("\n")
    shown = np.ones(characters.shape, bool)
    shown[:, :width] = values[:, None] >= powers
    shown[:, width - 1] = values >= 0
    return characters[shown].tobytes()


def _marks(comments: bytes) -> tuple[bytes, ...]:
    return tuple(comments[i : i + 1] for i in range(len(comments)))


def _without_comments(chunk: bytes, comments: bytes) -> tuple[bytes, npt.NDArray[np.bool_] | None]:
    """Blank out the comment lines of `chunk`, and return a mask of other lines (None for all)."""
    marks = _marks(comments)
    if not any(mark in chunk for mark in marks):
        return chunk, None
    lines = chunk.split(b"\n")
    kept = [not line.lstrip().startswith(marks) for line in lines]
    text = b"\n".join(line if keep else b"" for line, keep in zip(lines, kept, strict=True))
    return text, np.array(kept[:-1])


def _parse(
    text: bytes, line: int, kind: _Kind, before: int = 0
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the numbers in `text`, which ends with a line break, and the count on each line.

    The first line has `before` numbers before the text.
    """
    plain = text.translate(_COMMA_TO_BLANK) if kind.comma else text
    characters = np.frombuffer(plain, np.uint8)
    visible = characters > ord(" ")
    starts = np.flatnonzero(visible[1:] > visible[:-1]) + 1
    if visible[0]:
        starts = np.concatenate(([0], starts))
    values = _numbers(plain, kind, len(starts))
    if values is None or (kind.comma and b"," in text and _EMPTY_FIELD.search(text)):
        raise next(_errors(text, line, kind, before))
    ends = np.searchsorted(starts, np.flatnonzero(characters == ord("\n")))
    return values, np.diff(ends, prepend=0)


def _numbers(text: bytes, kind: _Kind, count: int) -> npt.NDArray[Any] | None:
    """Convert the `count` tokens of `text`; return None if one is invalid."""
    if kind.decimals:
        return _decimals(text, kind.token)
    if text.translate(None, b"0123456789- \t\r\n"):
        return None
    if b"-" in text and _LONE_MINUS.search(text):
        return None
    # fromstring invents a number if the text has none
    values = np.fromstring(text, np.int64, sep=" ") if count else np.empty(0, np.int64)
    fits = values.max(initial=0) <= INT32_MAX and values.min(initial=0) >= -INT32_MAX
    return values.astype(np.int32) if fits else None


def _decimals(text: bytes, token: re.Pattern[bytes]) -> npt.NDArray[np.float64] | None:
    """Convert the tokens of `text`; return None if one does not match `token`."""
    tokens = text.split()
    if not text.translate(None, b"0123456789- \t\r\n.+eE"):
        with suppress(ValueError):
            return np.array([float(each) for each in tokens])
    if not all(map(token.fullmatch, tokens)):
        return None
    return np.array([_float(each) for each in tokens])


def _float(token: bytes) -> float:
    """Return the value of a number; of unusual ones that Python does not read, NaN."""
    try:
        return float(token.translate(_D_TO_E) if _DECIMAL.fullmatch(token) else token)
    except ValueError:
        return float("nan")


def _errors(text: bytes, line: int, kind: _Kind, before: int) -> Iterator[FileFormatError]:
    """Yield an error for each token of `text` that `_parse` does not accept."""
    separator = rb"[ \t\r]*,[ \t\r]*|[ \t\r]+" if kind.comma else rb"[ \t\r]+"
    noun = "a number" if kind.decimals else "an integer"
    for number, content in enumerate(text.split(b"\n"), line):
        stripped = content.strip(b" \t\r")
        tokens = re.split(separator, stripped) if stripped else ()
        for place, token in enumerate(tokens, before if number == line else 0):
            shown = f"line {number}: {show(token)}"
            if not kind.token.fullmatch(token):
                error = NumberError if _NUMBER.fullmatch(token) else TokenError
                if error is TokenError and _WORD.match(token):
                    error = WordError
                yield error(f"{shown} is not {noun}", token, place)
            elif not kind.decimals and (
                len(token.lstrip(b"-0")) > 10 or abs(int(token)) > INT32_MAX
            ):
                yield NumberError(f"{shown} does not fit in 32 bits", token, place)


def are_no_integers(values: npt.NDArray[Any], first: int, last: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the values that are not integers in first..last."""
    wrong = (values < first) | (values > last)
    return wrong | (values % 1 != 0) if values.dtype.kind == "f" else wrong


def plain(number: Any) -> str:
    """Format a number that was read as a decimal, without a needless fraction.

    >>> plain(4.0), plain(0.5), plain(7), plain(1e300)
    ('4', '0.5', '7', '1e+300')
    """
    return f"{number:.15g}"


def show(text: bytes) -> str:
    """Quote bytes from a file for a message, shortened to 40 characters."""
    return repr(text[:40].decode("latin-1")) + ("..." if len(text) > 40 else "")
