"""One harness for all experiments: a table of options, cases, new processes, records and tables.

An experiment lists what to vary. The harness measures the cases that the result files lack, each in
a new process, and appends a record for each at once. Then it prints the tables of all records.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from bench.child import CHILDREN, apart, ending_on_signals, failures_noted
from bench.instances import Instance, selected
from bench.records import RESULTS, Record, append_record, is_jetpy, read_records
from bench.tables import note
from jetpy import generators
from jetpy.study.arrays import save_arrays

T = TypeVar("T")
SEEDS = (0, 1, 2)
HELP = {
    "backend": "jetpy's back end",
    "backends": "jetpy's back ends",
    "k": "number of parts",
    "ks": "numbers of parts",
    "libraries": "folders with libraries and programs of other tools, before those of the system",
    "preset": "jetpy's preset",
    "presets": "jetpy's presets",
    "repeat": "number of runs",
    "rounds": "number of rounds; each runs everything in turn",
    "seeds": "seeds, one run for each",
    "threads": "number of CPU threads",
    "tools": "what to compare",
}
"""Help on options that several programs have."""


@dataclass(frozen=True)
class Option:
    """An option of the command line.

    Attributes
    ----------
    default
        Its type, or that of its first value, is that of the option: a tuple takes several values,
        False is a switch.
    help : str
        If it is empty, `HELP` has it.
    choices : collection of str, optional
    type : callable, optional
        Converts a text, if the default does not tell how.
    metavar : str, optional
    may_be_empty : bool
        Whether an option of several values may have none.
    is_positional : bool
        Whether its values need no flag.
    """

    default: Any = None
    help: str = ""
    choices: Collection[Any] | None = None
    type: Callable[[str], Any] | None = None
    metavar: str | None = None
    may_be_empty: bool = False
    is_positional: bool = False

    def add(self, parser: argparse.ArgumentParser, name: str) -> None:
        """Add the option to a parser."""
        flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
        flag = name if self.is_positional else flag
        words: dict[str, Any] = {"default": self.default, "help": self.help or HELP.get(name)}
        if self.default is False:
            parser.add_argument(flag, action="store_true", **words)
            return
        example = self.default
        if isinstance(self.default, tuple | list):
            words["nargs"] = "*" if self.may_be_empty or self.default == () else "+"
            example = next(iter(self.default or ("",)))
        words["type"] = self.type or (str if example is None else type(example))
        parser.add_argument(flag, choices=self.choices, metavar=self.metavar, **words)


LIBRARIES = Option((), type=Path, metavar="DIR")
OF_GRAPHS = {
    "graphs": Option(
        None,
        "folder of real graphs: those listed in its MANIFEST.csv, or all without this file",
        type=Path,
        metavar="DIR",
    ),
    "generated": Option(None, "cache of generated graphs", type=Path, metavar="DIR"),
    "only": Option((), "use only these graphs", metavar="NAME"),
    "min_n": Option(0, "leave out graphs with fewer vertices", metavar="N"),
    "max_n": Option(None, "leave out graphs with more vertices", type=int, metavar="N"),
}
"""The options that select graphs."""
OF_RESULTS = {"results": Option(RESULTS, "folder of the result files", metavar="DIR", type=Path)}
SKIPS = "The program skips cases that the result files already contain."
ONLY_TABLES = "Without --graphs and --generated, it only prints the tables."
MARKDOWN = {"markdown": Option(False, "print tables as Markdown")}


def among(choices: Iterable[str], default: Iterable[str] | None = None, text: str = "") -> Option:
    """Return an option that takes several of the choices, by default all."""
    every = tuple(choices)
    return Option(every if default is None else tuple(default), text, every)


def parser(
    name: str,
    doc: str | None,
    options: Mapping[str, Any],
    *,
    graphs: bool = False,
    results: bool = False,
) -> argparse.ArgumentParser:
    """Return the parser of a program of this package.

    Parameters
    ----------
    name : str
        Name of the module below `bench`.
    doc : str or None
        Its docstring.
    options : mapping
        Names of options, and an `Option` or only its default.
    graphs, results : bool
        Whether it has the options that select graphs, and the option `--results`.
    """
    found = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=doc)
    every = {**(OF_GRAPHS if graphs else {}), **options, **(OF_RESULTS if results else {})}
    for option, default in {**every, **MARKDOWN}.items():
        own = default if isinstance(default, Option) else Option(default)
        own.add(found, option)
    return found


@dataclass(frozen=True)
class Experiment:
    """What to vary, how to measure a case, and the tables of the records.

    Attributes
    ----------
    name : str
        Name of the module below `bench`, and of the result file.
    doc : str or None
        Description of the program.
    options : mapping
        As for `parser`. An option `jobs` is the number of processes that run at once.
    measure : callable
        Called in a new process as ``measure(folder, cases, settings)``, with the folder of the
        graph's arrays, and the options as a dictionary. Returns the further fields of each case, in
        their order. It is a function of a module.
    show : callable
        Prints the tables, given all records and the options.
    vary : mapping
        Fields of a case, and for each the option with its values. The cases of a graph are all
        combinations.
    same : sequence of str
        Options that are fields of all cases.
    cases : callable, optional
        Returns the cases of a graph, if they are others than these combinations. A field `threads`
        is also OMP_NUM_THREADS of the process; a field `processes` starts this number of them by
        mpiexec.
    key : sequence of str
        Fields that identify a case, by default the graph and those of `vary` and `same`. A case is
        not measured again if a record has the same values.
    together : sequence of str
        Fields that vary within a process.
    tool : str
        Field with the name of what may be missing. Then its other cases are left out.
    file_of : callable
        Returns the suffix of the name of a record's file, or an empty text.
    select : callable
        Returns the graphs that the options select.
    has_graphs : bool
        Whether `--graphs` and `--generated` give graphs. Without both, nothing is measured, unless
        an option `graph` names graphs. `select` may be `no_graphs` without them.
    needs_arrays : bool
        Whether the folder contains the arrays of the graph.
    """

    name: str
    doc: str | None
    options: Mapping[str, Any]
    measure: Callable[..., Iterable[Record]]
    show: Callable[[list[Record], argparse.Namespace], None]
    vary: Mapping[str, str] = field(default_factory=dict)
    same: Sequence[str] = ()
    cases: Callable[[argparse.Namespace, Instance], Iterable[Record]] | None = None
    key: Sequence[str] = ()
    together: Sequence[str] = ()
    tool: str = "tool"
    file_of: Callable[[Record], str] = field(default=lambda record: "")
    select: Callable[[argparse.Namespace], Iterable[Instance]] = selected
    has_graphs: bool = True
    needs_arrays: bool = True

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Measure the missing cases, then print the tables of all records.

        The arguments are by default those of the process.

        Raises
        ------
        SystemExit
            If there are no records, or a process failed.
        """
        options = self.parser().parse_args(arguments)
        failed = self.run(options)
        records = self.records(options.results)
        if not records:
            raise SystemExit(f"no results in {options.results}")
        self.show(records, options)
        if failed:
            raise SystemExit(f"{failed} processes failed")

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of the command line."""
        doc = f"{self.doc} {SKIPS} {ONLY_TABLES if self.has_graphs else ''}"
        return parser(self.name, doc, self.options, graphs=self.has_graphs, results=True)

    def path(self, folder: Path, record: Record) -> Path:
        """Return the file of a record in a folder of results."""
        suffix = self.file_of(record)
        return folder / f"{self.name}{suffix and f'-{suffix}'}.jsonl"

    def records(self, folder: Path) -> list[Record]:
        """Return the records of all files in a folder of results."""
        files = [*sorted(folder.glob(f"{self.name}-*.jsonl")), folder / f"{self.name}.jsonl"]
        return [record for file in files for record in read_records(file)]

    def run(self, options: argparse.Namespace) -> int:
        """Measure the missing cases, and append each record at once. Return how many fail."""
        named = vars(options).get("graph") or not self.has_graphs
        if not (named or options.graphs or options.generated):
            return 0
        done = {self._case(record) for record in self.records(options.results)}
        unavailable: set[str] = set()
        failed = 0
        for instance in self.select(options):
            own = (self.cases or self.combinations)(options, instance)
            cases = ({"graph": instance.name, **case} for case in own)
            todo = [case for case in cases if self._case(case) not in done]
            groups: dict[Any, list[Record]] = {}
            for case in todo:
                fixed = {name: case[name] for name in case if name not in self.together}
                groups.setdefault(_hashable(fixed), []).append(case)
            if not groups:
                continue
            with tempfile.TemporaryDirectory() as folder:
                about = self._prepared(instance, folder)
                work = partial(self._measure, about, folder, options, unavailable)
                failed += sum(in_turn(work, list(groups.values()), vars(options).get("jobs", 1)))
        return failed

    def combinations(self, options: argparse.Namespace, instance: Instance) -> Iterator[Record]:
        """Yield all combinations of the options of `vary`, with those of `same`."""
        fixed = {name: getattr(options, name) for name in self.same}
        for values in product(*(getattr(options, name) for name in self.vary.values())):
            yield {**dict(zip(self.vary, values, strict=True)), **fixed}

    @property
    def fields(self) -> Sequence[str]:
        """Fields that identify a case."""
        return self.key or ("graph", *self.vary, *self.same)

    def _prepared(self, instance: Instance, folder: str) -> Record:
        """Write the arrays of a graph to a folder. Return the fields that describe it."""
        about: Record = {"graph": instance.name, "class": instance.cls, "kind": instance.kind}
        if self.needs_arrays:
            graph = instance.load()
            save_arrays(Path(folder), graph)
            about |= {"n": graph.n, "m": graph.m}
        return about

    def _measure(
        self,
        about: Record,
        folder: str,
        options: argparse.Namespace,
        unavailable: set[str],
        cases: Sequence[Record],
    ) -> bool:
        """Measure cases in a new process. Return whether it fails; add a tool that is missing."""
        first = cases[0]
        tool = str(first.get(self.tool, self.name))
        if tool in unavailable:
            return False
        named = (first[name] for name in self.fields if name != self.tool)
        title = " ".join(str(value) for value in named if not isinstance(value, tuple | list))
        note(f"{title} {tool}")
        with failures_noted(tool, title) as outcome:
            found = apart(
                self.measure,
                *(folder, cases, vars(options)),
                threads=first.get("threads"),
                processes=first.get("processes") or None,
            )
            for measured, case in zip(found, cases, strict=True):
                record = {**about, **case, **measured}
                append_record(self.path(options.results, record), record)
        if outcome.unavailable:
            unavailable.add(tool)
        return outcome.failed

    def _case(self, record: Record) -> Any:
        return tuple(_hashable(record.get(name)) for name in self.fields)


def no_graphs(options: argparse.Namespace) -> list[Instance]:
    """Return one place holder, for experiments whose processes generate their graphs."""
    return [Instance("", "", "generated", 0, partial(generators.grid, 1, 1))]


def in_turn(work: Callable[[T], bool], items: Sequence[T], jobs: int) -> Iterator[bool]:
    """Yield the results of work on items, on `jobs` of them at once."""
    if jobs == 1:
        yield from map(work, items)
        return
    with ending_on_signals(), ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(work, items)
        except BaseException:
            CHILDREN.give_up()
            raise


def by_jetpy(record: Record) -> str:
    """Return the suffix of the file of jetpy's records, which are outdated when jetpy changes."""
    return "jetpy" if is_jetpy(record["tool"]) else ""


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((name, _hashable(own)) for name, own in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple | list) else value
