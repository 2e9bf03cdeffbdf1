"""The typed tree of a kernel, which the printers print.

Every subexpression has its C++ type, and every implicit conversion of C++ is a separate node.
Groups are expanded, and constants are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Literal:
    """A number, True or False."""

    value: int | float
    type: str


@dataclass(frozen=True)
class Name:
    """A parameter or local variable that is not a view."""

    name: str
    type: str


@dataclass(frozen=True)
class Element:
    """An element of a view."""

    view: str
    index: Expression
    type: str


@dataclass(frozen=True)
class Conversion:
    """An operand that C++ converts implicitly to another type."""

    operand: Expression
    type: str


@dataclass(frozen=True)
class Sign:
    """``-``, ``+`` or ``~`` of an operand, with the type of the operand."""

    symbol: str
    operand: Expression
    type: str


@dataclass(frozen=True)
class Operation:
    """An arithmetic operation; both operands have its type, except the right operand of a shift.

    ``//`` is C's integer division, which truncates.
    """

    symbol: str
    left: Expression
    right: Expression
    type: str


@dataclass(frozen=True)
class Comparison:
    """A comparison of two operands of the same type."""

    symbol: str
    left: Expression
    right: Expression
    type: str = "boolean"


@dataclass(frozen=True)
class Logic:
    """``and`` or ``or`` of booleans, with short-circuit evaluation."""

    word: str
    operands: tuple[Expression, ...]
    type: str = "boolean"


@dataclass(frozen=True)
class Negation:
    """``not`` of a boolean."""

    operand: Expression
    type: str = "boolean"


@dataclass(frozen=True)
class Call:
    """A call of a device function; views are passed by name. Without a result, type is ``none``."""

    name: str
    arguments: tuple[Expression | str, ...]
    type: str


@dataclass(frozen=True)
class Atomic:
    """An atomic operation on an element; its value is the old value of the element."""

    operation: str
    element: Element
    operands: tuple[Expression, ...]
    type: str


Expression = (
    Literal
    | Name
    | Element
    | Conversion
    | Sign
    | Operation
    | Comparison
    | Logic
    | Negation
    | Call
    | Atomic
)


@dataclass(frozen=True)
class Declaration:
    """A new variable and its value."""

    target: Name
    value: Expression


@dataclass(frozen=True)
class Assignment:
    """A new value of a variable or element."""

    target: Name | Element
    value: Expression


@dataclass(frozen=True)
class Update:
    """``target symbol= operand``; `value` is the new value in full."""

    target: Name | Element
    symbol: str
    operand: Expression
    value: Expression


@dataclass(frozen=True)
class If:
    """Statements with a condition."""

    test: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class While:
    """A loop with a condition."""

    test: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class For:
    """A loop from `start` to `stop` (exclusive) by a positive `step`, all of the counter's type.

    `stop` and `step` are literals, or variables that are never assigned to.
    """

    counter: Name
    start: Expression
    stop: Expression
    step: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return:
    """The end of a function, with its value if it has one."""

    value: Expression | None


@dataclass(frozen=True)
class Evaluation:
    """A call whose value is not used."""

    call: Call | Atomic


@dataclass(frozen=True)
class Prefetch:
    """A hint that an element will be needed soon; its index may be out of range."""

    element: Element


@dataclass(frozen=True)
class Jump:
    """``break`` or ``continue``."""

    word: str


Statement = (
    Declaration | Assignment | Update | If | While | For | Return | Evaluation | Prefetch | Jump
)


def nodes(part: Any) -> Iterator[Any]:
    """Return all nodes of a node or of a tuple of nodes, each before its parts."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(reversed(one))
        elif hasattr(one, "__dataclass_fields__"):
            yield one
            waiting.extend(reversed(vars(one).values()))
