"""Mutations of a source text: small changes at one position, found in its syntax tree."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Signatures = Mapping[str, Sequence[str]]
"""Annotations of the parameters by function name."""
_COMPARISONS: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
_SUMS: Mapping[type[ast.operator], tuple[str, str]] = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
_EXTREMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "atomic_fetch_min": "atomic_fetch_max",
    "atomic_fetch_max": "atomic_fetch_min",
}
_NO_SWAPS = {*_EXTREMES, "isinstance", "atomic_fetch_add", "atomic_fetch_or"}
"""Functions whose arguments have no order, or have different kinds."""


@dataclass(frozen=True)
class Mutation:
    """A change of a source text.

    Attributes
    ----------
    line : int
        First line of the change, from 1.
    kind : str
    start, end : int
        Range of bytes that it replaces.
    before, after : str
        The text before and after the change.
    """

    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{' '.join(self.before.split())} -> {' '.join(self.after.split())}"

    def applied(self, text: bytes) -> bytes:
        """Return the text after the change."""
        return text[: self.start] + self.after.encode() + text[self.end :]


def signatures_of(texts: Sequence[bytes]) -> Signatures:
    """Return the annotations of the parameters of all functions with a unique name."""
    found: dict[str, Sequence[str]] = {}
    twice = set()
    for node in itertools.chain.from_iterable(ast.walk(ast.parse(text)) for text in texts):
        if isinstance(node, ast.FunctionDef):
            given = [ast.unparse(a.annotation) if a.annotation else "" for a in node.args.args]
            if found.setdefault(node.name, given) != given:
                twice.add(node.name)
    return {name: given for name, given in found.items() if name not in twice}


def mutations_of(text: bytes, signatures: Signatures) -> list[Mutation]:
    """Return all mutations of the function bodies of a text."""
    source = _Source(text, signatures)
    found = itertools.chain.from_iterable(source.of(node) for node in _computing(ast.parse(text)))
    return sorted(set(found), key=lambda m: (m.start, m.end, m.kind, m.after))


def _computing(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of all function bodies, except types, decorators and messages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Raise | ast.JoinedStr | ast.Assert):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name != "annotation":
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _below(child)


class _Source:
    """A source text and the offsets of its lines."""

    def __init__(self, text: bytes, signatures: Signatures) -> None:
        self._text, self._signatures = text, signatures
        self._starts = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]

    def of(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield the mutations of a node, without those of its children."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                yield from self._operator("comparison", left, right, *_COMPARISONS[type(op)])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUMS:
                if not any(isinstance(side, ast.List | ast.Tuple) for side in (left, right)):
                    yield from self._operator("sum", left, right, *_SUMS[type(op)])
            case ast.BoolOp(op=op, values=values):
                words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for left, right in itertools.pairwise(values):
                    yield from self._operator("and, or", left, right, *words)
            case ast.Constant(value=value) if type(value) is int:
                others = {value + 1, value - 1} if value else {1}
                for other in others - {-1}:
                    yield self._replaced("constant", node, str(other))
            case ast.Subscript(value=array, slice=index, ctx=ast.Load()):
                is_called = self._text[self._span(node)[1] :].startswith(b".")
                one = not is_called and not isinstance(index, ast.Slice)
                if one and _name(array).endswith("weights"):
                    yield self._replaced("weight", node, "1")
            case ast.Call(func=function, args=arguments):
                yield from self._of_call(function, arguments)
            case ast.Assign(targets=[ast.Subscript()]):
                yield self._replaced("statement", node, "pass")
            case ast.AugAssign(target=target, op=op, value=value):
                if isinstance(target, ast.Subscript):
                    yield self._replaced("statement", node, "pass")
                if type(op) in _SUMS:
                    signs = (f"{sign}=" for sign in _SUMS[type(op)])
                    yield from self._operator("sum", target, value, *signs)
            case ast.Expr(value=ast.Call(func=function, args=arguments) as call):
                if _name(function).startswith("atomic_"):
                    yield self._replaced("atomic", node, "pass")
                if _name(function) == "atomic_fetch_add":
                    array, places, value = (self._of_node(argument) for argument in arguments)
                    yield self._replaced("atomic", call, f"{array}{places} += {value}")
            case ast.Break() | ast.Continue():
                yield self._replaced("jump", node, "pass")

    def _of_call(self, function: ast.expr, arguments: list[ast.expr]) -> Iterator[Mutation]:
        name = _name(function)
        if name in _EXTREMES:
            whole = self._of_node(function)
            yield self._replaced("min, max", function, whole.removesuffix(name) + _EXTREMES[name])
        for (i, a), (j, b) in itertools.combinations(enumerate(arguments), 2):
            if self._are_alike(name, i, a, j, b):
                between = self._text[self._span(a)[1] : self._span(b)[0]].decode()
                swapped = f"{self._of_node(b)}{between}{self._of_node(a)}"
                yield self._mutation("arguments", self._span(a)[0], self._span(b)[1], swapped)

    def _are_alike(self, name: str, i: int, a: ast.expr, j: int, b: ast.expr) -> bool:
        """Return whether two arguments have the same type or form, so that a swap is a mutation."""
        if name in _NO_SWAPS or self._of_node(a) == self._of_node(b):
            return False
        types = self._signatures.get(name)
        if types is not None and j < len(types):
            return types[i] == types[j] and not isinstance(a, ast.Starred)
        return type(a) is type(b) and isinstance(a, ast.Name | ast.Attribute | ast.Subscript)

    def _operator(
        self, kind: str, left: ast.AST, right: ast.AST, before: str, after: str
    ) -> Iterator[Mutation]:
        """Yield the mutation of the operator between two nodes."""
        first, last = self._span(left)[1], self._span(right)[0]
        between = re.sub(rb"#[^\n]*", lambda found: b" " * len(found[0]), self._text[first:last])
        start = between.index(before.encode()) + first
        yield self._mutation(kind, start, start + len(before), after)

    def _replaced(self, kind: str, node: ast.AST, after: str) -> Mutation:
        return self._mutation(kind, *self._span(node), after)

    def _mutation(self, kind: str, start: int, end: int, after: str) -> Mutation:
        line = self._text.count(b"\n", 0, start) + 1
        return Mutation(line, kind, start, end, self._text[start:end].decode(), after)

    def _of_node(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._text[start:end].decode()

    def _span(self, node: ast.AST) -> tuple[int, int]:
        """Return the first byte of a node and the one after its last."""
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset


def _name(node: ast.expr) -> str:
    """Return "c" for the expression a.b.c, and "" for expressions that are not names."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
