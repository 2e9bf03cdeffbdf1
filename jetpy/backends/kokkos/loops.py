"""Loops that a GPU conducts itself: CUDA graphs with conditional nodes.

CuPy has no such nodes, so the graphs are built through the driver's own functions, from launches
that are captured on a stream.
"""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from jetpy.errors import BackendError

OLDEST_DRIVER = 12040
"""CUDA version from which on conditional nodes may be nested."""
CONDITIONAL_NODE, IF, WHILE = 13, 0, 1
RELAXED = 2
"""Mode of capture, in which other functions of CUDA may be called."""
ASSIGN_DEFAULT = 1
"""A condition is reset to its default whenever the graph is launched."""

_SOURCE = r"""
extern "C" __global__ void decide(
    const long long* orders, int choice, int end, unsigned long long loop,
    unsigned long long first, unsigned long long second, unsigned int firsts, unsigned int seconds,
    long long* rounds
) {
    const unsigned int chosen = 1u << orders[choice];
    const bool goes_on = orders[end] == 0;
    cudaGraphSetConditional(loop, goes_on);
    cudaGraphSetConditional(first, goes_on && (firsts & chosen) != 0);
    cudaGraphSetConditional(second, goes_on && (seconds & chosen) != 0);
    rounds[0] += 1;
    if (goes_on && (firsts & chosen) != 0) rounds[1] += 1;
    if (goes_on && (seconds & chosen) != 0) rounds[2] += 1;
}
"""

Launches = Callable[[], None]


class _Condition(ctypes.Structure):
    _fields_ = (
        ("handle", ctypes.c_ulonglong),
        ("kind", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("graphs", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
    )


class _Node(ctypes.Structure):
    """Parameters of a node, as `CUgraphNodeParams`: 256 bytes."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
        ("condition", _Condition),
        ("rest", ctypes.c_byte * (29 * 8 - ctypes.sizeof(_Condition))),
        ("reserved_too", ctypes.c_longlong),
    )


def call(name: str, *arguments: Any) -> None:
    """Call a function of the CUDA driver.

    Raises
    ------
    BackendError
        If it fails.
    """
    code = getattr(_driver(), name)(*arguments)
    if code != 0:
        raise BackendError(f"the CUDA driver's {name} failed with code {code}")


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


@cache
def decider() -> Any:
    """Return the kernel that sets the conditions, or None where the driver has no such nodes."""
    cupy = importlib.import_module("cupy")
    if cupy.cuda.runtime.driverGetVersion() < OLDEST_DRIVER:
        return None
    try:
        return cupy.RawModule(code=_SOURCE, options=("-rdc=true",)).get_function("decide")
    except Exception:  # no compiler or no device runtime to link with: CuPy raises all kinds
        return None


class Loop:
    """Launches that lead to one of two others, again and again, until an order ends it.

    Parameters
    ----------
    stream : CuPy stream
    launches : callables
        Of every round, and of one or two branches.
    numbers : sequences of int below 32
        The choices that lead to each branch.
    choice, end : int
        Places in the orders: of the choice, and of what is not 0 when the loop is to end.
    orders : CuPy array, int64
    rounds : CuPy array, int64
        Counts how often each of the launches are made.

    Raises
    ------
    BackendError
        If the driver fails.
    """

    def __init__(
        self,
        stream: Any,
        launches: Sequence[Launches],
        numbers: Sequence[Sequence[int]],
        choice: int,
        end: int,
        orders: Any,
        rounds: Any,
    ) -> None:
        self._stream, self._kept = stream, (orders, rounds)
        lead, *branches = launches
        graph = ctypes.c_void_p()
        call("cuGraphCreate", ctypes.byref(graph), 0)
        try:
            loop = _handle(graph, 1)
            _, body = _conditional(graph, None, loop, WHILE)
            handles = [_handle(body, 0) for _ in branches]
            masks = [sum(1 << number for number in choices) for choices in numbers]

            def round_() -> None:
                lead()
                places = np.int32(choice), np.int32(end)
                conditions = map(np.uint64, (loop, handles[0], handles[-1]))
                given = orders, *places, *conditions, np.uint32(masks[0]), np.uint32(masks[-1])
                decider()((1,), (1,), (*given, rounds), stream=stream)

            node = self._add_captured(body, round_)
            for branch, handle in zip(branches, handles, strict=True):
                node, inner = _conditional(body, node, handle, IF)
                self._capture(inner, branch)
            executable = ctypes.c_void_p()
            call(
                "cuGraphInstantiateWithFlags",
                ctypes.byref(executable),
                graph,
                ctypes.c_ulonglong(0),
            )
        finally:
            call("cuGraphDestroy", graph)
        self._executable = executable
        weakref.finalize(self, call, "cuGraphExecDestroy", executable)

    def run(self) -> None:
        """Launch the loop; it has ended when the stream is done."""
        call("cuGraphLaunch", self._executable, ctypes.c_void_p(self._stream.ptr))

    def _capture(self, graph: ctypes.c_void_p, launches: Launches) -> None:
        """Put launches into an empty graph."""
        stream, same = ctypes.c_void_p(self._stream.ptr), ctypes.c_void_p()
        none = ctypes.c_size_t(0)
        call("cuStreamBeginCaptureToGraph", stream, graph, None, None, none, RELAXED)
        try:
            with self._stream:
                launches()
        finally:
            call("cuStreamEndCapture", stream, ctypes.byref(same))

    def _add_captured(self, graph: ctypes.c_void_p, launches: Launches) -> ctypes.c_void_p:
        """Put launches into a graph as its first node, and return that."""
        stream, child, node = (
            ctypes.c_void_p(self._stream.ptr),
            ctypes.c_void_p(),
            ctypes.c_void_p(),
        )
        call("cuStreamBeginCapture_v2", stream, RELAXED)
        try:
            with self._stream:
                launches()
        finally:
            call("cuStreamEndCapture", stream, ctypes.byref(child))
        none = ctypes.c_size_t(0)
        call("cuGraphAddChildGraphNode", ctypes.byref(node), graph, None, none, child)
        call("cuGraphDestroy", child)
        return node


def _handle(graph: ctypes.c_void_p, default: int) -> int:
    """Return the handle of a new condition in a graph."""
    handle, context = ctypes.c_ulonglong(), ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    call(
        "cuGraphConditionalHandleCreate",
        ctypes.byref(handle),
        graph,
        context,
        default,
        ASSIGN_DEFAULT,
    )
    return int(handle.value)


def _conditional(
    graph: ctypes.c_void_p, after: ctypes.c_void_p | None, handle: int, kind: int
) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
    """Add a conditional node after another one; return it and the graph that it runs."""
    context, node = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    given = _Node(kind=CONDITIONAL_NODE)
    given.condition.handle, given.condition.kind = handle, kind
    given.condition.size, given.condition.context = 1, context
    count = ctypes.c_size_t(0 if after is None else 1)
    before = None if after is None else ctypes.byref(after)
    call("cuGraphAddNode", ctypes.byref(node), graph, before, count, ctypes.byref(given))
    return node, ctypes.c_void_p(given.condition.graphs[0])
