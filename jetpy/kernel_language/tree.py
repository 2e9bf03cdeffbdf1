"""The typed tree of a kernel: what a printer prints.

Every subexpression has the type that C++ would give it, and every conversion, implicit in C++,
is a node of its own. Groups are taken apart and constants are numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Literal:
    """A number, True or False."""

    value: int | float
    type: str


@dataclass(frozen=True)
class Name:
    """A parameter or local variable that is no view."""

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
    """``-``, ``+`` or ``~`` of an operand of the same type."""

    symbol: str
    operand: Expression
    type: str


@dataclass(frozen=True)
class Operation:
    """An arithmetic operation of two operands; they have its type, but for the right one of shifts.

    ``//`` is C's division of integers, which truncates.
    """

    symbol: str
    left: Expression
    right: Expression
    type: str


@dataclass(frozen=True)
class Comparison:
    """A comparison of two operands of one type."""

    symbol: str
    left: Expression
    right: Expression
    type: str = "boolean"


@dataclass(frozen=True)
class Logic:
    """``and`` or ``or`` of booleans: stops at the first that decides."""

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
    """A call of a device function; of a view its name is passed. The type of none is ``none``."""

    name: str
    arguments: tuple[Expression | str, ...]
    type: str


@dataclass(frozen=True)
class Atomic:
    """An atomic operation on an element; its value is the element's from before."""

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
    """Statements that depend on a boolean."""

    test: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class While:
    """A loop for as long as a boolean is true."""

    test: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class For:
    """A loop from `start` to before `stop` by a positive `step`, all of the counter's type.

    `stop` and `step` are literals, or variables that nothing assigns to.
    """

    counter: Name
    start: Expression
    stop: Expression
    step: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return:
    """The end of a function, and its value if it has one."""

    value: Expression | None


@dataclass(frozen=True)
class Evaluation:
    """A call that is made for what it does."""

    call: Call | Atomic


@dataclass(frozen=True)
class Jump:
    """``break`` or ``continue``."""

    word: str


Statement = Declaration | Assignment | Update | If | While | For | Return | Evaluation | Jump
