"""Results of a study, computed from its tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

from jetpy.errors import JetpyError, count
from jetpy.lazy import cached_property
from jetpy.study.cases import (
    JETPY,
    Problem,
    device_of,
    runs_on,
)
from jetpy.study.changes import order_of
from jetpy.study.efficiency import Cell, Efficiencies
from jetpy.study.files import ALLOWED, TABLES, Row, compared, is_copy, objective, problem_in
from jetpy.study.launches import Engine, Launches, bandwidth_shares, launches_by_engine
from jetpy.study.machine import FILE, Machines, engine_name, read_machines
from jetpy.study.metrics import Values, bests, efficiencies, itself
from jetpy.study.processes import DONE
from jetpy.study.triad import Roofline


class Kind(NamedTuple):
    """A kind of problems that are compared with each other: those of a study that differ only in
    the graph and the number of parts.

    >>> str(Kind("0.03")), str(Kind("0.03", "4:2/1:10")), str(Kind("0.03", changes="500x10"))
    ('0.03', '0.03 mapping=4:2/1:10', '0.03 changes=500x10')
    """

    imbalance: str
    mapping: str = ""
    changes: str = ""

    @property
    def objective(self) -> str:
        """What is minimised: the cut of partitions and changing graphs, the cost of mappings."""
        return "cost" if self.mapping else "cut"

    def __str__(self) -> str:
        onto = f" mapping={self.mapping}" * bool(self.mapping)
        return f"{self.imbalance}{onto}{f' changes={self.changes}' * bool(self.changes)}"

    @property
    def words(self) -> str:
        """What distinguishes the kind, in words.

        >>> Kind("0.03", changes="500x10").words
        'imbalance 0.03, changes 500x10'
        """
        onto = f", mapping {self.mapping}" * bool(self.mapping)
        changes = f", changes {self.changes}" * bool(self.changes)
        return f"imbalance {self.imbalance}{onto}{changes}"


def _order(kind: Kind) -> tuple[tuple[int, ...], str, float]:
    return order_of(kind.changes), kind.mapping, float(kind.imbalance)


def kind_of(row: Row) -> Kind:
    """Return the kind of a row's problem."""
    return Kind(row[ALLOWED], row["mapping"], row["changes"])


@dataclass(frozen=True, eq=False)
class Results:
    """The machines and the tables of a study."""

    machines: Machines
    runs: Sequence[Row]
    kernels: Sequence[Row]
    batches: Sequence[Row]

    @cached_property
    def problems(self) -> list[Problem]:
        """All problems, in the order of graphs, then by number of parts and imbalance."""
        graphs = list(dict.fromkeys(row["graph"] for row in self.runs))
        distinct = {problem_in(row) for row in self.runs}
        return sorted(
            distinct,
            key=lambda own: (graphs.index(own.graph), own[1:4], order_of(own.changes)),
        )

    @cached_property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Numbers of vertices and edges of each graph, small graphs first."""
        sizes = {row["graph"]: (int(row["n"]), int(row["m"])) for row in self.runs}
        return dict(sorted(sizes.items(), key=lambda item: sum(item[1])))

    @cached_property
    def classes(self) -> dict[str, str]:
        """Classes of the graphs that have one."""
        return {row["graph"]: row["class"] for row in self.runs if row["class"]}

    @cached_property
    def kinds(self) -> dict[Kind, Results]:
        """The results of problems of each kind: partitions, mappings, then changing graphs."""
        kinds = {kind_of(row) for row in self.runs}
        return {
            kind: replace(
                self,
                runs=[row for row in self.runs if kind_of(row) == kind],
                kernels=[row for row in self.kernels if kind_of(row) == kind],
                batches=[row for row in self.batches if kind_of(row) == kind],
            )
            for kind in sorted(kinds, key=_order)
        }

    @cached_property
    def platforms(self) -> list[str]:
        """All platforms, by machine; fewer threads first, GPUs last."""
        run_of = {row["platform"]: row for row in self.runs}
        machines = list(dict.fromkeys(row["machine"] for row in self.runs))

        def order(platform: str) -> tuple[int, bool, int]:
            row = run_of[platform]
            on_gpu = device_of(row["backend"], 1) == "gpu"
            return machines.index(row["machine"]), on_gpu, int(row["threads"])

        return sorted(run_of, key=order)

    @cached_property
    def cells(self) -> list[Cell]:
        """All pairs of a problem and a platform on which it was tried."""
        tried = {(problem_in(row), row["platform"]) for row in self.runs}
        return [
            Cell(problem, platform)
            for problem in self.problems
            for platform in self.platforms
            if (problem, platform) in tried
        ]

    @cached_property
    def applications(self) -> list[str]:
        """All applications, jetpy's first."""
        names = dict.fromkeys(row["application"] for row in self.runs)
        return sorted(names, key=lambda name: (not name.startswith(f"{JETPY}/"), name))

    @cached_property
    def tried(self) -> dict[Cell, dict[str, list[Row]]]:
        """All runs, by cell and application."""
        runs: dict[Cell, dict[str, list[Row]]] = {cell: {} for cell in self.cells}
        for row in self.runs:
            cell = Cell(problem_in(row), row["platform"])
            runs[cell].setdefault(row["application"], []).append(row)
        return runs

    @cached_property
    def seeds(self) -> dict[Problem, dict[int, bool]]:
        """All seeds of each problem, and whether they count.

        A seed counts if every application was run with it on every platform of the problem;
        otherwise medians would not be comparable.
        """
        own: dict[Problem, list[set[int]]] = {problem: [] for problem in self.problems}
        for cell, by_application in self.tried.items():
            for rows in by_application.values():
                own[cell.problem].append({int(row["seed"]) for row in rows})
        return {
            problem: {
                seed: all(seed in other for other in found) for seed in sorted(set.union(*found))
            }
            for problem, found in own.items()
        }

    def medians(self, column: str) -> dict[str, dict[Cell, float]]:
        """Return the medians of a column over the seeds that count, by application and cell.

        A cell has no value if one of these runs failed, was not balanced, or lacks the column.
        """
        return self._medians(itemgetter(column))

    def _medians(self, text_of: Callable[[Row], str]) -> dict[str, dict[Cell, float]]:
        values: dict[str, dict[Cell, float]] = {name: {} for name in self.applications}
        for cell, by_application in self.tried.items():
            counts = self.seeds[cell.problem]
            for application, rows in by_application.items():
                own = [row for row in rows if counts[int(row["seed"])]]
                if own and all(row["feasible"] == "yes" and text_of(row) for row in own):
                    values[application][cell] = median(float(text_of(row)) for row in own)
        return values

    @cached_property
    def seconds(self) -> Values:
        """Median seconds of a run."""
        return self.medians("seconds")

    @cached_property
    def cuts(self) -> Values:
        """Median cuts; median costs of mappings."""
        return self._medians(objective)

    @cached_property
    def solved(self) -> set[Problem]:
        """Problems that at least one application solved on a platform."""
        return {cell.problem for own in self.seconds.values() for cell in own}

    @cached_property
    def by_time(self) -> Efficiencies:
        """Application efficiency: shortest known time on the platform / time of the application."""
        return self._efficiencies(self.seconds, itself)

    @cached_property
    def by_cut(self) -> Efficiencies:
        """Application efficiency: smallest known cut of the problem / cut of the application."""
        return self._efficiencies(self.cuts, problem_of)

    @cached_property
    def by_bandwidth(self) -> Efficiencies:
        """Architectural efficiency: share of the bandwidth that jetpy's kernels use, at most 1.

        All launches of a run count, with the minimum number of bytes that they move. A run whose
        kernels were not timed has no entry.
        """
        shares = bandwidth_shares(self.kernels, self.roofline)
        measured = [name for name in self.applications if any(name == a for a, _ in shares)]
        cells = [cell for cell in self.cells if cell.problem in self.solved]
        return Efficiencies(
            cells,
            {
                name: {
                    cell: shares.get((name, cell), 0.0)
                    for cell in cells
                    if self.was_asked(name, cell)
                    and ((name, cell) in shares or cell not in self.seconds[name])
                }
                for name in measured
            },
        )

    def _efficiencies(self, values: Values, same: Callable[[Cell], Hashable]) -> Efficiencies:
        """Return efficiencies in the cells of solved problems whose best value is not 0."""
        best = bests(values, same)
        cells = [c for c in self.cells if c.problem in self.solved and best.get(same(c)) != 0]
        each = efficiencies(values, cells, same)
        return Efficiencies(
            cells,
            {
                name: {cell: value for cell, value in own.items() if self.was_asked(name, cell)}
                for name, own in each.items()
            },
        )

    def was_asked(self, application: str, cell: Cell) -> bool:
        """Return whether an application was tried in a cell, or does not support its platform."""
        if application in self.tried[cell]:
            return True
        one, other = self._one_of[application], self._one_of[cell.platform]
        gpu = device_of(other["backend"], 1) == "gpu"
        return not runs_on(one["tool"], one["backend"], gpu=gpu)

    @cached_property
    def _one_of(self) -> dict[str, Row]:
        """One run of each application, and one of each platform."""
        return {row[column]: row for row in self.runs for column in ("application", "platform")}

    @cached_property
    def not_asked(self) -> dict[str, list[str]]:
        """Platforms on which an application could run, but lacks a problem that others have."""
        found = {
            name: [
                platform
                for platform in self.platforms
                if any(
                    not self.was_asked(name, cell)
                    for cell in self.cells
                    if cell.platform == platform
                )
            ]
            for name in self.applications
        }
        return {name: platforms for name, platforms in found.items() if platforms}

    @cached_property
    def left_out(self) -> list[str]:
        """Sentences on the exclusions from comparisons of problems of each kind, with reasons."""
        return list(dict.fromkeys(chain.from_iterable(map(_left_out, self.kinds.values()))))

    def roofline(self, engine: Engine) -> Roofline:
        """Return the roofline of an engine."""
        return self.machines[engine.machine].roofs[engine_name(engine.backend, engine.threads)]

    @cached_property
    def launches(self) -> dict[Engine, list[Launches]]:
        """All launches by engine and kernel, longest total time first."""
        return launches_by_engine(self.kernels)

    @cached_property
    def repeats(self) -> list[int]:
        """Numbers of repetitions of completed runs, ascending."""
        return sorted(int(row["repeats"]) for row in self.runs if row["status"] == DONE)

    @cached_property
    def spread(self) -> list[tuple[float, Row]]:
        """Ratio of longest to shortest time of each repeated run, ascending."""
        ratios = [
            (float(row["seconds_max"]) / float(row["seconds_min"]), row)
            for row in self.runs
            if float(row["seconds_min"] or 0) and int(row["repeats"]) > 1 and not is_copy(row)
        ]
        return sorted(ratios, key=lambda own: own[0])

    @cached_property
    def failures(self) -> list[Row]:
        """Runs that failed or were not balanced."""
        return [row for row in self.runs if row["status"] != DONE or row["feasible"] != "yes"]

    @cached_property
    def compared(self) -> dict[tuple[str, ...], list[Row]]:
        """Runs of jetpy that should find the same parts, as in `files.compared`."""
        return compared(self.runs)

    @cached_property
    def unequal(self) -> list[str]:
        """Partitions that differ between back ends, numbers of threads, or machines."""
        return [
            f"{graph}, k = {k}, {Kind(*kind).words}, {preset}, seed {seed}"
            for (graph, k, *kind, preset, seed), rows in self.compared.items()
            if len({row["parts_sha"] for row in rows}) > 1
        ]

    @property
    def verdict(self) -> str:
        """Statement on whether all runs found the same parts."""
        if self.unequal:
            return f"DIFFERENT PARTS, which is a defect: {'; '.join(self.unequal)}"
        several = [rows for rows in self.compared.values() if len(rows) > 1]
        if not several:
            return "parts were not compared: each was found once"
        return (
            f"the same parts in all of {count(len(several), 'partition')}, each found "
            f"{range_of([len(rows) for rows in several])} times"
        )

    @property
    def summary(self) -> str:
        """Summary of the study in one line."""
        failed = ""
        if self.failures:
            who = ", ".join(dict.fromkeys(row["application"] for row in self.failures))
            failed = f", {count(len(self.failures), 'run')} without feasible parts ({who})"
        platforms = count(len(self.platforms), "platform")
        return f"{count(len(self.runs), 'run')} on {platforms}{failed}; {self.verdict}"

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers of the page, ready for JSON.

        Returns
        -------
        dict
            The numbers of runs, failures, and partitions that were compared and that differ; the
            exclusions `left_out`, with reasons; by kind of problem, `performance_portability` by
            time, cut (cost for mappings) and bandwidth, as on the page: by application, None if no
            platform has all problems.
        """
        return {
            "runs": len(self.runs),
            "failures": len(self.failures),
            "compared": sum(len(rows) > 1 for rows in self.compared.values()),
            "unequal": self.unequal,
            "platforms": self.platforms,
            "left_out": self.left_out,
            "performance_portability": {
                f"{kind}": {
                    "time": own.by_time.metric,
                    kind.objective: own.by_cut.metric,
                    "bandwidth": own.by_bandwidth.metric,
                }
                for kind, own in self.kinds.items()
            },
        }


def read_results(folder: Path) -> Results:
    """Return the results of a study so far.

    Raises
    ------
    JetpyError
        If the folder holds no study, or files of another kind.
    """
    tables = [table.read(folder) for table in TABLES]
    machines = read_machines(folder)
    if machines is None or not tables[0]:
        raise JetpyError(f"{folder} does not contain a study with runs")
    if unknown := {row["machine"] for own in tables for row in own} - machines.keys():
        raise JetpyError(f"{folder / FILE} does not describe the machine {min(unknown)}")
    return Results(machines, *tables)


def _left_out(results: Results) -> list[str]:
    """Return sentences on the exclusions from comparisons of problems of one kind."""
    remarks = []
    for problem, counts in results.seeds.items():
        kept = [f"{seed}" for seed, does in counts.items() if does]
        if not kept:
            remarks.append(f"The comparison leaves out {problem}: its runs have no seed in common.")
        elif len(kept) < len(counts):
            remarks.append(
                f"Of the seeds {', '.join(map(str, counts))} of {problem}, only "
                f"{', '.join(kept)} counts: not all applications and platforms have the "
                "others."
            )
        if kept and problem not in results.solved:
            remarks.append(f"The comparison leaves out {problem}: no application solved it.")
    for what, values, same in (
        ("time", results.seconds, itself),
        ("cut", results.cuts, problem_of),
    ):
        best = bests(values, same)
        zero = dict.fromkeys(c.problem for c in results.cells if best.get(same(c)) == 0)
        remarks += [
            f"The comparison by {of} leaves out {problem}: its best {of} is 0."
            for problem in zero
            for of in ["cost" if what == "cut" and problem.mapping else what]
        ]
    for name, platforms in results.not_asked.items():
        remarks.append(f"{name} did not run on all problems on {', '.join(platforms)}.")
    return remarks


def over_best(values: Values) -> dict[tuple[str, str], float]:
    """Return geometric means of value / best of the problem, by application and platform.

    The means are over the problems that the application solved there, except for a best cut of 0.
    """
    best = bests(values, problem_of)
    ratios: dict[tuple[str, str], list[float]] = {}
    for name, own in values.items():
        for cell, value in own.items():
            if best[cell.problem] > 0:
                where = name, cell.platform
                ratios.setdefault(where, []).append(value / best[cell.problem])
    return {where: geometric_mean(own) for where, own in ratios.items()}


def problem_of(cell: Cell) -> Problem:
    """Return the problem of a cell, the key of the best cut over all platforms."""
    return cell.problem


def range_of(numbers: Sequence[int]) -> str:
    """Return the minimum and maximum of numbers as text.

    >>> range_of([2, 2]), range_of([3, 1])
    ('2', '1 to 3')
    """
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"
