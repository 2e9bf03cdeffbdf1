"""The pages on orderings describe the presets as they are."""

from __future__ import annotations

import re
from pathlib import Path

from jetpy.ordering.effort import EFFORTS, MAX_TRIES
from jetpy.ordering.small_nodes import HEAVY_PERCENT, RETRIED_NODE, SMALL_NODE

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = {2: "two tries", 4: "four tries", 8: "eight tries"}


def rows(page: str) -> dict[str, list[str]]:
    """Return the other cells of the rows of all tables that begin with code, by this code."""
    text = (DOCS / page).read_text("utf-8")
    found = (line.strip("|").split("|") for line in re.findall(r"^\| `.*$", text, re.M))
    return {name.strip(" `"): [cell.strip() for cell in cells] for name, *cells in found}


def listed(values: list[int]) -> str:
    """Return numbers as in "1, 4 or 8"."""
    return f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


def test_options_have_their_defaults() -> None:
    described, efforts = rows("guide/orderings.md"), list(EFFORTS.values())
    assert described["tries"][0] == f"{listed([e.tries for e in efforts])} by preset"
    assert f"At most {MAX_TRIES}." in described["tries"][-1]
    few = listed([e.small_tries for e in efforts])
    assert f"nodes of at most {SMALL_NODE:,} vertices get {few};" in described["tries"][-1]
    fast, default, best = (e.imbalances for e in efforts)
    assert described["imbalances"][0] == f"{fast} for `fast`, else {default}"
    assert default == best
    leaves = listed([e.leaf_weight for e in efforts])
    assert described["leaf_size"][0] == f"{leaves} by preset"
    assert {str(e.largest_side) for e in efforts} == {described["largest_side"][0]}
    *others, first = (e.first_side for e in efforts)
    assert others == [None, None]
    assert described["largest_side"][-1].endswith(f"`best` begins with {first}")
    page = (DOCS / "algorithm" / "ordering.md").read_text("utf-8")
    heavy = f"of more than {RETRIED_NODE} vertices whose separator has more than {HEAVY_PERCENT} %"
    assert heavy in page
    assert f"twice, first with at most {100 * first:.0f} % on a side" in page


def test_presets_have_their_methods() -> None:
    for name, effort in EFFORTS.items():
        method, _ = rows("guide/orderings.md")[name]
        assert NUMBERS[effort.tries] in method
        *numbers, choice = rows("algorithm/ordering.md")[name]
        assert numbers == [
            str(effort.tries),
            str(effort.small_tries),
            str(effort.growings),
            str(effort.passes),
            {1: "all", 2: "every 2nd"}[effort.step],
            str(effort.flows),
            f"{effort.hops} hops",
            str(effort.leaf_weight),
        ]
        assert (choice == "yes") == effort.choice
    assert [e.choice for e in EFFORTS.values()] == [False, True, True]
