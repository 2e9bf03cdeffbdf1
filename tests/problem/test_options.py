"""Options: their names, values and checks, and the presets that are made of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.errors import OptionError
from jetpy.graph.generators import delaunay
from jetpy.problem.checked import read_value, value_text
from jetpy.problem.options import Options, RefineOptions
from jetpy.problem.presets import PRESETS, choose, differences, name_of, preset

NAMES = sorted(Options().values())


def test_values_have_the_names_of_groups() -> None:
    values = preset("jet").values()
    assert values["refine.patience"] == 12
    assert values["coarsen.rating"] == "weight"
    assert values["cycles"] == 0
    assert list(values) == list(Options().values())


@pytest.mark.parametrize("name", PRESETS)
def test_values_make_the_options_again(name: str) -> None:
    options = preset(name)
    assert Options().changed(options.values()) == options
    texts = {option: value_text(value) for option, value in options.values().items()}
    read = {option: read_value(Options, option, text) for option, text in texts.items()}
    assert read == options.values()


@given(st.sampled_from(NAMES), st.sampled_from(sorted(PRESETS)), st.sampled_from(sorted(PRESETS)))
def test_a_change_concerns_one_option(option: str, first: str, second: str) -> None:
    value = preset(second).values()[option]
    changed = preset(first).changed({option: value}).values()
    assert changed == preset(first).values() | {option: value}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patience": 3}, "unknown option 'patience'; did you mean refine.patience?"),
        ({"refine": RefineOptions()}, "unknown option 'refine'"),
        ({"q": 3}, "unknown option 'q'; --show-options lists all"),
        ({"refine.patience": 0}, "patience is 0; it must be an integer in 1.."),
        ({"refine.patience": 2.5}, "patience is 2.5; it must be an integer"),
        ({"refine.patience": None}, "patience is None; it must be an integer"),
        ({"refine.locks": 1}, "locks is 1; it must be True or False"),
        ({"refine.tolerance": 2}, "tolerance is 2; it must be at most 1"),
        ({"refine.tolerance": "high"}, "tolerance is 'high'; it must be a finite number"),
        ({"refine.finest_ratios": 25}, "finest_ratios is 25; it must be a tuple"),
        ({"refine.finest_ratios": (25, 101)}, "finest_ratios is 101; it must be at most 100"),
        ({"refine.coarse_ratios": ()}, "coarse_ratios is empty"),
        ({"refine.weak_rounds": -1}, "weak_rounds is -1; it must be an integer in 0.."),
        ({"coarsen.rating": "degree"}, "unknown rating 'degree'; choose one of expansion, weight"),
        ({"coarsen.two_hop_share": 1.5}, "two_hop_share is 1.5; it must be at most 1"),
        ({"branches": ("two-hop", "none")}, "unknown branches 'none'; choose one of two-hop"),
        ({"initial.max_tries": 0}, "max_tries is 0; it must be an integer in 1.."),
    ],
)
def test_bad_changes_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        Options().changed(changes)
    assert message in str(error.value)
    with pytest.raises(OptionError) as error:
        jetpy.partition(delaunay(50), 2, options=changes, backend="cpu")
    assert message in str(error.value)


def test_groups_are_not_mixed_up() -> None:
    with pytest.raises(OptionError, match=r"^refine is .*; it must be RefineOptions"):
        Options(refine=jetpy.CoarsenOptions())  # type: ignore[arg-type]


def test_changes_of_a_preset_and_all_options() -> None:
    graph = delaunay(500, 3)
    changes = {"refine.patience": 3, "cycles": 0}
    changed = jetpy.partition(graph, 4, preset="jet", options=changes, backend="cpu")
    assert changed.options == preset("jet").changed(changes)
    assert changed.preset == "jet"
    assert "preset jet, refine.patience 3" in repr_of_run(changed)
    whole = jetpy.partition(graph, 4, options=changed.options, backend="cpu")
    assert whole.parts.tolist() == changed.parts.tolist()
    assert (whole.preset, whole.options) == ("custom", changed.options)
    with pytest.raises(OptionError, match="preset is 'jet' and options is an Options"):
        jetpy.partition(graph, 4, preset="jet", options=changed.options)


def repr_of_run(partition: jetpy.Partition) -> str:
    from jetpy.evaluation.rows import run_text

    return run_text(partition)


@pytest.mark.parametrize("name", PRESETS)
def test_names_of_presets(name: str) -> None:
    assert name_of("default", preset(name)) == name
    assert differences(preset(name), name) == {}
    assert choose(name) is preset(name)  # type: ignore[arg-type]
