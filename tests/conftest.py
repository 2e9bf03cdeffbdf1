from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import cache, wraps
from inspect import signature
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # other tests need the other cores

import pytest
from hypothesis import HealthCheck, note, settings

from jetpy.device.backends import BACKENDS, get_backend, kernel_modules
from jetpy.engines.base import Backend
from jetpy.errors import BackendError
from jetpy.graph import scaling
from jetpy.graph.csr import INT32_MAX
from tests.device_backend import DeviceBackend
from tests.modules import Load, load_workunits

settings.register_profile(
    "jetpy",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("jetpy")

MODES = ("lists", "lists and long rows", "captured", "long rows", "apart")
FEW_INDICES = 1 << 12
"""Indices of captured launches; the number that a GPU uses takes long on a CPU."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        action="append",
        choices=list(BACKENDS),
        help="Back end for the tests of stages, cpu by default; can be repeated.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once, before worker processes start and compile them concurrently."""
    if not hasattr(session.config, "workerinput"):
        for name in dict.fromkeys(["cpu", *(session.config.getoption("backend") or [])]):
            _compiled_backend(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend_name" in metafunc.fixturenames:
        names = metafunc.config.getoption("backend") or ["cpu"]
        metafunc.parametrize("backend_name", dict.fromkeys(names))
    if {"backend", "backend_name"} <= {*metafunc.fixturenames}:
        modes = {mode: (mode,) for mode in MODES}
        own = getattr(metafunc.function, "hypothesis", None)
        if own and "backend" in signature(own.inner_test).parameters:
            modes = {"all modes": MODES}
            own.inner_test = in_each_mode(own.inner_test)
        metafunc.parametrize("backend", modes.values(), ids=modes, indirect=True)


def in_each_mode(test: Callable[..., None]) -> Callable[..., None]:
    """Check each example of a property in one mode after another, so that it is drawn only once.

    Properties that use `backend` only through another fixture run once for each mode.
    """

    @wraps(test)
    def in_modes(backend: list[Backend], **given: Any) -> None:
        for engine in backend:
            note(engine.name)
            test(backend=engine, **given)

    return in_modes


@cache
def _compiled_backend(name: str) -> Backend | str:
    """Return a back end with compiled kernels, or the reason why it does not work."""
    try:
        backend = get_backend(name)
    except BackendError as error:
        return str(error)
    backend.compile(kernel_modules())
    return backend


def require_backend(name: str) -> Backend:
    """Return a back end, or skip the test if it does not work on this machine."""
    found = _compiled_backend(name)
    if isinstance(found, str):
        pytest.skip(f"{name}: {found}")
    return found


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt this process, even if pytest runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def unscaled() -> None:
    """Let the first scaling of each test be reported."""
    scaling.SCALED_ONCE.clear()


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a cache folder that does not exist yet."""
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Return a function that imports a module of workunits from its text."""
    return lambda text: load_workunits(text, tmp_path, monkeypatch)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of pages empty, for tests that compare only text."""

    def save(figure: Any, file: Any, **options: Any) -> None:
        file.write('<svg width="1pt" height="1pt"/>')

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", save)


@pytest.fixture(scope="session")
def cupy() -> Any:
    """Return CuPy, if it finds a GPU."""
    require_backend("cuda")
    return pytest.importorskip("cupy")


def backend_in_mode(mode: str, name: str, threads: int | None) -> Backend:
    """Return a new back end that launches in a mode."""
    if mode == "apart" and name == "cpu":
        return DeviceBackend(threads)
    engine = BACKENDS[name](threads, None)
    if mode != "apart":
        engine.is_asynchronous = "lists" not in mode
        engine.warp_size = 1 if "lists" in mode else 32
        engine.longest_row = 3 if "long rows" in mode else INT32_MAX
    return engine


def register_mode(mode: str, monkeypatch: pytest.MonkeyPatch, name: str = "cpu") -> str:
    """Register a mode of a back end under a new name for `backend=`, and return the name."""
    own_name = f"{name}, {mode}"

    def make(threads: int | None, device: int | None) -> Backend:
        engine = backend_in_mode(mode, name, threads)
        engine.name = own_name
        return engine

    monkeypatch.setitem(BACKENDS, own_name, make)
    monkeypatch.setattr("jetpy.refinement.launches.INDICES", FEW_INDICES)
    return own_name


@pytest.fixture
def backend(
    request: pytest.FixtureRequest, backend_name: str, monkeypatch: pytest.MonkeyPatch
) -> Backend | list[Backend]:
    """Return a back end in one mode: lists as on a CPU, or captured launches as on a GPU.

    With "long rows", long rows are handled as with many threads. "apart" is `cpu` with separate
    memory; other back ends run unchanged. Functions that take a name get `backend.name`.
    Property-based tests run in all modes, see `in_each_mode`.
    """
    ready = require_backend(backend_name)
    modes = [mode for mode in request.param if "lists" not in mode or not ready.copies]
    if not modes:
        pytest.skip(f"{backend_name} makes no lists, because the host does not know their lengths")
    names = [register_mode(mode, monkeypatch, backend_name) for mode in modes]
    found = [get_backend(name, 2 if backend_name == "cpu" else None) for name in names]
    return found[0] if len(request.param) == 1 else found


@pytest.fixture(params=[1, 2, 3], ids="{}-threads".format)
def threaded(request: pytest.FixtureRequest, backend_name: str) -> Backend:
    """Return a back end with one, two or three threads, if a process can choose the number."""
    ready = require_backend(backend_name)
    if backend_name == "cpu":
        return get_backend("cpu", request.param)
    if request.param > 1:
        pytest.skip("the number of its threads is fixed")
    return ready
