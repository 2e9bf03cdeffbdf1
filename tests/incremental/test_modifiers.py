"""Files of modifiers."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from jetpy.errors import FileFormatError
from jetpy.incremental.modifiers import read_modifiers

TEXT = """\
# two batches
+v
+v 5
-v 3
+e 0 7
+e 7 8 2
-e 1 2
---

% an empty one
---
  -v 0
---
"""


def test_batches_are_read(tmp_path: Path) -> None:
    plain, packed = tmp_path / "changes.txt", tmp_path / "changes.txt.xz"
    plain.write_text(TEXT)
    packed.write_bytes(lzma.compress(TEXT.encode()))
    for path in (plain, packed):
        (first, first_lines), (second, second_lines) = read_modifiers(path)
        assert (str(first_lines), str(second_lines)) == ("lines 2 to 7", "line 12")
        assert first.insert_vertices == [1, 5]
        assert first.delete_vertices == [3]
        assert first.insert_edges == [[0, 7], [7, 8]]
        assert first.edge_weights == [1, 2]
        assert first.delete_edges == [[1, 2]]
        assert second.delete_vertices == [0]
        assert second.insert_edges == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v 3", "'v' is not a modifier; a line must begin with +v, -v, +e, -e or ---"),
        ("+e 1", "+e has 1 numbers; it must have 2 or 3"),
        ("+e 1 2 3 4", "+e has 4 numbers; it must have 2 or 3"),
        ("-e 1 2 3", "-e has 3 numbers; it must have 2"),
        ("-v", "-v has 0 numbers; it must have 1"),
        ("+v 1 2", "+v has 2 numbers; it must have 0 or 1"),
        ("-v 1.5", "'1.5' is not an integer in 0..2147483647"),
        ("-v -1", "'-1' is not an integer in 0..2147483647"),
        ("+v 2147483648", "'2147483648' is not an integer in 0..2147483647"),
        ("+v 99999999999999999999", "is not an integer in 0..2147483647"),
        ("--- 3", "'---' is not a modifier"),
        ("\u00fc 3", "is not a modifier"),
    ],
)
def test_bad_line_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "changes.txt"
    path.write_text(f"+v\n\n{line}\n")
    with pytest.raises(FileFormatError) as caught:
        read_modifiers(path)
    assert message in str(caught.value)
    assert f"{path}: line 3: " in str(caught.value)


def test_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "changes.txt"
    path.write_bytes(bytes(range(256)) * 10)
    with pytest.raises(FileFormatError, match=r"line 1: .* is not a modifier"):
        read_modifiers(path)
