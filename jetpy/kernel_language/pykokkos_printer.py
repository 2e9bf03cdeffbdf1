"""Prints a workunit, and all that it calls, as one module that PyKokkos translates rightly.

PyKokkos finds device functions in the workunit's own file only. C++ makes the conversions. What
PyKokkos would write as C++ that means something else is printed in a way that it writes rightly.
"""

from __future__ import annotations

import textwrap

from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.signature import Kind
from jetpy.kernel_language.tree import (
    Assignment,
    Atomic,
    Call,
    Comparison,
    Conversion,
    Declaration,
    Element,
    Evaluation,
    Expression,
    For,
    If,
    Jump,
    Literal,
    Logic,
    Name,
    Negation,
    Operation,
    Return,
    Sign,
    Statement,
    Update,
    While,
)
from jetpy.kernel_language.types import View

HEADER = "import pykokkos as pk\n"
TYPES = {
    "boolean": "bool",
    "int32": "int",
    "uint32": "pk.uint32",
    "int64": "pk.int64",
    "uint64": "pk.uint64",
    "float64": "float",
    "none": "None",
}
INDENT = "    "
KEPT = {"acc", "last_pass"}
"""Names by which workunits are known to reduce or scan."""


def print_module(definition: Definition) -> str:
    """Return the source of a module that holds a workunit and the device functions it needs."""
    return "\n\n".join([HEADER, *(_function(used) for used in with_callees([definition]))])


def _function(definition: Definition) -> str:
    is_function = definition.kind is Kind.FUNCTION
    parameters = ", ".join(
        f"{_name(name)}: {_annotation(definition, name, kind)}"
        for name, kind in definition.parameters.items()
    )
    result = f" -> {TYPES[definition.returns or 'none']}" if is_function else ""
    decorator = "@pk.function" if is_function else "@pk.workunit"
    head = f"{decorator}\ndef {definition.name}({parameters}){result}:"
    return "\n".join([head, *_block(definition.body), ""])


def _annotation(definition: Definition, name: str, kind: str | View) -> str:
    if isinstance(kind, View):
        return f"pk.View1D[pk.{'double' if kind.element == 'float64' else kind.element}]"
    is_sum = name == "acc" and definition.kind in (Kind.REDUCE, Kind.SCAN)
    return f"pk.Acc[{TYPES[kind]}]" if is_sum else TYPES[kind]


def _name(name: str) -> str:
    """Return a name that is no keyword of C++, nor of PyKokkos's dispatch."""
    return name if name in KEPT else f"{name}_"


def _block(statements: tuple[Statement, ...]) -> list[str]:
    lines = [line for statement in statements for line in _statement(statement)]
    return textwrap.indent("\n".join(lines or ["pass"]), INDENT).splitlines()


def _statement(node: Statement) -> list[str]:
    match node:
        case Declaration(Name(name, kind), value):
            return [f"{_name(name)}: {TYPES[kind]} = {_text(value)}"]
        case Assignment(target, value):
            return [f"{_text(target)} = {_text(value)}"]
        case Update(target, symbol, operand):
            return [f"{_text(target)} {symbol}= {_text(operand)}"]
        case If(test, body, otherwise):
            rest = ["else:", *_block(otherwise)] if otherwise else []
            return [f"if {_text(test)}:", *_block(body), *rest]
        case While(test, body):
            return [f"while {_text(test)}:", *_block(body)]
        case For(Name(name), start, stop, body):
            bounds = f"{_guarded(start)}, {_guarded(stop)}"
            return [f"for {_name(name)} in range({bounds}):", *_block(body)]
        case Return(value):
            result = "" if value is None else f" {_text(value)}"
            return [f"return{result}"]
        case Evaluation(call):
            return [_text(call)]
        case Jump(word):
            return [word]


def _text(node: Expression) -> str:
    match node:
        case Literal(value):
            return f"({value!r})" if value < 0 else repr(value)
        case Name(name):
            return _name(name)
        case Element(view, index):
            return f"{_name(view)}[{_text(index)}]"
        case Conversion(operand):
            return _text(operand)
        case Sign(symbol, operand):
            return f"({symbol}{_text(operand)})"
        case Operation(symbol, left, right):
            return f"({_text(left)} {symbol} {_text(right)})"
        case Comparison(symbol, left, right):
            return f"({_guarded(left)} {symbol} {_guarded(right)})"
        case Logic("or", operands):
            return "(" + " or ".join(map(_text, operands)) + ")"
        case Logic(_, operands):
            return "(" + " and ".join(map(_guarded, operands)) + ")"
        case Negation(operand):
            return f"(not {_text(operand)})"
        case Call(name, arguments):
            given = [_name(a) if isinstance(a, str) else _guarded(a) for a in arguments]
            return f"{name}({', '.join(given)})"
        case Atomic(operation, Element(view, index), operands):
            given = [_name(view), f"[{_text(index)}]", *map(_text, operands)]
            return f"pk.{operation}({', '.join(given)})"


def _guarded(node: Expression) -> str:
    """Negate a logical expression twice: the operand of `not` is written in parentheses.

    PyKokkos writes ``(a or b) and c`` as ``a || b && c``, ``(a and b) == c`` as
    ``a && b == c``, and the bounds of a range end up in a comparison.
    """
    while isinstance(node, Conversion):
        node = node.operand
    return f"(not (not {_text(node)}))" if isinstance(node, Logic) else _text(node)
