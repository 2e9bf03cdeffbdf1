"""Cuts of jetpy, and with --reference their ratios to those of other partitioners.

The program appends one JSON line per graph and k to the result file of the preset.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench import comparisons, conditions
from bench.comparisons import Results
from bench.harness import SEEDS, Experiment, Option
from bench.instances import KS, Instance
from bench.records import Record

TOOLS = ("jet-sandia", "pymetis", "kaminpar", "mtkahypar")
FILES = ("peers_cpu_real.csv", "peers_cpu_generated.csv")


def cases(options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
    """Yield each preset and number of parts, for the unchanged graph."""
    for preset in options.presets:
        own = {
            "conditions": ["plain"],
            "tools": [f"jetpy/{options.backend}"],
            "presets": [preset],
            "threads": [options.threads],
            "ks": options.ks or KS[instance.kind],
            "seeds": options.seeds,
        }
        for case in conditions.cases(argparse.Namespace(**own), instance):
            yield {"preset": preset, **case}


def with_reference(records: Iterable[Record], folder: Path) -> Results:
    """Return jetpy's median cuts and those of other partitioners, by tool and case.

    The condition of a case is the class of the graph. Only cases of the records count, and only the
    last record of each. The C++ Jet has one thread.
    """
    ours = [
        {
            **record,
            "tool": f"jetpy/{record['preset']}",
            "condition": record["class"],
            "cuts": [record["median_cut"]],
            "balanced": [record["feasible"] == len(record["seeds"])],
        }
        for record in records
    ]
    cases = {(record["graph"], record["k"]): record["class"] for record in ours}
    theirs = []
    for name in FILES:
        with open(folder / name, newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                case = row["graph"], int(row["k"])
                is_threaded_jet = row["tool"] == "jet-sandia" and row["threads"] != "1"
                if case in cases and row["tool"] in TOOLS and not is_threaded_jet:
                    own = {"tool": row["tool"], "graph": case[0], "k": case[1]}
                    cut = {"cuts": [float(row["median_cut"])], "balanced": [True]}
                    theirs.append({**own, "condition": cases[case], **cut})
    return comparisons.results([*ours, *theirs])


def summarise(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print tables of each preset: for real graphs, generated graphs, and both together."""
    groups = {"real": ["real"], "generated": ["generated"], "all": ["real", "generated"]}
    for name, kinds in groups.items() if options.reference else ():
        own = [record for record in records if record["kind"] in kinds]
        found = with_reference(own, options.reference)
        peers = [tool for tool in TOOLS if tool in found]
        for preset in options.presets:
            tool = f"jetpy/{preset}"
            if tool in found:
                conditions.show_cuts(f"{name} graphs, {tool}", tool, peers, found, options.markdown)


EXPERIMENT = Experiment(
    name="quality",
    doc=__doc__,
    options={
        "presets": ("default",),
        "ks": Option((), f"by default {KS}", type=int),
        "seeds": SEEDS,
        "threads": 2,
        "backend": "cpu",
        "reference": Option(
            None,
            f"folder of the other partitioners' results: {' and '.join(FILES)}",
            type=Path,
            metavar="DIR",
        ),
    },
    cases=cases,
    measure=conditions.measure,
    show=summarise,
    key=("preset", "graph", "k", "seeds"),
    together=["k"],
    file_of=lambda record: str(record["preset"]),
)

if __name__ == "__main__":
    EXPERIMENT.main()
