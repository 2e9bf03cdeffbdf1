"""Prints modules of workunits as LLVM's intermediate representation (IR).

For each workunit there is one exported function, its range, which runs the workunit over
consecutive indices. All ranges have the parameters i64 (start, stop, accumulator, whether to write,
address of a block) and return the accumulator. A block has the index count of the launch and the
workunit's arguments, one word of 8 bytes each: array addresses and numbers.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from jetpy.engines.cpu import machine, scheduler
from jetpy.engines.cpu.symbols import range_symbol, signatures_symbol, unit_name
from jetpy.kernel_language import Kind, View, Width
from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.inlining import not_inlined
from jetpy.kernel_language.llvm_printer import DECLARATIONS, print_function, type_of
from jetpy.kernel_language.reading import read_module, read_workunits
from jetpy.kernel_language.signature import signatures_as_text

MAX_STATEMENTS = 4000
"""Limit for `not_inlined`. With 700, orderings on one thread take 1.02 times as long."""
LONGEST = 100
"""Limit for `not_inlined`. LLVM takes long for long functions; orderings take 1.00 to 1.02 times as
long."""
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
    """A text that is compiled at a time.

    Attributes
    ----------
    name : str
    text : str
        IR.
    workunits : sequence of str
        Workunits whose ranges are in the text.
    """

    name: str
    text: str
    workunits: Sequence[str] = ()

    @property
    def digest(self) -> str:
        """A digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def unit_of(module: ModuleType, width: Width) -> Unit:
    """Return the ranges and signatures of a module's workunits, or the code of `scheduler`."""
    if module is scheduler:
        return _unit_of_scheduler(width)
    name, workunits = unit_name(module, width), read_workunits(module, width)
    functions = with_callees(read_module(module, width).values())
    called = not_inlined(workunits.values(), MAX_STATEMENTS, LONGEST)
    parts = [DECLARATIONS, *(print_function(one, inlined=one not in called) for one in functions)]
    parts += [_range(own, range_symbol(name, own.name)) for own in workunits.values()]
    signatures = signatures_as_text(own.signature for own in workunits.values())
    parts.append(constant(signatures_symbol(name), signatures))
    return Unit(name, "\n".join(parts), list(workunits))


def _unit_of_scheduler(width: Width) -> Unit:
    parts = [machine.text_for(platform.machine())]
    for definition in read_module(scheduler, width).values():
        parts.append(print_function(definition, exported=definition.name in scheduler.EXPORTED))
    return Unit(unit_name(scheduler, width), "\n".join(parts))


def all_units(modules: Sequence[ModuleType]) -> list[Unit]:
    """Return the units of modules in both widths, and the unit of `scheduler`."""
    units = [unit_of(module, width) for width in Width for module in modules]
    return [unit_of(scheduler, Width.WIDE), *(unit for unit in units if unit.workunits)]


def constant(symbol: str, text: str) -> str:
    """Return the definition of a constant string, terminated by a zero byte."""
    content = [*text.encode(), 0]
    escaped = "".join(f"\\{byte:02x}" for byte in content)
    return f'@"{symbol}" = constant [{len(content)} x i8] c"{escaped}"\n'


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
    """Return the lines that load an argument, ``%a.name``, from a word of the block."""
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
