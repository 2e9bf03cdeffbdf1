"""Pointers to array elements, and atomic read-modify-write on them by LLVM's instructions.

Device functions get plain pointers: passing arrays would cost seven words and a reference count
each. Names and meaning of the atomics are PyKokkos's: each takes the pointer, the index and the
operand and returns the value from before. All are relaxed (monotonic): a launch ends with a
barrier, and workunits use atomics only where the outcome does not depend on order.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numba.np import arrayobj


@intrinsic
def pointer(typingctx: Any, array: Any) -> tuple[Signature, Any]:
    """Return the address of a contiguous array's first element."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct: Any = arrayobj.make_array(signature.args[0])  # type: ignore[no-untyped-call]
        return struct(context, builder, args[0]).data

    address = types.CPointer(array.dtype)  # type: ignore[no-untyped-call]
    return address(array), codegen


def _fetch(name: str, signed: str, unsigned: str) -> Any:
    def typing(typingctx: Any, base: Any, index: Any, value: Any) -> tuple[Signature, Any]:
        element = base.dtype
        operation = signed if element.signed else unsigned

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = builder.gep(args[0], [args[1]])
            return builder.atomic_rmw(operation, address, args[2], "monotonic")

        return element(base, types.uintp, element), codegen

    typing.__name__ = name
    return intrinsic(typing)


atomic_fetch_add = _fetch("atomic_fetch_add", "add", "add")
atomic_fetch_min = _fetch("atomic_fetch_min", "min", "umin")
atomic_fetch_max = _fetch("atomic_fetch_max", "max", "umax")
atomic_fetch_or = _fetch("atomic_fetch_or", "or", "or")


@intrinsic
def atomic_compare_exchange(
    typingctx: Any, base: Any, index: Any, expected: Any, value: Any
) -> tuple[Signature, Any]:
    """Store `value` if the element equals `expected`; return the value from before."""
    element = base.dtype

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = builder.gep(args[0], [args[1]])
        pair = builder.cmpxchg(address, args[2], args[3], "monotonic", "monotonic")
        return builder.extract_value(pair, 0)

    return element(base, types.uintp, element, element), codegen
