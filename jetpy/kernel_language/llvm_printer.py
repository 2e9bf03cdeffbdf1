"""Prints definitions as functions of LLVM's intermediate representation (IR).

Views are pointers. Functions that reduce or scan return the accumulator. Names that are assigned
once are values, other names are stack slots, which LLVM promotes to values. Every value has a type,
and every conversion is an instruction. Integers wrap.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from jetpy.kernel_language import tree
from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.signature import Kind
from jetpy.kernel_language.types import View

TYPES = {
    "boolean": "i1",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "float32": "float",
    "float64": "double",
    "none": "void",
}
_PREFETCH = "call void @llvm.prefetch.p0(ptr {}, i32 0, i32 3, i32 1)"
DECLARATIONS = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
"""What the IR of definitions refers to."""
_BITS = {"boolean": 1, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64}
_BITS_OF_FLOATS = {"float32": 32, "float64": 64}
_OF_INTEGERS = {"+": "add", "-": "sub", "*": "mul", "<<": "shl", "&": "and", "|": "or", "^": "xor"}
_BY_SIGN = {"//": ("sdiv", "udiv"), "%": ("srem", "urem"), ">>": ("ashr", "lshr")}
_OF_FLOATS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_ORDERS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_ATOMICS = {
    "atomic_fetch_add": ("add", "add"),
    "atomic_fetch_min": ("min", "umin"),
    "atomic_fetch_max": ("max", "umax"),
    "atomic_fetch_or": ("or", "or"),
}


def print_function(definition: Definition, *, exported: bool = False, inlined: bool = True) -> str:
    """Return the IR of one definition, exported or else either inlined or never."""
    return _Function(definition).text(exported, inlined)


def type_of(kind: str | View) -> str:
    """Return the LLVM type of a parameter."""
    return "ptr" if isinstance(kind, View) else TYPES[kind]


class _Function:
    """The IR of one definition, line by line."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._lines: list[str] = []
        self._count = 0
        self._label = "entry"
        self._values: dict[str, str] = {}
        self._slots: dict[str, str] = {}
        self._loops: list[tuple[str, str]] = []
        """Targets of ``continue`` and ``break`` in the enclosing loops."""
        self._sums_up = definition.kind in (Kind.REDUCE, Kind.SCAN)
        self._result = "int64" if self._sums_up else definition.returns or "none"

    def text(self, exported: bool, inlined: bool) -> str:
        definition = self._definition
        self._keep_parameters()
        if self._block(definition.body):
            self._return(None)
        given = [f"{type_of(kind)} %p.{name}" for name, kind in definition.parameters.items()]
        signature = f"{TYPES[self._result]} @{definition.name}({', '.join(given)})"
        before = "" if exported else "internal "
        after = "nounwind" if exported else f"{'always' if inlined else 'no'}inline nounwind"
        return "\n".join([f"define {before}{signature} {after} {{", "entry:", *self._lines, "}\n"])

    def _keep_parameters(self) -> None:
        """Create stack slots for parameters that are assigned to, and values for the others."""
        parameters = self._definition.parameters
        slots = dict(_assigned(self._definition.body)) | ({"acc": "int64"} if self._sums_up else {})
        for name, kind in slots.items():
            self._slots[name] = f"%s.{name}"
            self._lines.append(f"%s.{name} = alloca {TYPES[kind]}")
            if name in parameters:
                self._lines.append(f"store {TYPES[kind]} %p.{name}, ptr %s.{name}")
        self._values = {name: f"%p.{name}" for name in parameters if name not in slots}

    # lines

    def _new(self, instruction: str) -> str:
        self._count += 1
        name = f"%t{self._count}"
        self._lines.append(f"{name} = {instruction}")
        return name

    def _labels(self, *names: str) -> list[str]:
        self._count += 1
        return [f"{name}{self._count}" for name in names]

    def _begin(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._label = label

    def _jump(self, label: str) -> None:
        self._lines.append(f"br label %{label}")

    # statements

    def _block(self, statements: tuple[tree.Statement, ...]) -> bool:
        """Print statements up to the first jump; return whether the end of the block is reached."""
        return all(self._statement(statement) for statement in statements)

    def _statement(self, node: tree.Statement) -> bool:
        """Print a statement; return whether control reaches the next statement."""
        match node:
            case tree.Declaration(tree.Name(name), value) if name not in self._slots:
                self._values[name] = self._value(value)
            case (
                tree.Declaration(target, value)
                | tree.Assignment(target, value)
                | tree.Update(target, value=value)
            ):
                new = self._value(value)
                place = self._place(target)
                self._lines.append(f"store {TYPES[target.type]} {new}, ptr {place}")
            case tree.If(test, body, otherwise):
                return self._if(test, body, otherwise)
            case tree.While(test, body):
                again, inside, end = self._labels("again", "inside", "end")
                self._jump(again)
                self._begin(again)
                self._branch(test, inside, end)
                self._begin(inside)
                self._body(body, again, end)
                self._begin(end)
            case tree.For(counter, start, stop, step, body):
                bounds = self._value(start), self._value(stop), self._value(step)
                self._for(counter, *bounds, body)
            case tree.Return(value):
                self._return(value)
                return False
            case tree.Evaluation(call):
                self._value(call)
            case tree.Prefetch(element):
                self._lines.append(_PREFETCH.format(self._place(element, in_range=False)))
            case tree.Jump(word):
                self._jump(self._loops[-1][word == "break"])
                return False
        return True

    def _if(
        self,
        test: tree.Expression,
        body: tuple[tree.Statement, ...],
        otherwise: tuple[tree.Statement, ...],
    ) -> bool:
        yes, no, end = self._labels("yes", "no", "end")
        self._branch(test, yes, no if otherwise else end)
        goes_on = not otherwise
        for label, statements in ((yes, body), (no, otherwise)):
            if label == yes or otherwise:
                self._begin(label)
                if self._block(statements):
                    self._jump(end)
                    goes_on = True
        if goes_on:
            self._begin(end)
        return goes_on

    def _for(
        self, counter: tree.Name, start: str, stop: str, step: str, body: tuple[tree.Statement, ...]
    ) -> None:
        kind, before = TYPES[counter.type], self._label
        again, inside, following, end = self._labels("again", "inside", "next", "end")
        self._jump(again)
        self._begin(again)
        number = self._new(f"phi {kind} [{start}, %{before}], [%{following}.i, %{following}]")
        more = self._new(f"icmp slt {kind} {number}, {stop}")
        self._lines.append(f"br i1 {more}, label %{inside}, label %{end}")
        self._begin(inside)
        if counter.name in self._slots:
            self._lines.append(f"store {kind} {number}, ptr {self._slots[counter.name]}")
        else:
            self._values[counter.name] = number
        self._body(body, following, end)
        self._begin(following)
        self._lines.append(f"%{following}.i = add nsw {kind} {number}, {step}")
        self._jump(again)
        self._begin(end)

    def _body(self, body: tuple[tree.Statement, ...], following: str, end: str) -> None:
        """Print the body of a loop, and branch to a label."""
        self._loops.append((following, end))
        if self._block(body):
            self._jump(following)
        self._loops.pop()

    def _return(self, value: tree.Expression | None) -> None:
        kind = TYPES[self._result]
        if self._sums_up:
            total = self._new("load i64, ptr %s.acc")
            self._lines.append(f"ret i64 {total}")
        elif value is not None:
            self._lines.append(f"ret {kind} {self._value(value)}")
        else:
            self._lines.append("ret void" if kind == "void" else "unreachable")

    def _branch(self, test: tree.Expression, yes: str, no: str) -> None:
        """Print a conditional branch."""
        match test:
            case tree.Negation(operand):
                self._branch(operand, no, yes)
            case tree.Logic(word, operands):
                for operand in operands[:-1]:
                    (following,) = self._labels("test")
                    self._branch(operand, *((following, no) if word == "and" else (yes, following)))
                    self._begin(following)
                self._branch(operands[-1], yes, no)
            case _:
                self._lines.append(f"br i1 {self._value(test)}, label %{yes}, label %{no}")

    # expressions

    def _place(self, target: tree.Name | tree.Element, *, in_range: bool = True) -> str:
        """Return the address of a variable or element, whose index may be out of range."""
        if isinstance(target, tree.Name):
            return self._slots[target.name]
        index = self._converted(self._value(target.index), target.index.type, "int64")
        kind = f"{'inbounds ' if in_range else ''}{TYPES[target.type]}"
        return self._new(f"getelementptr {kind}, ptr %p.{target.view}, i64 {index}")

    def _value(self, node: tree.Expression) -> str:
        match node:
            case tree.Literal(value, kind):
                return _literal(value, kind)
            case tree.Name(name, kind):
                if name in self._slots:
                    return self._new(f"load {TYPES[kind]}, ptr {self._slots[name]}")
                return self._values[name]
            case tree.Element(type=kind):
                return self._new(f"load {TYPES[kind]}, ptr {self._place(node)}")
            case tree.Conversion(operand, kind):
                return self._converted(self._value(operand), operand.type, kind)
            case tree.Sign(symbol, operand, kind):
                return self._signed(symbol, self._value(operand), kind)
            case tree.Operation(symbol, left, right, kind):
                return self._operation(symbol, left, right, kind)
            case tree.Comparison(symbol, left, right):
                a, b = self._value(left), self._value(right)
                return self._new(f"{_comparison(symbol, left.type)} {TYPES[left.type]} {a}, {b}")
            case tree.Negation(operand):
                return self._new(f"xor i1 {self._value(operand)}, true")
            case tree.Logic():
                return self._logic(node)
            case tree.Call(name, arguments, kind):
                given = ", ".join(
                    f"ptr %p.{a}" if isinstance(a, str) else f"{TYPES[a.type]} {self._value(a)}"
                    for a in arguments
                )
                call = f"call {TYPES[kind]} @{name}({given})"
                if kind != "none":
                    return self._new(call)
                self._lines.append(call)
                return ""
            case tree.Atomic():
                return self._atomic(node)

    def _signed(self, symbol: str, value: str, kind: str) -> str:
        if symbol == "+":
            return value
        if kind in _BITS_OF_FLOATS:
            return self._new(f"fneg {TYPES[kind]} {value}")
        if symbol == "-":
            return self._new(f"sub {TYPES[kind]} 0, {value}")
        return self._new(f"xor {TYPES[kind]} {value}, -1")

    def _operation(
        self, symbol: str, left: tree.Expression, right: tree.Expression, kind: str
    ) -> str:
        a, b = self._value(left), self._value(right)
        if kind in _BITS_OF_FLOATS:
            return self._new(f"{_OF_FLOATS[symbol]} {TYPES[kind]} {a}, {b}")
        if symbol in ("<<", ">>"):
            b = self._converted(b, right.type, kind)
        if symbol in _BY_SIGN:
            return self._new(f"{_BY_SIGN[symbol][_is_unsigned(kind)]} {TYPES[kind]} {a}, {b}")
        return self._new(f"{_OF_INTEGERS[symbol]} {TYPES[kind]} {a}, {b}")

    def _logic(self, node: tree.Logic) -> str:
        yes, no, end = self._labels("yes", "no", "end")
        self._branch(node, yes, no)
        for label in (yes, no):
            self._begin(label)
            self._jump(end)
        self._begin(end)
        return self._new(f"phi i1 [true, %{yes}], [false, %{no}]")

    def _atomic(self, node: tree.Atomic) -> str:
        """Print an atomic operation; it is relaxed, because a launch ends with a barrier."""
        place, kind = self._place(node.element), TYPES[node.type]
        given = [f"{kind} {self._value(operand)}" for operand in node.operands]
        if node.operation == "atomic_compare_exchange":
            pair = self._new(f"cmpxchg ptr {place}, {', '.join(given)} monotonic monotonic")
            return self._new(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
        name = _ATOMICS[node.operation][_is_unsigned(node.type)]
        return self._new(f"atomicrmw {name} ptr {place}, {given[0]} monotonic")

    def _converted(self, value: str, source: str, kind: str) -> str:
        """Convert a value from one type to another by the rules of C."""
        a, b = TYPES[source], TYPES[kind]
        if a == b:
            return value
        if kind == "boolean":
            test = "fcmp une {} {}, 0.0" if source in _BITS_OF_FLOATS else "icmp ne {} {}, 0"
            return self._new(test.format(a, value))
        return self._new(f"{_conversion(source, kind)} {a} {value} to {b}")


def _conversion(source: str, kind: str) -> str:
    """Return the instruction that converts a number to a type other than boolean."""
    if source in _BITS_OF_FLOATS and kind in _BITS_OF_FLOATS:
        return "fpext" if _BITS_OF_FLOATS[kind] > _BITS_OF_FLOATS[source] else "fptrunc"
    if source in _BITS_OF_FLOATS:
        return "fptoui" if _is_unsigned(kind) else "fptosi"
    if kind in _BITS_OF_FLOATS:
        return "uitofp" if _is_unsigned(source) else "sitofp"
    if _BITS[kind] < _BITS[source]:
        return "trunc"
    return "zext" if _is_unsigned(source) else "sext"


def _is_unsigned(kind: str) -> bool:
    return kind.startswith("u") or kind == "boolean"


def _literal(value: float, kind: str) -> str:
    if kind == "boolean":
        return "true" if value else "false"
    if kind in _BITS_OF_FLOATS:
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return f"0x{bits:016X}"
    return str(int(value))


def _comparison(symbol: str, kind: str) -> str:
    if kind in _BITS_OF_FLOATS:
        return "fcmp " + {"==": "oeq", "!=": "une"}.get(symbol, f"o{_ORDERS.get(symbol)}")
    sign = "u" if _is_unsigned(kind) else "s"
    return "icmp " + {"==": "eq", "!=": "ne"}.get(symbol, f"{sign}{_ORDERS.get(symbol)}")


def _assigned(statements: tuple[tree.Statement, ...]) -> Iterator[tuple[str, str]]:
    """Yield the variables that statements assign to after their declaration, and their types."""
    for node in statements:
        match node:
            case tree.Assignment(tree.Name(name, kind)) | tree.Update(tree.Name(name, kind)):
                yield name, kind
            case tree.If(_, body, otherwise):
                yield from _assigned(body + otherwise)
            case tree.While(_, body) | tree.For(body=body):
                yield from _assigned(body)
