"""Prints functions as text of a language with the same statements, by a table of forms."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jetpy.kernel_language import tree
from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.signature import Kind
from jetpy.kernel_language.types import View


@dataclass(frozen=True)
class TextPrinter:
    """A language, and a printer of functions in it.

    Attributes
    ----------
    types, elements : mapping of str to str
        Names of scalar and result types, and of the element types of views.
    forms : mapping of str to str
        Format of each node class, with the node's parts as fields. ``IfElse`` and
        ``ReturnNothing`` have separate forms. Parameters have the forms ``Number``, ``View`` and
        ``Sum``.
    words : mapping of str to str
        Operators, literals and variables with another spelling than in Python.
    suffixes : mapping of str to str
        Suffixes of literals, by type.
    indent, empty : str
        Indentation of a block, and text of an empty block.
    """

    types: Mapping[str, str]
    elements: Mapping[str, str]
    forms: Mapping[str, str]
    words: Mapping[str, str]
    suffixes: Mapping[str, str] = field(default_factory=dict)
    indent: str = "  "
    empty: str = ""

    def function(self, definition: Definition, form: str) -> str:
        """Print a function in a form with its name, parameters, result type and body."""
        sums_up = definition.kind in (Kind.REDUCE, Kind.SCAN)
        return form.format(
            name=definition.name,
            parameters=", ".join(
                self._parameter(name, kind, is_sum=sums_up and name == "acc")
                for name, kind in definition.parameters.items()
            ),
            result=self.types[definition.returns or "none"],
            body=self._block(definition.body),
        )

    def _parameter(self, name: str, kind: str | View, *, is_sum: bool) -> str:
        if isinstance(kind, View):
            return self.forms["View"].format(self._variable(name), self.elements[kind.element])
        form = self.forms["Sum" if is_sum else "Number"]
        return form.format(self._variable(name), self.types[kind])

    def _variable(self, name: str) -> str:
        """Return a name that is not a keyword of the language."""
        return self.words.get(name, f"{name}_")

    def _block(self, statements: tuple[tree.Statement, ...]) -> str:
        lines = [self._text(statement) for statement in statements] or [self.empty]
        return textwrap.indent("\n".join(lines), self.indent)

    def _text(self, node: tree.Statement | tree.Expression) -> str:
        form, parts = type(node).__name__, vars(node)
        match node:
            case tree.Name(name):
                return self._variable(name)
            case tree.Literal(value, kind):
                text = self.words.get(repr(value), repr(value)) + self.suffixes.get(kind, "")
                return f"({text})" if value < 0 else text
            case tree.Logic(word, operands):
                texts = [self._operand(node, operand) for operand in operands]
                return f"({f' {self.words.get(word, word)} '.join(texts)})"
            case tree.If(otherwise=(_, *_)):
                form = "IfElse"
            case tree.Return(None):
                form = "ReturnNothing"
            case tree.Declaration(inner) | tree.For(inner) | tree.Atomic(element=inner):
                parts = vars(inner) | parts
        return self.forms[form].format(
            **{name: self._part(node, name, part) for name, part in parts.items()}
        )

    def _part(self, node: tree.Statement | tree.Expression, name: str, part: Any) -> str:
        match name:
            case "type":
                return self.types[part]
            case "view":
                return self._variable(part)
            case "body" | "otherwise":
                return self._block(part)
            case "arguments" | "operands":
                return ", ".join(self._operand(node, operand) for operand in part)
            case "name" | "operation" | "symbol" | "word":
                return self.words.get(part, part)
        return "" if part is None else self._operand(node, part)

    def _operand(self, node: tree.Statement | tree.Expression, part: tree.Expression | str) -> str:
        """Print an operand of a node; a view becomes its name."""
        return self._variable(part) if isinstance(part, str) else self._text(part)
