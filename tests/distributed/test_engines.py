"""The back end of each process: its share of the GPUs or threads of its machine."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from jetpy import choices
from jetpy.distributed import api


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_processes_without_gpus_share_the_threads(
    name: choices.Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_count_gpus", lambda: 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)))
    with ExitStack() as leases:
        engine = api.engine_of_process(leases, (1, 3), name, threads=None, device=None)
        assert (engine.name, engine.threads) == ("cpu", 2)
    with ExitStack() as leases:
        assert api.engine_of_process(leases, (0, 9), name, threads=None, device=None).threads == 1
    with ExitStack() as leases:
        assert api.engine_of_process(leases, (0, 3), name, threads=4, device=None).threads == 4
