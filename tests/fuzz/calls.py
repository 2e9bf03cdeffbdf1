"""Several problems at once, each in a separate Python thread, with the results of serial calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.fuzz.changes import changing
from tests.fuzz.checks import Finding, equal
from tests.fuzz.choices import Choices, Random
from tests.fuzz.constrained import constrained
from tests.fuzz.draws import Engine, Solvable
from tests.fuzz.files import filed
from tests.fuzz.lists import listed
from tests.fuzz.mappings import mapping
from tests.fuzz.meshes import meshed
from tests.fuzz.partitions import partitioning
from tests.fuzz.refining import refining
from tests.fuzz.results import resulting
from tests.fuzz.several import several
from tests.switching import switching_often

KINDS: dict[str, Callable[[Random], Solvable]] = {
    kind.__name__: kind
    for kind in (
        *(partitioning, refining, mapping, constrained, several, changing),
        *(resulting, filed, meshed, listed),
    )
}
CHOICES: Choices = {"calls at once": [2, 3, 4, 6], "kind of a call": list(KINDS)}


@dataclass(frozen=True, eq=False)
class Calls:
    problems: Sequence[Solvable]

    def __str__(self) -> str:
        return " | ".join(["at once", *map(str, self.problems)])

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        """Assign the engines that have all kernels to the calls, round-robin."""
        complete = [engine for engine in engines if engine["backend"] in ("cpu", "cuda")]
        calls = [
            (one, complete[i % len(complete)]) for i, one in enumerate(self.problems) if complete
        ]
        alone = [problem.parts(engine) for problem, engine in calls]
        with switching_often(), ThreadPoolExecutor(max(len(calls), 1)) as pool:
            futures = [pool.submit(problem.parts, engine) for problem, engine in calls]
            at_once = [future.result() for future in futures]
        for expected, found in zip(alone, at_once, strict=True):
            yield equal("alone and at once agree", found, expected)


def calling(rng: Random) -> Calls:
    count = rng.pick("calls at once", CHOICES["calls at once"])
    kinds = [rng.pick("kind of a call", CHOICES["kind of a call"]) for _ in range(count)]
    return Calls([KINDS[kind](rng) for kind in kinds])
