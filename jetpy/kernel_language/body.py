"""Reads the body of a function: gives every expression its C type and makes conversions explicit.

The language is the subset of PyKokkos that its own translator compiles correctly: typed locals,
`if`/`while`/`for range`, `break`, `continue`, `return`, 1-D views, atomics, and calls of
`@pk.function`s. In addition, module names may stand for numbers, and groups for parameters, and
`prefetch(view[index])` is a hint.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from jetpy.kernel_language import tree
from jetpy.kernel_language.definition import Definition
from jetpy.kernel_language.signature import place_name
from jetpy.kernel_language.types import INT32, Group, Refusal, View, Width, common, named_type

ATOMICS = {
    "atomic_fetch_add": 1,
    "atomic_fetch_min": 1,
    "atomic_fetch_max": 1,
    "atomic_fetch_or": 1,
    "atomic_compare_exchange": 2,
}
"""Atomic operations and their numbers of operands."""
RANGE_PARTS = ("_start", "_stop", "_step")
"""Suffixes of the three functions that replace a function that returns a range."""
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OF_INTEGERS = {"//", "%", "<<", ">>", "&", "|", "^", "~"}
_FLOATS = {"float32", "float64"}


class Body:
    """Reads the statements of a function.

    Parameters
    ----------
    module : module
        Scope of names that are neither parameters nor locals.
    declared : mapping of str to (str or View or Group)
        The function's parameters.
    fixed : set of str
        Parameters that must not be assigned to.
    returns : str or None
    callee : callable
        Returns the definition of a device function, or None. It takes the object that a name in
        `module` stands for, and one of `RANGE_PARTS` if the function returns a range.
    width : Width
    may_exchange : bool
        Whether `atomic_compare_exchange` is allowed.

    Attributes
    ----------
    used : dict of (str, str or None) to None
        The fields of groups that the function uses.
    callees : dict of Definition to None
    """

    def __init__(
        self,
        module: ModuleType,
        declared: Mapping[str, str | View | Group],
        fixed: set[str],
        returns: str | None,
        callee: Callable[[Any, str], Definition | None],
        width: Width,
        *,
        may_exchange: bool,
    ) -> None:
        self._module, self._declared, self._fixed = module, declared, fixed
        self._returns, self._callee, self._may_exchange = returns, callee, may_exchange
        self._width, self._int = width, width.value
        self._visible = {name: kind for name, kind in declared.items() if isinstance(kind, str)}
        self._locals: dict[str, str] = {}
        self._hidden: set[str] = set()
        self.used: dict[tuple[str, str], None] = {}
        self.callees: dict[Definition, None] = {}

    @property
    def local_names(self) -> set[str]:
        """Names of all locals read so far."""
        return set(self._locals)

    # statements

    def block(self, statements: list[ast.stmt]) -> tuple[tree.Statement, ...]:
        """Read statements; their declarations end with the block."""
        outside = dict(self._visible)
        read = tuple(s for node in statements for s in self._statement(node))
        self._visible = outside
        return read

    def _statement(self, node: ast.stmt) -> list[tree.Statement]:
        match node:
            case ast.AnnAssign(
                target=ast.Name() as target, annotation=note, value=ast.expr() as value
            ):
                kind = named_type(ast.unparse(note), self._width)
                if not isinstance(kind, str):
                    raise _fail(node, f"unknown type {ast.unparse(note)!r} of a local")
                converted = self._as(value, kind)
                return [tree.Declaration(self._declare(node, target.id, kind), converted)]
            case ast.Assign(targets=[target], value=value):
                place = self._target(target)
                return [tree.Assignment(place, self._as(value, place.type))]
            case ast.AugAssign(target=target, op=op, value=value):
                place = self._target(target)
                symbol, operand = _SYMBOLS[type(op)], self._expression(value)
                result = _converted(self._operation(node, symbol, place, operand), place.type)
                return [tree.Update(place, symbol, operand, result)]
            case ast.If(test=test, body=body, orelse=otherwise):
                return [tree.If(self._condition(test), self.block(body), self.block(otherwise))]
            case ast.While(test=test, body=body, orelse=[]):
                return [tree.While(self._condition(test), self.block(body))]
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, orelse=[]):
                return self._loop(node, name, call)
            case ast.Return(value=None):
                return [tree.Return(None)]
            case ast.Return(value=ast.expr() as value):
                if self._returns is None:
                    raise _fail(node, "a workunit must not return a value")
                return [tree.Return(self._as(value, self._returns))]
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="prefetch"), args=[ast.Subscript() as one])
            ):
                return [tree.Prefetch(self._element(one))]
            case ast.Expr(value=ast.Call() as call):
                return [tree.Evaluation(self._call(call))]
            case ast.Break():
                return [tree.Jump("break")]
            case ast.Continue():
                return [tree.Jump("continue")]
        raise _fail(node, "workunits do not support this statement")

    def _loop(self, node: ast.For, name: str, call: ast.Call) -> list[tree.Statement]:
        """Read a loop over a range; its stop and step are computed once, before the loop."""
        bounds = self._bounds(node, call)
        if any(bound.type not in ("int32", self._int) for bound in bounds):
            raise _fail(node, f"the bounds of a range must be {self._int}; write a while loop")
        if isinstance(bounds[2], tree.Literal) and bounds[2].value < 1:
            raise _fail(node, "the step of a range must be above 0; write a while loop")
        start, stop, step = (_converted(bound, self._int) for bound in bounds)
        before: list[tree.Statement] = []
        stop = self._keep(f"{name}_stop", stop, before)
        step = self._keep(f"{name}_step", step, before)
        outside = dict(self._visible)
        counter = self._declare(node, name, self._int)
        inner = self.block(node.body)
        self._visible = outside
        return [*before, tree.For(counter, start, stop, step, inner)]

    def _keep(
        self, name: str, bound: tree.Expression, before: list[tree.Statement]
    ) -> tree.Expression:
        """Return a bound that the loop cannot change: itself, or a new local declared before it."""
        match bound:
            case tree.Literal():
                return bound
            case tree.Name(given) if given in self._fixed or given not in self._visible:
                return bound
        while name in {*self._locals, *self._declared}:
            name += "_"
        self._locals[name] = bound.type
        self._hidden.add(name)
        before.append(tree.Declaration(tree.Name(name, bound.type), bound))
        return tree.Name(name, bound.type)

    def _bounds(self, node: ast.For, call: ast.Call) -> list[tree.Expression]:
        """Return start, stop and step of a range, or of the range that a function returns."""
        one = tree.Literal(1, self._int)
        name = ast.unparse(call.func)
        if name == "range" and len(call.args) in (1, 2, 3) and not call.keywords:
            read = [self._expression(bound) for bound in call.args]
            if len(read) == 1:
                return [tree.Literal(0, "int32"), *read, one]
        else:
            parts = [
                part for part in RANGE_PARTS if self._callee(vars(self._module).get(name), part)
            ]
            if len(parts) < 2:
                raise _fail(node, "only a range can be looped over")
            if any(isinstance(n, ast.Call) for given in call.args for n in ast.walk(given)):
                raise _fail(
                    node, "the arguments of a range must not be calls; assign them to locals first"
                )
            read = [self._call(call, part) for part in parts]
        return [*read, one][:3]

    def _declare(self, node: ast.stmt, name: str, kind: str) -> tree.Name:
        if name in {*self._visible, *self._declared, *self._hidden}:
            raise _fail(
                node,
                f"{name!r} is declared twice; in C++ that would be a second variable, so assign "
                "without a type or use another name",
            )
        if self._locals.setdefault(name, kind) != kind:
            raise _fail(node, f"{name!r} is of type {self._locals[name]} elsewhere in the function")
        self._visible[name] = kind
        return tree.Name(name, kind)

    def _target(self, node: ast.expr) -> tree.Name | tree.Element:
        match node:
            case ast.Name(id=name) if name in self._fixed:
                raise _fail(node, "a workunit must not assign to a parameter")
            case ast.Name(id=name) if name in self._visible:
                return tree.Name(name, self._visible[name])
            case ast.Name():
                raise _fail(node, "assignment to an undeclared local")
            case ast.Subscript():
                return self._element(node)
        raise _fail(node, "workunits do not support this target")

    # expressions

    def _as(self, node: ast.expr, kind: str) -> tree.Expression:
        return _converted(self._expression(node), kind)

    def _condition(self, node: ast.expr) -> tree.Expression:
        read = self._expression(node)
        if read.type == "boolean":
            return read
        return tree.Comparison("!=", read, _converted(tree.Literal(0, "int32"), read.type))

    def _expression(self, node: ast.expr) -> tree.Expression:
        match node:
            case ast.Constant(value=value):
                return _literal(node, value)
            case ast.Name(id=name) if name in self._visible:
                return tree.Name(name, self._visible[name])
            case ast.Name(id=name) if name not in self._declared:
                return _literal(node, vars(self._module).get(name))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if name not in self._declared:
                    return _literal(node, getattr(vars(self._module).get(name), attribute, None))
                field, kind = self._field(node, name, attribute)
                if isinstance(kind, View):
                    raise _fail(node, "a view without an index")
                return tree.Name(field, kind)
            case ast.Subscript():
                return self._element(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return tree.Negation(self._condition(operand))
            case ast.UnaryOp(op=op, operand=operand):
                return self._sign(node, _SYMBOLS[type(op)], self._expression(operand))
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return tree.Logic(word, tuple(self._condition(value) for value in values))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SYMBOLS:
                sides = self._expression(left), self._expression(right)
                kind = common(sides[0].type, sides[1].type)
                a, b = (_converted(side, kind) for side in sides)
                return tree.Comparison(_SYMBOLS[type(op)], a, b)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYMBOLS:
                sides = self._expression(left), self._expression(right)
                result = self._operation(node, _SYMBOLS[type(op)], *sides)
                return _converted(result, self._int) if isinstance(op, ast.FloorDiv) else result
            case ast.Call():
                call = self._call(node)
                if call.type == "none":
                    raise _fail(node, "the function returns no value")
                return call
        raise _fail(node, "expression outside the language of workunits")

    def _sign(self, node: ast.expr, symbol: str, operand: tree.Expression) -> tree.Expression:
        kind = common(operand.type, "int32")
        if isinstance(operand, tree.Literal) and symbol == "-" and kind in ("int32", "int64"):
            return _literal(node, -operand.value)
        if symbol in _OF_INTEGERS and kind in _FLOATS:
            raise _fail(node, f"{symbol} is for integers")
        return tree.Sign(symbol, _converted(operand, kind), kind)

    def _operation(
        self, node: ast.AST, symbol: str, left: tree.Expression, right: tree.Expression
    ) -> tree.Operation:
        """Build an arithmetic operation of C, including its division, in the common type."""
        kind = common(left.type, right.type)
        if symbol in _OF_INTEGERS and kind in _FLOATS:
            raise _fail(node, f"{symbol} is for integers")
        if symbol == "/" and kind not in _FLOATS:
            raise _fail(node, "/ is for floating point, // for integers")
        if symbol in ("<<", ">>"):
            kind = common(left.type, "int32")
            return tree.Operation(
                symbol, _converted(left, kind), _converted(right, common(right.type, "int32")), kind
            )
        return tree.Operation(symbol, _converted(left, kind), _converted(right, kind), kind)

    def _element(self, node: ast.Subscript) -> tree.Element:
        name, view = self._view(node.value)
        if view is None:
            raise _fail(node, "only a view can be indexed")
        return tree.Element(name, self._expression(node.slice), view.element)

    def _view(self, node: ast.expr) -> tuple[str, View | None]:
        """Return the name of a view and its type, or None as type if it is not a view."""
        match node:
            case ast.Name(id=name):
                kind: Any = self._declared.get(name)
            case ast.Attribute(value=ast.Name(id=group), attr=attribute) if group in self._declared:
                name, kind = self._field(node, group, attribute)
            case _:
                return "", None
        return name, kind if isinstance(kind, View) else None

    def _field(self, node: ast.expr, name: str, attribute: str) -> tuple[str, str | View]:
        """Return the name and type of a group's field, and record that it is used."""
        group = self._declared[name]
        if not isinstance(group, Group) or attribute not in group.fields:
            raise _fail(node, f"{name} has no field {attribute}")
        self.used[name, attribute] = None
        return place_name(name, attribute), group.fields[attribute]

    # calls

    def _call(self, node: ast.Call, part: str = "") -> tree.Call | tree.Atomic:
        """Read a call of a function, or of one part of a function that returns a range."""
        name = ast.unparse(node.func).removeprefix("pk.")
        if node.keywords:
            raise _fail(node, "calls must not have keyword arguments")
        if name in ATOMICS:
            return self._atomic(node, name)
        function = self._callee(vars(self._module).get(name), part)
        if function is None:
            raise _fail(node, "only a @pk.function can be called")
        if len(node.args) != len(function.declared):
            raise _fail(node, f"{name} takes {len(function.declared)} arguments")
        self.callees[function] = None
        given = dict(zip(function.declared, node.args, strict=True))
        for parameter, argument in given.items():
            self._check_group(argument, function.declared[parameter])
        arguments = tuple(
            self._argument(given[parameter], field, kind)
            for (parameter, field), kind in zip(
                function.places, function.parameters.values(), strict=True
            )
        )
        return tree.Call(function.name, arguments, function.returns or "none")

    def _check_group(self, argument: ast.expr, wanted: str | View | Group) -> None:
        given = self._declared.get(argument.id) if isinstance(argument, ast.Name) else None
        if isinstance(given, Group) and not isinstance(wanted, Group):
            raise _fail(argument, "the argument must not be a group")
        if isinstance(wanted, Group) and not (
            isinstance(given, Group) and wanted.kinds[0] in given.kinds
        ):
            raise _fail(
                argument, f"the argument must be a group of type {wanted.kinds[0].__name__}"
            )

    def _argument(
        self, node: ast.expr, field: str | None, kind: str | View
    ) -> tree.Expression | str:
        if field is not None:
            assert isinstance(node, ast.Name)
            name, _ = self._field(node, node.id, field)
            return name if isinstance(kind, View) else tree.Name(name, kind)
        if isinstance(kind, str):
            return self._as(node, kind)
        name, view = self._view(node)
        if view != kind:
            raise _fail(node, f"the argument must be a view of {kind.element}")
        return name

    def _atomic(self, node: ast.Call, operation: str) -> tree.Atomic:
        if operation == "atomic_compare_exchange" and not self._may_exchange:
            raise _fail(node, "PyKokkos supports this in a @pk.function only")
        match node.args:
            case [view_node, ast.List(elts=[index]), *values] if len(values) == ATOMICS[operation]:
                name, view = self._view(view_node)
                if view is not None:
                    element = tree.Element(name, self._expression(index), view.element)
                    operands = tuple(self._as(value, view.element) for value in values)
                    return tree.Atomic(operation, element, operands, view.element)
        raise _fail(node, "atomics take a view, a list of one index and a value")


def _fail(node: ast.AST, message: str) -> Refusal:
    return Refusal(f"line {getattr(node, 'lineno', '?')}: {message}: {ast.unparse(node)}")


def _converted(value: tree.Expression, kind: str) -> tree.Expression:
    return value if value.type == kind else tree.Conversion(value, kind)


def _literal(node: ast.expr, value: Any) -> tree.Literal:
    if isinstance(value, bool):
        return tree.Literal(value, "boolean")
    if isinstance(value, float):
        return tree.Literal(value, "float64")
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        number = int(value)  # not an enumeration member, whose lookup in a range is slow
        return tree.Literal(number, "int32" if number in INT32 else "int64")
    if isinstance(node, ast.Constant):
        raise _fail(node, "expression outside the language of workunits")
    raise _fail(node, "unknown or untyped name")
