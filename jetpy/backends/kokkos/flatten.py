"""Rewrites a workunit and all that it calls into one module that PyKokkos translates rightly.

PyKokkos finds device functions in the workunit's own file only, so imported ones are copied
there. Some valid Python becomes C++ that compiles and computes something else; it is rewritten
where that is simple, else refused.
"""

from __future__ import annotations

import ast
import copy
from types import ModuleType

from jetpy.backends.numba_engine.translate import Definition, Kind, View, read_module, with_callees
from jetpy.errors import BackendError

HEADER = "import pykokkos as pk\n"
RESERVED = {"entity", "members", "module_setup", "name", "operation", "parser", "policy", "space"}
"""Names that PyKokkos's dispatch passes on beside the arguments of a workunit."""
VIEW_BYTES, NUMBER_BYTES = 24, {"int64": 8, "uint64": 8, "float64": 8}
"""Size of a view, and of numbers that have more than 4 bytes."""
MOST_BYTES = 464
"""Kokkos passes what is larger than 512 bytes with its own part through constant memory, which no
CUDA graph can."""


def flatten(module: ModuleType, workunit: str) -> str:
    """Return the source of a module that holds one workunit and the device functions it needs.

    Comments and docstrings are left out, so that changing them does not change the result.

    Raises
    ------
    BackendError
        If the C++ that PyKokkos makes of it would compute something else, or could not be
        recorded.
    """
    known = read_module(module)
    _refuse_many_arguments(known[workunit])
    used = with_callees(known[workunit], known)
    _refuse_conflicting_views(used)
    return "\n\n".join([HEADER, *(_rewritten(definition) for definition in used)]) + "\n"


def _refuse_many_arguments(definition: Definition) -> None:
    size = sum(
        VIEW_BYTES if isinstance(kind, View) else NUMBER_BYTES.get(kind, 4)
        for kind in definition.arguments.values()
    )
    if size > MOST_BYTES:
        raise BackendError(
            f"the arguments of {definition.name} take {size} bytes; with more than {MOST_BYTES} "
            "its launches cannot be recorded into a CUDA graph"
        )


def _refuse_conflicting_views(used: list[Definition]) -> None:
    """Refuse views of one name and two types: PyKokkos would give both the first type."""
    elements: dict[str, str] = {}
    for definition in used:
        for name, kind in definition.parameters.items():
            if isinstance(kind, View) and elements.setdefault(name, kind.element) != kind.element:
                raise BackendError(
                    f"{used[-1].name}: view {name!r} has elements of type {elements[name]} in one "
                    f"of the functions that it calls and of type {kind.element} in another; "
                    "PyKokkos cannot tell them apart, so give one of them another name"
                )


def _rewritten(definition: Definition) -> str:
    """Return the source of one definition."""
    tree = _Parentheses().visit(copy.deepcopy(definition.tree))
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
        tree.body = tree.body or [ast.Pass()]
    if definition.kind is Kind.FUNCTION and tree.returns is None:
        tree.returns = ast.Constant(None)
    reserved = RESERVED & definition.parameters.keys()
    if reserved and definition.kind is not Kind.FUNCTION:
        raise BackendError(f"{definition.name}: PyKokkos takes {reserved.pop()!r} for its own")
    _refuse_shadowing(tree.body, {a.arg for a in tree.args.args}, definition.name)
    _rename_variables(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Parentheses(ast.NodeTransformer):
    """Guards `and` and `or` against the parentheses that PyKokkos leaves out.

    It writes ``(a or b) and c`` as ``a || b && c`` and ``(a and b) == c`` as ``a && b == c``.
    """

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.And):
            node.values = [_guarded(value) for value in node.values]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.left = _guarded(node.left)
        node.comparators = [_guarded(value) for value in node.comparators]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The bounds of a `range` end up in a comparison."""
        self.generic_visit(node)
        node.args = [_guarded(value) for value in node.args]
        return node


def _guarded(node: ast.expr) -> ast.expr:
    """Negate a logical expression twice: the operand of `not` is written in parentheses."""
    if not isinstance(node, ast.BoolOp):
        return node
    return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))


def _rename_variables(tree: ast.FunctionDef) -> None:
    """Append `_` to the names of variables, which may be keywords of C++."""
    declared = {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign | ast.For) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in declared:
            node.id += "_"


def _refuse_shadowing(statements: list[ast.stmt], declared: set[str], where: str) -> None:
    """Refuse a second declaration of a variable: in C++ it makes another one, in Python not."""
    declared = set(declared)
    for node in statements:
        inner = declared
        if isinstance(node, ast.AnnAssign | ast.For) and isinstance(node.target, ast.Name):
            name = node.target.id
            if name in declared:
                raise BackendError(
                    f"{where}: {name!r} is declared twice in line {node.lineno}: "
                    f"`{ast.unparse(node).splitlines()[0]}`; in C++ that would be a second "
                    "variable, so assign without a type or take another name"
                )
            if isinstance(node, ast.For):
                inner = declared | {name}
            else:
                declared.add(name)
        if isinstance(node, ast.If | ast.While | ast.For):
            _refuse_shadowing(node.body, inner, where)
            _refuse_shadowing(node.orelse, inner, where)
