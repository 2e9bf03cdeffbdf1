"""Options: their names, values and checks, and the presets that are made of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.errors import OptionError
from jetpy.graph.generators import delaunay
from jetpy.problem.checked import read_value, value_text
from jetpy.problem.options import Options, RefineOptions
from jetpy.problem.presets import (
    IGKWAY_UPDATES,
    PRESETS,
    choose,
    differences,
    incremental_options,
    name_of,
    preset,
)
from jetpy.result.mapping import mapping_rows

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
def test_change_of_an_option(option: str, first: str, second: str) -> None:
    value = preset(second).values()[option]
    changed = preset(first).changed({option: value}).values()
    ignored = {} if option.startswith("small.") else {"small.max_vertices": 0}
    assert changed == preset(first).values() | ignored | {option: value}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patience": 3}, "unknown option 'patience'; did you mean refine.patience?"),
        ({"refine": RefineOptions()}, "unknown option 'refine'; it is a group, so change"),
        ({"refine": {"patience": 3}}, "its options, such as refine.method"),
        ({"q": 3}, "unknown option 'q'; --show-options lists all"),
        ({"refine.patience": 0}, "refine.patience is 0; it must be an integer in 1..2147"),
        ({"refine.patience": 2.5}, "refine.patience is 2.5; it must be an integer"),
        ({"refine.patience": None}, "patience is None; it must be an integer"),
        ({"refine.locks": 1}, "refine.locks is 1; it must be True or False"),
        ({"refine.tolerance": 2}, "refine.tolerance is 2; it must be a number in 0..1"),
        ({"refine.tolerance": "high"}, "tolerance is 'high'; it must be a number in 0..1"),
        ({"refine.tolerance": 0.9999999}, "tolerance is 0.9999999; it must have at most six"),
        ({"refine.coarse_slack": -1}, "coarse_slack is -1; it must be a finite number"),
        ({"refine.finest_ratios": 25}, "finest_ratios is 25; it must be a tuple or a list"),
        ({"refine.finest_ratios": (25, 101)}, "ratios is 101; it must be an integer in 0..100"),
        ({"refine.finest_ratios": (0.25,)}, "ratios is 0.25; it must be an integer in 0..100"),
        ({"refine.coarse_ratios": ()}, "coarse_ratios is empty"),
        ({"refine.weak_rounds": -1}, "weak_rounds is -1; it must be None or an integer in 0.."),
        ({"cut_share": 2}, "cut_share is 2; it must be None or a number in 0..1"),
        ({"coarsen.rating": "degree"}, "unknown coarsen.rating 'degree'; choose one of expansion,"),
        ({"coarsen.two_hop_share": 1.5}, "two_hop_share is 1.5; it must be a number in 0..1"),
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


@pytest.mark.parametrize("options", ["jet", ["refine.patience=20"], 3], ids=str)
def test_changes_are_a_mapping(options: Any) -> None:
    message = r"^options is .*; it must be a mapping from names of options to values$"
    graph = delaunay(50)
    for call in (
        lambda: preset("jet").changed(options),
        lambda: jetpy.partition(graph, 2, options=options),
        lambda: jetpy.map_processes(graph, "2", "1", options=options),
        lambda: jetpy.IncrementalPartitioner(graph, 2, options=options),
    ):
        with pytest.raises(OptionError, match=message):
            call()


def test_changes_of_incremental_options() -> None:
    assert incremental_options("igkway", {"extra_buckets": 2}) == IGKWAY_UPDATES.changed(
        {"extra_buckets": 2}
    )
    own = jetpy.IncrementalOptions(tries=7)
    assert incremental_options("igkway", own) is own
    assert incremental_options("jet", {}) == jetpy.IncrementalOptions()
    with pytest.raises(OptionError, match=r"unknown option 'gamma'; choose one of tries, extra_b"):
        jetpy.IncrementalPartitioner(delaunay(50), 2, options={"gamma": 2})


def test_mapping_takes_all_options() -> None:
    graph, jet = delaunay(500, 3), preset("jet")
    whole, single = (
        jetpy.map_processes(graph, "2:4", "1:10", method="hm", options=options, backend="cpu")
        for options in (jet, jet.values())
    )
    assert whole.partition.options == single.partition.options == jet
    assert whole.pe.tolist() == single.pe.tolist()
    assert re.match(r"hm, seed 0, \d+ other options, cpu, ", dict(mapping_rows(whole))["run"])
    change = {"refine.rebalance_by": "cut"}
    one = jetpy.map_processes(graph, "2:4", "1:10", options=change, backend="cpu")
    assert dict(mapping_rows(one))["run"].startswith("im, seed 0, refine.rebalance_by cut, ")


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
    from jetpy.result.partition import run_text

    return run_text(partition)


@pytest.mark.parametrize("name", PRESETS)
def test_names_of_presets(name: str) -> None:
    assert name_of("default", preset(name)) == name
    assert differences(preset(name), preset(name)) == {}
    assert differences(preset(name), None) == preset(name).values()
    assert choose(name) is preset(name)  # type: ignore[arg-type]
