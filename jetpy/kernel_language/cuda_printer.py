"""Prints definitions as functions of CUDA C, with explicit conversions.

Views are pointers, and an accumulator is a reference. Atomics are functions of the same names,
which the engine adds (`ATOMICS` in `jetpy.engines.cuda`).
"""

from __future__ import annotations

from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.text_printer import TextPrinter

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
_INLINED = "__device__ __forceinline__"
_CALLED = "static __device__ __noinline__"
_FUNCTION = "{result} {name}({parameters}) {{\n{body}\n}}\n"
_PRINTER = TextPrinter(
    types=TYPES,
    elements=TYPES,
    forms={
        "Number": "{1} {0}",
        "View": "{1}* {0}",
        "Sum": "{1}& {0}",
        "Declaration": "{type} {target} = {value};",
        "Assignment": "{target} = {value};",
        "Update": "{target} = {value};",
        "If": "if ({test}) {{\n{body}\n}}",
        "IfElse": "if ({test}) {{\n{body}\n}} else {{\n{otherwise}\n}}",
        "While": "while ({test}) {{\n{body}\n}}",
        "For": "for ({type} {counter} = {start}; {counter} < {stop}; {counter} += {step})"
        " {{\n{body}\n}}",
        "Return": "return {value};",
        "ReturnNothing": "return;",
        "Evaluation": "{call};",
        "Prefetch": ";",
        "Jump": "{word};",
        "Element": "{view}[{index}]",
        "Conversion": "({type})({operand})",
        "Sign": "({symbol}{operand})",
        "Operation": "({left} {symbol} {right})",
        "Comparison": "({left} {symbol} {right})",
        "Negation": "(!{operand})",
        "Call": "{name}({arguments})",
        "Atomic": "{operation}(&{element}, {operands})",
    },
    words={"and": "&&", "or": "||", "//": "/", "True": "true", "False": "false"},
    suffixes={"int64": "LL"},
)


def print_function(definition: Definition, *, inlined: bool = True) -> str:
    """Return the source of one definition."""
    return _PRINTER.function(definition, f"{_INLINED if inlined else _CALLED} {_FUNCTION}")
