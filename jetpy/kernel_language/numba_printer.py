"""Prints definitions as Python that Numba compiles: every conversion is a call of its type.

Views are pointers; functions that add up return the accumulator.
"""

from __future__ import annotations

import textwrap

from jetpy.kernel_language.definition import Definition, Kind
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

INDENT = "    "
_CALLS = {"//": "c_divide", "%": "c_remainder"}


def print_function(definition: Definition) -> str:
    """Return the source of one definition, decorated as an inlined device function."""
    sums_up = definition.kind in (Kind.REDUCE, Kind.SCAN)
    casts = [
        f"{n} = {kind}({n})" for n, kind in definition.parameters.items() if isinstance(kind, str)
    ]
    lines = [*casts, *_lines(definition.body, sums_up), *(["return acc"] if sums_up else [])]
    body = textwrap.indent("\n".join(lines or ["pass"]), INDENT)
    return f"@device\ndef {definition.name}({', '.join(definition.parameters)}):\n{body}\n"


def _block(statements: tuple[Statement, ...], sums_up: bool) -> list[str]:
    return [INDENT + line for line in _lines(statements, sums_up) or ["pass"]]


def _lines(statements: tuple[Statement, ...], sums_up: bool) -> list[str]:
    return [line for statement in statements for line in _statement(statement, sums_up)]


def _statement(node: Statement, sums_up: bool) -> list[str]:
    match node:
        case Declaration(target, value) | Assignment(target, value) | Update(target, value=value):
            return [f"{_expression(target)} = {_expression(value)}"]
        case If(test, body, otherwise):
            rest = ["else:", *_block(otherwise, sums_up)] if otherwise else []
            return [f"if {_expression(test)}:", *_block(body, sums_up), *rest]
        case While(test, body):
            return [f"while {_expression(test)}:", *_block(body, sums_up)]
        case For(Name(name, kind), start, stop, body):
            bounds = f"{_expression(start)}, {_expression(stop)}"
            first = f"{INDENT}{name} = {kind}(_{name})"
            return [f"for _{name} in range({bounds}):", first, *_block(body, sums_up)]
        case Return(value):
            result = "acc" if sums_up else "" if value is None else _expression(value)
            return [f"return {result}".rstrip()]
        case Evaluation(call):
            return [_expression(call)]
        case Jump(word):
            return [word]


def _expression(node: Expression) -> str:
    match node:
        case Literal(value, "boolean"):
            return str(value)
        case Literal(value, kind):
            return f"{kind}({value!r})"
        case Name(name):
            return name
        case Element(view, index):
            return f"{view}[{_place(index)}]"
        case Conversion(operand, kind):
            return f"{kind}({_expression(operand)})"
        case Sign(symbol, operand, kind):
            return f"{kind}({symbol}{_expression(operand)})"
        case Operation(symbol, left, right, kind):
            sides = _expression(left), _expression(right)
            if symbol in _CALLS:
                return f"{_CALLS[symbol]}({', '.join(sides)})"
            return f"{kind}({f' {symbol} '.join(sides)})"
        case Comparison(symbol, left, right):
            return f"({_expression(left)} {symbol} {_expression(right)})"
        case Logic(word, operands):
            return "(" + f" {word} ".join(map(_expression, operands)) + ")"
        case Negation(operand):
            return f"(not {_expression(operand)})"
        case Call(name, arguments):
            given = [a if isinstance(a, str) else _expression(a) for a in arguments]
            return f"{name}({', '.join(given)})"
        case Atomic(operation, Element(view, index), operands):
            given = [view, _place(index), *map(_expression, operands)]
            return f"{operation}({', '.join(given)})"


def _place(index: Expression) -> str:
    return f"uintp({_expression(index)})"
