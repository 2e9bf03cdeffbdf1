"""LLVM, through llvmlite: compiles texts of IR to object files, and loads these.

llvmlite is imported when the first code is compiled or loaded. The caller must hold the lock of
`jetpy.engines.cpu.compiling`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

from jetpy.errors import BackendError

OPTIMISATION = 3
"""Loops are vectorised but not unrolled; unrolling takes a third of the time and gains nothing."""


@cache
def binding() -> Any:
    """Return llvmlite's module, initialised."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def key_of(digest: str) -> str:
    """Return a digest of all inputs of an object file: the text's digest, LLVM and processor."""
    circumstances = repr((digest, binding().llvm_version_info, processor(), OPTIMISATION))
    return hashlib.sha256(circumstances.encode()).hexdigest()[:16]


@cache
def processor() -> tuple[str, str]:
    """Return the name and the features of this processor, as LLVM calls them."""
    llvm = binding()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def compile_text(text: str, name: str, level: str | None = None) -> bytes:
    """Return the object file of a text: for this processor, or a library for a processor level.

    Raises
    ------
    BackendError
        With LLVM's message, if it rejects the text.
    """
    machine = _machine() if level is None else _machine_of(level)
    head = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    try:
        module = binding().parse_assembly(head + text)
    except RuntimeError as error:
        raise BackendError(f"compiling the kernels of {name} failed:\n{error}") from error
    _optimise(module, machine)
    made: bytes = machine.emit_object(module)
    return made


def load(content: bytes) -> Callable[[str], int]:
    """Load an intact object file; return a function that finds symbols in it.

    If several files define a symbol, the function finds the one of the file loaded last.
    """
    engine = _engine()
    engine.add_object_file(binding().ObjectFileRef.from_data(content))
    engine.finalize_object()
    find: Callable[[str], int] = engine.get_global_value_address
    return find


@cache
def _engine() -> Any:
    """Return the engine of all loaded code, because creating one is slower than loading a file."""
    llvm = binding()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


def _machine() -> Any:
    """Return a description of this processor; each user needs a separate one."""
    name, features = processor()
    return _target().create_target_machine(
        cpu=name,
        features=features,
        opt=OPTIMISATION,
        reloc="static",
        codemodel="jitdefault",
        jit=True,
    )


def _machine_of(level: str) -> Any:
    """Return a description of all processors of a level, such as x86-64-v3."""
    return _target().create_target_machine(
        cpu=level, opt=OPTIMISATION, reloc="pic", codemodel="default", jit=False
    )


def _target() -> Any:
    return binding().Target.from_default_triple()


def _optimise(module: Any, machine: Any) -> None:
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    options.loop_vectorization = options.loop_interleaving = True
    options.slp_vectorization = options.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
