"""Numbers in a section of a Gmsh file, text or binary, taken or skipped one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from mmap import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError

Content = bytes | mmap
EXACT = 2**53
"""Upper bound of integers that are read as floating-point numbers."""
WINDOW = 1 << 20
"""Size in bytes of the text that is searched for words at once."""
BLANK = 32
"""The largest byte of white space."""


class Numbers(ABC):
    """The numbers in a range of bytes.

    Attributes
    ----------
    content : bytes or mmap
    size : type
        Type of counts and ids in binary files.
    at, end : int
        The bytes of the numbers that were not passed yet.
    """

    def __init__(self, content: Content, size: type[Any], at: int, end: int) -> None:
        self.content, self.size, self.at, self.end = content, size, at, end

    @abstractmethod
    def take(self, kind: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return the next `count` numbers; of a structured type, binary only.

        Raises
        ------
        FileFormatError
            If there are fewer numbers, or a word is not a number.
        """

    @abstractmethod
    def skip(self, kind: npt.DTypeLike, count: int) -> None:
        """Pass over the next `count` numbers.

        Raises
        ------
        FileFormatError
            If there are fewer numbers.
        """

    def ints(self, count: int) -> list[int]:
        """Return the next integers."""
        return [int(number) for number in self.take(np.int32, count)]

    def counts(self, count: int) -> list[int]:
        """Return the next numbers of items."""
        return [int(number) for number in self.take(self.size, count)]


class BinaryNumbers(Numbers):
    """Numbers in binary."""

    def take(self, kind: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return the next numbers."""
        start = self.at
        self.skip(kind, count)
        return np.frombuffer(self.content[start : self.at], np.dtype(kind))

    def skip(self, kind: npt.DTypeLike, count: int) -> None:
        """Pass over the next numbers."""
        width = count * np.dtype(kind).itemsize
        if not 0 <= width <= self.end - self.at:
            raise _too_few(count)
        self.at += width


class TextNumbers(Numbers):
    """Numbers in text, which is searched in windows that begin and end between words."""

    def __init__(self, content: Content, size: type[Any], at: int, end: int) -> None:
        super().__init__(content, size, at, end)
        self._searched = at
        self._words = np.zeros(0, np.int64)
        """First bytes of the words between `at` and `_searched`."""

    def take(self, kind: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return the next numbers."""
        dtype = np.dtype(kind)
        pieces = [parsed(self.content[start:end], words) for start, end, words in self._pass(count)]
        values = pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0), *pieces])
        return values.astype(dtype) if dtype.kind == "f" else integers(values, dtype)

    def skip(self, kind: npt.DTypeLike, count: int) -> None:
        """Pass over the next numbers."""
        self._pass(count)

    def _pass(self, count: int) -> list[tuple[int, int, int]]:
        """Pass over words; return ranges of bytes and the number of words in each."""
        if count < 0:
            raise _too_few(count)
        ranges, missing = [], count
        while missing:
            if not len(self._words):
                self._search()
            if not len(self._words):
                raise _too_few(count)
            words, start = min(missing, len(self._words)), self.at
            self._words = self._words[words:]
            self.at = int(self._words[0]) if len(self._words) else self._searched
            ranges.append((start, self.at, words))
            missing -= words
        return ranges

    def _search(self) -> None:
        """Find the words of the next window that has one."""
        while not len(self._words) and self._searched < self.end:
            start, end = self._searched, min(self._searched + WINDOW, self.end)
            is_word = np.frombuffer(self.content[start:end], np.uint8) > BLANK
            if end < self.end:
                length = len(is_word) - int((~is_word[::-1]).argmax())
                if is_word[length - 1]:
                    raise FileFormatError("a word is not a number")
                is_word, end = is_word[:length], start + length
            begins = is_word.copy()
            begins[1:] &= ~is_word[:-1]
            self._words, self._searched = np.flatnonzero(begins) + start, end


def numbers_in(
    content: Content, size: type[Any], at: int = 0, end: int | None = None, *, is_binary: bool
) -> Numbers:
    """Return the numbers in a range of bytes, by default to the end."""
    kind = BinaryNumbers if is_binary else TextNumbers
    return kind(content, size, at, len(content) if end is None else end)


def parsed(text: bytes, count: int | None = None) -> npt.NDArray[np.float64]:
    """Return the words of a text as numbers.

    Raises
    ------
    FileFormatError
        If a word is not a number, or there are not `count` words.
    """
    try:  # NumPy stops with a warning at a word that is not a number
        values = np.fromstring(text, sep=" ")
    except (DeprecationWarning, ValueError):
        values = np.zeros(0)
    if len(values) != (len(text.split()) if count is None else count):
        raise FileFormatError("a word is not a number")
    return values


def integers(values: npt.NDArray[np.float64], kind: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """Return ids or counts, which were read as floating-point numbers.

    Raises
    ------
    FileFormatError
        If a number is not an integer, or too large.
    """
    dtype = np.dtype(kind)
    low, high = np.iinfo(dtype).min, min(np.iinfo(dtype).max, EXACT)
    wrong = ~((low <= values) & (values <= high) & (values == np.rint(values)))
    if wrong.any():
        raise FileFormatError(f"{values[wrong][0]} is not an id or a count")
    return values.astype(dtype)


def _too_few(count: int) -> FileFormatError:
    return FileFormatError(f"the section announces {count} more numbers than it has")
