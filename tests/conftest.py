from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import cache

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for NumPy: other tests need the rest

import pytest
from hypothesis import settings

from jetpy.device.backends import BACKENDS, get_backend, kernel_modules
from jetpy.engines.base import Backend
from jetpy.errors import BackendError
from jetpy.graph.csr import INT32_MAX
from tests.device_backend import DeviceBackend

settings.register_profile("jetpy", derandomize=True, deadline=None)
settings.load_profile("jetpy")

MODES = ("lists", "lists and long rows", "captured", "long rows", "apart")
FEW_INDICES = 1 << 12
"""Indices of captured launches: as many as on a GPU take long one after the other."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        action="append",
        choices=list(BACKENDS),
        help="Back end for the tests of stages, cpu by default; may be given several times.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once, before processes start that would all do so side by side."""
    if session.config.pluginmanager.hasplugin("dsession"):
        for name in dict.fromkeys(["cpu", *(session.config.getoption("backend") or [])]):
            _found(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend_name" in metafunc.fixturenames:
        names = metafunc.config.getoption("backend") or ["cpu"]
        metafunc.parametrize("backend_name", dict.fromkeys(names))


@cache
def _found(name: str) -> Backend | str:
    """A back end with its kernels compiled, or why there is none."""
    try:
        backend = get_backend(name)
    except BackendError as error:
        return str(error)
    backend.compile(kernel_modules())
    return backend


def working(name: str) -> Backend:
    """A back end, if it works on this machine."""
    found = _found(name)
    if isinstance(found, str):
        pytest.skip(f"{name}: {found}")
    return found


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts this process, as it would not if pytest runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def compiled() -> None:
    """For tests that launch kernels of jetpy without a back end from here."""
    working("cpu")


def engine_in(mode: str, name: str, threads: int | None) -> Backend:
    """A back end of its own, by the name of one of jetpy's, that launches in a mode."""
    if mode == "apart" and name == "cpu":
        return DeviceBackend(threads)
    engine = BACKENDS[name](threads, None)
    if mode != "apart":
        engine.is_asynchronous = "lists" not in mode
        engine.warp_size = 1 if "lists" in mode else 32
        engine.longest_row = 3 if "long rows" in mode else INT32_MAX
    return engine


def named(mode: str, monkeypatch: pytest.MonkeyPatch, name: str = "cpu") -> str:
    """Have `backend=` take a mode of a back end by a name of its own; returns that."""
    own_name = f"{name}, {mode}"

    def make(threads: int | None, device: int | None) -> Backend:
        engine = engine_in(mode, name, threads)
        engine.name = own_name
        return engine

    monkeypatch.setitem(BACKENDS, own_name, make)
    monkeypatch.setattr("jetpy.refinement.launches.INDICES", FEW_INDICES)
    return own_name


@pytest.fixture(params=MODES)
def backend(
    request: pytest.FixtureRequest, backend_name: str, monkeypatch: pytest.MonkeyPatch
) -> Backend:
    """Launches over lists as on a CPU, with long rows as by many threads; or captured, as on a GPU.

    The last mode is memory apart from the host's for cpu, and for others what they are. What
    takes a back end by name gets the same mode by `backend.name`.
    """
    ready = working(backend_name)
    if "lists" in request.param and ready.copies:
        pytest.skip(f"{backend_name} makes no lists: the host does not see their lengths at once")
    name = named(request.param, monkeypatch, backend_name)
    return get_backend(name, 2 if backend_name == "cpu" else None)


@pytest.fixture(params=[1, 2, 3], ids="{}-threads".format)
def threaded(request: pytest.FixtureRequest, backend_name: str) -> Backend:
    """One, two or three threads, where a process may choose more than once."""
    ready = working(backend_name)
    if backend_name == "cpu":
        return get_backend("cpu", request.param)
    if request.param > 1:
        pytest.skip("the number of its threads is fixed")
    return ready
