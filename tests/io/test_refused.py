"""Contents of graph files that are refused, in the table `refused.txt`."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import pytest

from jetpy.errors import GraphError
from jetpy.graph.raw import Rules
from jetpy.io import edge_list, metis

READERS = {"metis": metis.read, "edge list": edge_list.read}
LINES = Path(__file__).with_name("refused.txt").read_text("utf-8").splitlines()
CASES = [line.split(" | ") for line in LINES if line and not line.startswith("#")]


@pytest.mark.parametrize(("form", "case", "content", "words"), CASES)
def test_bad_file_is_refused(form: str, case: str, content: str, words: str) -> None:
    raw = codecs.decode(content, "unicode_escape").encode("latin-1")
    with pytest.raises(GraphError, match=words):
        READERS[form](io.BytesIO(raw), rules=Rules(), name="graph")
