"""Prints workunits and device functions as CUDA C, whose conversions are what they mean."""

from __future__ import annotations

import ast
import textwrap

from jetpy.backends.numba_engine.translate import (
    _ATOMICS,
    _SCALARS,
    _SYMBOLS,
    Definition,
    Kind,
    View,
    _common,
    _Writer,
)

C_TYPES = {
    "boolean": "bool",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}


def c_type(kind: str | View) -> str:
    """Return the C type of a parameter."""
    return f"{C_TYPES[kind.element]}*" if isinstance(kind, View) else C_TYPES[kind]


def device_function(definition: Definition, known: dict[str, Definition]) -> str:
    """Return a definition as a device function."""
    return _Printer(definition, known).function()


class _Printer:
    def __init__(self, definition: Definition, known: dict[str, Definition]) -> None:
        self.definition, self.known = definition, known
        self.types: dict[str, str | View] = dict(definition.parameters)
        self.typing = _Writer(definition, known)

    def function(self) -> str:
        parameters = []
        for name, kind in self.definition.parameters.items():
            is_sum = name == "acc" and self.definition.kind in (Kind.REDUCE, Kind.SCAN)
            parameters.append(f"{c_type(kind)}{'&' if is_sum else ''} {name}_")
        returns = C_TYPES[self.definition.returns] if self.definition.returns else "void"
        head = f"__device__ __forceinline__ {returns} {self.definition.name}"
        return f"{head}({', '.join(parameters)}) {{\n{self.block(self.definition.tree.body)}\n}}\n"

    def block(self, statements: list[ast.stmt]) -> str:
        return textwrap.indent("\n".join(filter(None, map(self.statement, statements))), "  ")

    def statement(self, node: ast.stmt) -> str:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=note, value=ast.expr() as value
            ):
                kind = _SCALARS[ast.unparse(note).removeprefix("pk.")]
                self.types[name] = self.typing.types[name] = kind
                return f"{C_TYPES[kind]} {name}_ = {self.print(value)};"
            case ast.Assign(targets=[target], value=value):
                return f"{self.print(target)} = {self.print(value)};"
            case ast.AugAssign(target=target, op=ast.FloorDiv(), value=value):
                return f"{self.print(target)} /= {self.print(value)};"
            case ast.AugAssign(target=target, op=op, value=value):
                return f"{self.print(target)} {_symbol(op)}= {self.print(value)};"
            case ast.If(test=test, body=body, orelse=orelse):
                rest = f" else {{\n{self.block(orelse)}\n}}" if orelse else ""
                return f"if ({self.print(test)}) {{\n{self.block(body)}\n}}{rest}"
            case ast.While(test=test, body=body):
                return f"while ({self.print(test)}) {{\n{self.block(body)}\n}}"
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=args), body=body):
                self.types[name] = self.typing.types[name] = "int32"
                first, last = ["0", *map(self.print, args)][-2:]
                head = f"int {name}_ = {first}; {name}_ < {last}; {name}_++"
                return f"for ({head}) {{\n{self.block(body)}\n}}"
            case ast.Return(value=value):
                return f"return {self.print(value)};" if value else "return;"
            case ast.Expr(value=ast.Call() as call):
                return f"{self.print(call)};"
            case ast.Break():
                return "break;"
            case ast.Continue():
                return "continue;"
        return ""

    def print(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool() as flag):
                return str(flag).lower()
            case ast.Constant(value=int() as number):
                return f"{number}" if number < 2**31 else f"{number}LL"
            case ast.Constant(value=number):
                return repr(number)
            case ast.Name(id=name):
                return f"{name}_"
            case ast.Subscript(value=value, slice=index):
                return f"{self.print(value)}[{self.print(index)}]"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self.print(operand)})"
            case ast.UnaryOp(op=op, operand=operand):
                return f"({_symbol(op)}{self.print(operand)})"
            case ast.BoolOp(op=op, values=values):
                sign = " && " if isinstance(op, ast.And) else " || "
                return f"({sign.join(map(self.print, values))})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"({self.print(left)} {_symbol(op)} {self.print(right)})"
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
                return f"(int)({self.print(left)} / {self.print(right)})"
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return f"({self.print(left)} % {self.print(right)})"
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                kind = _common(self.typing.expression(left)[1], self.typing.expression(right)[1])
                c = C_TYPES[_common(kind, "float64")]
                return f"(({c}){self.print(left)} / ({c}){self.print(right)})"
            case ast.BinOp(left=left, op=op, right=right):
                return f"({self.print(left)} {_symbol(op)} {self.print(right)})"
            case ast.Call():
                name = ast.unparse(node.func).removeprefix("pk.")
                if name not in _ATOMICS:
                    return f"{name}({', '.join(map(self.print, node.args))})"
                view, index, *values = node.args
                assert isinstance(index, ast.List)
                element = self.types[ast.unparse(view)]
                assert isinstance(element, View)
                given = [f"({C_TYPES[element.element]})({self.print(v)})" for v in values]
                place = f"{self.print(view)} + ({self.print(index.elts[0])})"
                return f"{name}({', '.join([place, *given])})"
        raise NotImplementedError(ast.dump(node))


def _symbol(op: ast.AST) -> str:
    return _SYMBOLS[type(op)]
