"""Numbers in sentences of the documentation, computed from the files in `bench/studies`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

GAP = r"(\d[\d.,]*(?<![.,]))"
"""A number in a sentence, without the full stop or comma that follows it."""

Numbers = Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Sentence:
    """A part of the text of a page that contains numbers.

    Attributes
    ----------
    page : str
        Path of the page below the root of the repository.
    text : str
        The words, with ``{}`` for each number. They may be on several lines in the page.
    numbers : callable
        Computes the numbers, in their order in the text.
    """

    page: str
    text: str
    numbers: Numbers

    @property
    def pattern(self) -> re.Pattern[str]:
        """The text as a regular expression, with a group for each number."""
        words = (re.escape(word).replace(r"\{\}", GAP) for word in self.text.split())
        return re.compile(r"\s+".join(words))

    def updated(self, page: str) -> str:
        """Return the text of the page with the numbers of this sentence as the files give them.

        Raises
        ------
        SystemExit
            If the page does not contain the sentence exactly once.
        ValueError
            If `numbers` does not compute one number for each gap.
        """
        matches = list(self.pattern.finditer(page))
        if len(matches) != 1:
            raise SystemExit(f"{self.page} contains {len(matches)} times: {self.text}")
        [match] = matches
        gaps = [match.span(group) for group in range(1, match.re.groups + 1)]
        for (start, stop), number in reversed([*zip(gaps, self.numbers(), strict=True)]):
            page = page[:start] + number + page[stop:]
        return page
