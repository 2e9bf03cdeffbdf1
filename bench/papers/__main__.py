"""Repeat the experiments of the papers that jetpy implements, and compare with their numbers.

Without a name, list the experiments, what each needs and how long it takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter

from bench.harness import Option, parser
from bench.instances import selected
from bench.papers import gkway, igkway, jet, mapping
from bench.papers.classes import QUICK
from bench.papers.experiment import Experiment, Result, numbers, table, write_results
from bench.papers.setting import Setting
from bench.provenance import note_measurement
from bench.tables import note, show
from jetpy import BackendError
from jetpy.device.backends import BACKENDS, check_backend
from jetpy.engines.threads import available_threads

EXPERIMENTS = [*jet.EXPERIMENTS, *gkway.EXPERIMENTS, *igkway.EXPERIMENTS, *mapping.EXPERIMENTS]


def list_experiments(experiments: Iterable[Experiment], *, markdown: bool) -> None:
    """Print a line for each experiment."""
    rows = [
        [each.name, each.title, each.needs, f"{each.minutes:g}", str(len(numbers(each.name)))]
        for each in experiments
    ]
    header = ["name", "quantity", "needs", "minutes", "numbers in the paper"]
    show("experiments", header, rows, left=3, markdown=markdown)


def setting_of(options: argparse.Namespace) -> Setting:
    """Return the graphs and other choices of the command line."""
    has_graphs = options.graphs or options.generated
    return Setting(
        instances=list(QUICK) if options.quick or not has_graphs else selected(options),
        quick=options.quick,
        backend=options.backend,
        threads=options.threads,
        seeds=1 if options.quick else options.seeds,
    )


def save(experiment: Experiment, results: list[Result], folder: Path) -> None:
    """Write the CSV file of an experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.csv"
    write_results(path, results)
    note_measurement(path)


OPTIONS = {
    "names": Option((), "experiments, or `all`", metavar="NAME", is_positional=True),
    "quick": Option(False, "one run on small generated graphs: under a minute"),
    "backend": Option("cpu", choices=BACKENDS),
    "threads": available_threads(),
    "seeds": Option(5, "number of runs of each case"),
    "results": Path("bench", "results", "papers"),
}


def main(arguments: list[str] | None = None) -> None:
    """List the experiments, or run some and print and save their results."""
    options = parser("papers", __doc__, OPTIONS, graphs=True).parse_args(arguments)
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    if not options.names:
        list_experiments(EXPERIMENTS, markdown=options.markdown)
        return
    names = list(known) if options.names == ["all"] else options.names
    if unknown := set(names) - set(known):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; without a name, the command lists all")
    try:
        check_backend(options.backend, options.threads)
    except BackendError as error:
        sys.exit(str(error))
    setting = setting_of(options)
    for name in names:
        start = perf_counter()
        results = known[name].run(setting)
        save(known[name], results, options.results)
        title = f"{name}: {known[name].title}; jetpy's number (paper's)"
        show(title, *table(results), markdown=options.markdown)
        note(f"{name} took {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
