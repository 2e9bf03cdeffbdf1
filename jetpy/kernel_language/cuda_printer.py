"""Prints definitions as functions of CUDA C, with every conversion written out.

Views are pointers, an accumulator is a reference. Atomics are functions of the same names, which
whoever compiles this adds (`ATOMICS` in `jetpy.engines.cuda`).
"""

from __future__ import annotations

import textwrap

from jetpy.kernel_language.definition import Definition
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

TYPES = {
    "boolean": "bool",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
    "none": "void",
}
INDENT = "  "
_SUFFIXES = {"int64": "LL"}
_WORDS = {"and": "&&", "or": "||"}
_SYMBOLS = {"//": "/"}


def print_function(definition: Definition) -> str:
    """Return the source of one definition."""
    result = TYPES[definition.returns or "none"]
    parameters = ", ".join(_parameters(definition))
    head = f"__device__ __forceinline__ {result} {definition.name}({parameters})"
    return "\n".join([f"{head} {{", *_block(definition.body), "}", ""])


def _parameters(definition: Definition) -> list[str]:
    sums_up = definition.kind in (Kind.REDUCE, Kind.SCAN)
    return [
        f"{TYPES[kind.element]}* {_name(name)}"
        if isinstance(kind, View)
        else f"{TYPES[kind]}{'&' if sums_up and name == 'acc' else ''} {_name(name)}"
        for name, kind in definition.parameters.items()
    ]


def _name(name: str) -> str:
    """Return a name that is no keyword of C++."""
    return f"{name}_"


def _block(statements: tuple[Statement, ...]) -> list[str]:
    lines = [line for statement in statements for line in _statement(statement)]
    return textwrap.indent("\n".join(lines), INDENT).splitlines()


def _statement(node: Statement) -> list[str]:
    match node:
        case Declaration(Name(name, kind), value):
            return [f"{TYPES[kind]} {_name(name)} = {_expression(value)};"]
        case Assignment(target, value) | Update(target, value=value):
            return [f"{_expression(target)} = {_expression(value)};"]
        case If(test, body, otherwise):
            rest = ["} else {", *_block(otherwise)] if otherwise else []
            return [f"if ({_expression(test)}) {{", *_block(body), *rest, "}"]
        case While(test, body):
            return [f"while ({_expression(test)}) {{", *_block(body), "}"]
        case For(Name(name, kind), start, stop, body):
            i, bounds = _name(name), (_expression(start), _expression(stop))
            head = f"{TYPES[kind]} {i} = {bounds[0]}; {i} < {bounds[1]}; ++{i}"
            return [f"for ({head}) {{", *_block(body), "}"]
        case Return(value):
            result = "" if value is None else f" {_expression(value)}"
            return [f"return{result};"]
        case Evaluation(call):
            return [f"{_expression(call)};"]
        case Jump(word):
            return [f"{word};"]


def _expression(node: Expression) -> str:
    match node:
        case Literal(value, "boolean"):
            return "true" if value else "false"
        case Literal(value, kind):
            return (
                f"({value!r}{_SUFFIXES.get(kind, '')})"
                if value < 0
                else f"{value!r}{_SUFFIXES.get(kind, '')}"
            )
        case Name(name):
            return _name(name)
        case Element(view, index):
            return f"{_name(view)}[{_expression(index)}]"
        case Conversion(operand, kind):
            return f"({TYPES[kind]})({_expression(operand)})"
        case Sign(symbol, operand):
            return f"({symbol}{_expression(operand)})"
        case Operation(symbol, left, right) | Comparison(symbol, left, right):
            return f"({_expression(left)} {_SYMBOLS.get(symbol, symbol)} {_expression(right)})"
        case Logic(word, operands):
            return "(" + f" {_WORDS[word]} ".join(map(_expression, operands)) + ")"
        case Negation(operand):
            return f"(!{_expression(operand)})"
        case Call(name, arguments):
            given = [_name(a) if isinstance(a, str) else _expression(a) for a in arguments]
            return f"{name}({', '.join(given)})"
        case Atomic(operation, element, operands):
            given = [f"&{_expression(element)}", *map(_expression, operands)]
            return f"{operation}({', '.join(given)})"
