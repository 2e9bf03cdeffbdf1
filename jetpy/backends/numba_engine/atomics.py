"""Atomic read-modify-write on elements of arrays by LLVM's instructions.

Names and meaning of the atomics are PyKokkos's: each takes the pointer, the index and the
operand and returns the value from before. All are relaxed (monotonic): a launch ends with a
barrier, and workunits use atomics only where the outcome does not depend on order.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic


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
