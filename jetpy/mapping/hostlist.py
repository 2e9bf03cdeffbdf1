"""Lists of host names with ranges, as Slurm writes them: ``n[01-03,7],m2``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from jetpy.errors import OptionError

MAX_HOSTS = 1 << 16
"""Maximum number of hosts of a name with ranges, as in Slurm."""
_NAME = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*")


def expanded(text: str) -> list[str]:
    """Return the host names in comma-separated text, with ranges in brackets expanded.

    A range has as many digits as its first number.

    Raises
    ------
    OptionError
        If brackets do not match, a range is invalid or falls, or a name has too many hosts.

    Examples
    --------
    >>> expanded("r[1-2]n[09-10], login")
    ['r1n09', 'r1n10', 'r2n09', 'r2n10', 'login']
    """
    if re.search(r"[\[\]]", _RANGES.sub("", text)):
        raise OptionError(f"hosts is {text!r}; its brackets must match, as in n[1-4]")
    return [host for name in _NAME.findall(text) for host in _hosts(name.strip()) if host]


def _hosts(name: str) -> Iterator[str]:
    """Yield the hosts of one name."""
    pieces = _RANGES.split(name)  # text and ranges by turns
    choices = [_numbers(piece, name) if i % 2 else [piece] for i, piece in enumerate(pieces)]
    count = 1
    for each in choices:
        count *= len(each)
    if count > MAX_HOSTS:
        raise OptionError(f"host {name!r} stands for {count} hosts; there may be {MAX_HOSTS}")
    yield from map("".join, product(*choices))


def _numbers(ranges: str, name: str) -> list[str]:
    """Return the numbers of ranges such as ``01-03,7``."""
    numbers: list[str] = []
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if int(first) > int(last):
            raise OptionError(
                f"host {name!r} has the range {text!r}; ranges must be like 1-4 or 01-12,15"
            )
        if int(last) - int(first) >= MAX_HOSTS:
            raise OptionError(
                f"host {name!r} has the range {text!r}; it may have {MAX_HOSTS} numbers"
            )
        numbers += (f"{i:0{len(first)}}" for i in range(int(first), int(last) + 1))
    return numbers
