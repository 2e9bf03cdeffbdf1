"""Turns modules of workunits into LLVM's intermediate representation (IR), a text.

For each workunit there is one exported function, its range: it runs the workunit over some indices
in a row. All are of one type: i64 (start, stop, accumulator, whether to write, address of a block),
and return the accumulator. A block is the number of indices of the launch and the workunit's
arguments, a word of 8 bytes each: addresses of arrays, and numbers.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from jetpy.backends.cpu import machine, sharing
from jetpy.kernel_language import (
    Definition,
    Kind,
    View,
    Width,
    read_module,
    read_workunits,
    with_callees,
)
from jetpy.kernel_language.llvm_printer import print_function, type_of

RANGE = """\
define i64 @{symbol}(i64 %start, i64 %stop, i64 %acc, i64 %last, i64 %block) nounwind {{
entry:
%words = inttoptr i64 %block to ptr
%write = icmp ne i64 %last, 0
{arguments}
br label %loop
loop:
%i = phi i64 [%start, %entry], [%i.next, %body]
%sum = phi i64 [%acc, %entry], [%sum.next, %body]
%more = icmp slt i64 %i, %stop
br i1 %more, label %body, label %end
body:
{call}
%i.next = add nsw i64 %i, 1
br label %loop
end:
ret i64 %sum
}}
"""


@dataclass(frozen=True)
class Unit:
    """What is compiled at a time.

    Attributes
    ----------
    name : str
    text : str
        IR.
    symbols : mapping of str to str
        The functions that it exports: the symbol of each, by name.
    workunits : sequence of str
        Workunits whose ranges these are.
    """

    name: str
    text: str
    symbols: Mapping[str, str]
    workunits: Sequence[str] = ()


def symbol_of(module: ModuleType, workunit: str, width: Width) -> str:
    """Return what the range of a workunit is called."""
    return f"{_name_of(module, width)}_{workunit}"


def _name_of(module: ModuleType, width: Width) -> str:
    return f"{module.__name__.rpartition('.')[2]}_{width.name.lower()}"


def unit_of(module: ModuleType, width: Width) -> Unit:
    """Return the ranges of a module's workunits."""
    symbols = {name: symbol_of(module, name, width) for name in read_workunits(module, width)}
    parts = [print_function(d) for d in with_callees(read_module(module, width).values())]
    for name, workunit in read_workunits(module, width).items():
        parts.append(_range(workunit, symbols[name]))
    return Unit(_name_of(module, width), "\n".join(parts), symbols, list(symbols))


def unit_of_sharing() -> Unit:
    """Return what the members of a crew run."""
    parts = [machine.text_for(platform.machine())]
    for definition in read_module(sharing, Width.WIDE).values():
        parts.append(print_function(definition, exported=definition.name in sharing.EXPORTED))
    return Unit("sharing", "\n".join(parts), {name: name for name in sharing.EXPORTED})


def all_units() -> list[Unit]:
    """Return the workunits of jetpy, in both widths, and `sharing`."""
    from jetpy.workloads import MODULES

    units = [unit_of(module, width) for width in Width for module in MODULES]
    return [unit_of_sharing(), *(unit for unit in units if unit.symbols)]


def _range(workunit: Definition, symbol: str) -> str:
    loads, passed = [], []
    for place, (name, kind) in enumerate(workunit.arguments.items(), 1):
        loads += _load(place, name, kind)
        passed.append(f"{type_of(kind)} %a.{name}")
    index = type_of(next(iter(workunit.parameters.values())))
    cast = f"%v = {'trunc i64 %i to i32' if index == 'i32' else 'add i64 %i, 0'}"
    if workunit.kind is Kind.FOR:
        call = f"call void @{workunit.name}({', '.join([f'{index} %v', *passed])})"
        call += "\n%sum.next = add i64 %sum, 0"
    else:
        write = ["i1 %write"] if workunit.kind is Kind.SCAN else []
        given = [f"{index} %v", "i64 %sum", *write, *passed]
        call = f"%sum.next = call i64 @{workunit.name}({', '.join(given)})"
    return RANGE.format(symbol=symbol, arguments="\n".join(loads), call=f"{cast}\n{call}")


def _load(place: int, name: str, kind: str | View) -> list[str]:
    """Return the lines that make an argument, ``%a.name``, of a word of the block."""
    wanted, word = type_of(kind), f"%w.{name}"
    stored = {"ptr": "ptr", "float": "double", "double": "double"}.get(wanted, "i64")
    narrowed = {
        "i1": f"icmp ne i64 {word}, 0",
        "i32": f"trunc i64 {word} to i32",
        "float": f"fptrunc double {word} to float",
    }
    loaded = word if wanted in narrowed else f"%a.{name}"
    lines = [
        f"%at.{name} = getelementptr inbounds i64, ptr %words, i64 {place}",
        f"{loaded} = load {stored}, ptr %at.{name}, align 8",
    ]
    if wanted in narrowed:
        lines.append(f"%a.{name} = {narrowed[wanted]}")
    return lines
