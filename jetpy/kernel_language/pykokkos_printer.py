"""Prints a workunit and all its callees as one module that PyKokkos translates correctly.

PyKokkos finds device functions only in the file of the workunit. C++ makes the conversions. Code
that PyKokkos would translate to C++ with another meaning is printed in an equivalent form.
"""

from __future__ import annotations

from jetpy.kernel_language import tree
from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.signature import Kind
from jetpy.kernel_language.text_printer import TextPrinter
from jetpy.kernel_language.types import INTEGERS

HEADER = "import pykokkos as pk\n"
FUNCTION = "@pk.function\ndef {name}({parameters}) -> {result}:\n{body}\n"
WORKUNIT = "@pk.workunit\ndef {name}({parameters}):\n{body}\n"


class _Printer(TextPrinter):
    def _operand(self, node: tree.Statement | tree.Expression, part: tree.Expression | str) -> str:
        """Negate a logical expression twice, because PyKokkos parenthesises the operand of `not`.

        PyKokkos writes ``(a or b) and c`` as ``a || b && c``, ``(a and b) == c`` as
        ``a && b == c``, and the bounds of a range end up in a comparison.
        """
        inner = part
        while isinstance(inner, tree.Conversion):
            inner = inner.operand
        match node:
            case tree.Comparison() | tree.Call() | tree.For() | tree.Logic("and"):
                if isinstance(inner, tree.Logic):
                    return f"(not (not {self._text(inner)}))"
        return super()._operand(node, part)


_PRINTER = _Printer(
    types={
        "boolean": "bool",
        "int32": "int",
        "uint32": "pk.uint32",
        "int64": "pk.int64",
        "uint64": "pk.uint64",
        "float64": "float",
        "none": "None",
    },
    elements={kind: f"pk.{kind}" for kind in INTEGERS} | {"float64": "pk.double"},
    forms={
        "Number": "{0}: {1}",
        "View": "{0}: pk.View1D[{1}]",
        "Sum": "{0}: pk.Acc[{1}]",
        "Declaration": "{target}: {type} = {value}",
        "Assignment": "{target} = {value}",
        "Update": "{target} {symbol}= {operand}",
        "If": "if {test}:\n{body}",
        "IfElse": "if {test}:\n{body}\nelse:\n{otherwise}",
        "While": "while {test}:\n{body}",
        "For": "for {counter} in range({start}, {stop}, {step}):\n{body}",
        "Return": "return {value}",
        "ReturnNothing": "return",
        "Evaluation": "{call}",
        "Prefetch": "pass",
        "Jump": "{word}",
        "Element": "{view}[{index}]",
        "Conversion": "{operand}",
        "Sign": "({symbol}{operand})",
        "Operation": "({left} {symbol} {right})",
        "Comparison": "({left} {symbol} {right})",
        "Negation": "(not {operand})",
        "Call": "{name}({arguments})",
        "Atomic": "pk.{operation}({view}, [{index}], {operands})",
    },
    words={"acc": "acc", "last_pass": "last_pass"},  # PyKokkos detects reductions and scans by them
    indent="    ",
    empty="pass",
)


def print_module(definition: Definition) -> str:
    """Return the source of a module with a workunit and the device functions that it calls."""
    functions = [
        _PRINTER.function(used, FUNCTION if used.kind is Kind.FUNCTION else WORKUNIT)
        for used in with_callees([definition])
    ]
    return "\n\n".join([HEADER, *functions])
