"""Parses pages: their tables, lists, texts and external references."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "input", "link", "hr"}
FETCHING = {"src", "href", "xlink:href", "data", "srcset", "action", "poster"}


class Page(HTMLParser):
    """A parsed page.

    Attributes
    ----------
    tables : list of list of list of str
        The cells of each row of each table.
    facts : dict of str to str
        All pairs of names and values.
    fetched : list of str
        External references in attributes.
    marked : list of list of str
        Highlighted rows of tables.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.tables: list[list[list[str]]] = []
        self.facts: dict[str, str] = {}
        self.fetched: list[str] = []
        self.marked: list[list[str]] = []
        self.tags: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.ids: list[str] = []
        self._open: list[str] = []
        self._name = ""
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in FETCHING and not (value or "").startswith(("#", "data:")):
                self.fetched.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
            if ("class", "marked") in attrs:
                self.marked.append(self.tables[-1][-1])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"{tag} was not open"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        inner = self._open[-1] if self._open else ""
        self.words.setdefault(inner, []).append(data)
        if inner in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif inner == "dt":
            self._name = data
        elif inner == "dd":
            self.facts[self._name] = data

    def text_of(self, tag: str) -> str:
        """Return the text directly inside all elements with a tag, with single blanks."""
        return " ".join(" ".join(self.words.get(tag, [])).split())

    def table(self, first: str) -> list[list[str]]:
        """Return the table whose first row begins with a word, without that row."""
        [found] = [table for table in self.tables if table[0][0] == first]
        return found[1:]
