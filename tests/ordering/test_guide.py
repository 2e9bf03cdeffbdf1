"""The pages on orderings describe the presets as they are."""

from __future__ import annotations

import re
from pathlib import Path

from jetpy.ordering.nested_dissection import EFFORTS, MAX_TRIES

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = {1: "one try", 4: "four tries", 8: "eight tries"}


def rows(page: str) -> dict[str, list[str]]:
    """Return the other cells of the rows of all tables that begin with code, by this code."""
    text = (DOCS / page).read_text("utf-8")
    found = (line.strip("|").split("|") for line in re.findall(r"^\| `.*$", text, re.M))
    return {name.strip(" `"): [cell.strip() for cell in cells] for name, *cells in found}


def test_options_have_their_defaults() -> None:
    described, effort = rows("guide/orderings.md"), EFFORTS["default"]
    tries = [str(effort.tries) for effort in EFFORTS.values()]
    assert described["tries"][0] == f"{', '.join(tries[:-1])} or {tries[-1]} by preset"
    assert described["tries"][2].endswith(f"At most {MAX_TRIES}")
    assert described["leaf_size"][0] == str(effort.leaf_weight)
    assert described["imbalances"][0] == str(effort.imbalances)
    assert described["largest_side"][0] == str(effort.largest_side)
    assert len({(e.leaf_weight, e.imbalances, e.largest_side) for e in EFFORTS.values()}) == 1


def test_presets_have_their_methods() -> None:
    for name, effort in EFFORTS.items():
        method, _ = rows("guide/orderings.md")[name]
        assert NUMBERS[effort.tries] in method
        assert ("multisection" in method) == effort.choice
        tries, flows, choice = rows("algorithm/ordering.md")[name]
        assert int(tries) == effort.tries
        assert (flows == "yes") == bool(effort.hops)
        assert (choice == "yes") == effort.choice
