"""What threads tell each other by, and calls by address: LLVM's instructions and POSIX threads.

Pointers are to int64 words. What a thread wrote before a store is seen by whoever loads what was
stored; loads and exchanges are in one order for all threads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core.typing.templates import Signature

_pointer: Any = types.CPointer
WORD = _pointer(types.int64)
_I64 = ir.IntType(64)
intrinsic: Any = extending.intrinsic


def _external(name: str, result: Any, *arguments: Any) -> Any:
    function: Any = types.ExternalFunction
    return function(name, result(*arguments))


sched_yield = _external("sched_yield", types.int32)
mutex_init = _external("pthread_mutex_init", types.int32, WORD, types.intp)
mutex_lock = _external("pthread_mutex_lock", types.int32, WORD)
mutex_unlock = _external("pthread_mutex_unlock", types.int32, WORD)
condition_init = _external("pthread_cond_init", types.int32, WORD, types.intp)
condition_wait = _external("pthread_cond_wait", types.int32, WORD, WORD)
condition_signal = _external("pthread_cond_signal", types.int32, WORD)


@intrinsic
def words_at(typingctx: Any, address: Any) -> tuple[Signature, Any]:
    """Return a pointer to the words at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _I64.as_pointer())

    return WORD(types.int64), codegen


@intrinsic
def elements_at(typingctx: Any, address: Any, example: Any) -> tuple[Signature, Any]:
    """Return a pointer to the elements at an address, which are of the type of an example."""
    pointer = _pointer(example)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(pointer))

    return pointer(types.int64, example), codegen


@intrinsic
def float_of(typingctx: Any, word: Any) -> tuple[Signature, Any]:
    """Return the float64 that has the bits of a word."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def after(typingctx: Any, words: Any, count: Any) -> tuple[Signature, Any]:
    """Return a pointer to the words after the first `count`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return WORD(WORD, types.int64), codegen


@intrinsic
def load(typingctx: Any, words: Any) -> tuple[Signature, Any]:
    """Return the first word."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(args[0], "seq_cst", 8)

    return types.int64(WORD), codegen


@intrinsic
def store(typingctx: Any, words: Any, value: Any) -> tuple[Signature, Any]:
    """Store the first word."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], args[0], "release", 8)
        return context.get_dummy_value()

    return types.void(WORD, types.int64), codegen


def _exchange(operation: str) -> Any:
    def typing(typingctx: Any, words: Any, value: Any) -> tuple[Signature, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.atomic_rmw(operation, args[0], args[1], "seq_cst")

        return types.int64(WORD, types.int64), codegen

    return intrinsic(typing)


exchange = _exchange("xchg")
fetch_add = _exchange("add")
"""Store a word, or add to it; return what was there."""


@intrinsic
def compare_exchange(
    typingctx: Any, words: Any, expected: Any, value: Any
) -> tuple[Signature, Any]:
    """Store the first word if it is what is expected; return what was there."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pair = builder.cmpxchg(*args, "seq_cst", "seq_cst")
        return builder.extract_value(pair, 0)

    return types.int64(WORD, types.int64, types.int64), codegen


@intrinsic
def pause(typingctx: Any) -> tuple[Signature, Any]:
    """Let the other thread of a core go ahead while this one waits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if "x86" in builder.module.triple:
            kind = ir.FunctionType(ir.VoidType(), [])
            wait = builder.module.declare_intrinsic("llvm.x86.sse2.pause", fnty=kind)
            builder.call(wait, [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def call_range(
    typingctx: Any, function: Any, start: Any, stop: Any, acc: Any, last: Any, block: Any
) -> tuple[Signature, Any]:
    """Call the range of a workunit (`source`) by its address."""
    kind = ir.FunctionType(_I64, [_I64, _I64, _I64, _I64, _I64])

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 6), codegen
