"""Integer division and remainder as C defines them: truncated toward zero."""

from __future__ import annotations

from typing import Any

from numba.core.typing.templates import Signature
from numba.extending import intrinsic


def _truncating(signed: str, unsigned: str) -> Any:
    def typing(typingctx: Any, a: Any, b: Any) -> tuple[Signature, Any]:
        instruction = signed if a.signed else unsigned

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args)

        return a(a, a), codegen

    return intrinsic(typing)


c_divide = _truncating("sdiv", "udiv")
c_remainder = _truncating("srem", "urem")
