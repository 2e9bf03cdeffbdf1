"""The sets of cases of `bench.gpu --peer`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from bench.gpu_cases import HALVES, SETS, select_cases
from bench.instances import generated_instances


@pytest.mark.parametrize(("name", "count"), [("ten", 10), ("unseen", 24)])
def test_halves_have_different_graphs_of_each_group(name: str, count: int) -> None:
    cases = select_cases([name])
    assert len(set(cases)) == len(cases) == count
    for group in SETS[name]:
        own = [{c.graph for c in cases if (c.group, c.half) == (group, half)} for half in HALVES]
        assert not own[0] & own[1]
        assert 0 <= len(own[0]) - len(own[1]) <= 1
    assert [*select_cases([name], "A"), *select_cases([name], "B")] == sorted(
        cases, key=lambda case: case.half
    )


def test_graphs_are_generated_or_real(tmp_path: Path) -> None:
    names = {instance.name for instance in generated_instances(tmp_path)}
    for case in select_cases([*SETS, "ten"]):
        assert (case.graph in names) == (case.group != "real")


def test_cases_of_a_graph_are_consecutive() -> None:
    graphs = [case.graph for case in select_cases(list(SETS))]
    assert sum(a != b for a, b in pairwise(graphs)) == len(set(graphs)) - 1
