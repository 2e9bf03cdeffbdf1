"""Examples in docstrings run, and docstrings list exactly the parameters."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jetpy

SKIPPED = ("jetpy.workloads", "jetpy.__main__", "jetpy.cli.signals", "jetpy.docs")


def modules() -> list[str]:
    """Return the modules with examples."""
    found = pkgutil.walk_packages(jetpy.__path__, "jetpy.", onerror=lambda name: None)
    names = ["jetpy", *(m.name for m in found if not m.name.startswith(SKIPPED))]
    root = Path(jetpy.__file__).parents[1]
    return [name for name in names if any(">>> " in t for t in texts(root, name))]


def texts(root: Path, name: str) -> Iterator[str]:
    path = root.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            yield file.read_text("utf-8")


@pytest.mark.parametrize("name", modules())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried > 0
    assert failed == 0


def documented(text: str) -> list[str]:
    """Return the names in the section Parameters of a docstring."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n---|\Z)", text, re.S | re.M)
    lines = found[1].splitlines() if found else []
    heads = [line.partition(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return [name.strip(" *") for head in heads for name in head.split(",")]


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield all public functions, methods and classes of the package."""
    found = pkgutil.walk_packages(jetpy.__path__, "jetpy.", onerror=lambda name: None)
    for info in found:
        if info.name.startswith(SKIPPED):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != info.name:
                continue
            if inspect.isclass(value):
                yield f"{info.name}.{name}", value
                members = [(n, v) for n, v in vars(value).items() if not n.startswith("_")]
                yield from (
                    (f"{info.name}.{name}.{n}", v) for n, v in members if inspect.isfunction(v)
                )
            elif inspect.isfunction(value):
                yield f"{info.name}.{name}", value


@pytest.mark.parametrize("package", ["jetpy", "jetpy.distributed", "jetpy.mapping"])
def test_reference_lists_all_public_names(package: str) -> None:
    folder = Path(__file__).parents[1] / "docs" / "api"
    pages = "\n".join(page.read_text("utf-8") for page in folder.glob("*.md"))
    named = set(re.findall(r"^\.\. auto\w+:: (?:jetpy\.)?([\w.]+)", pages, re.M))
    named |= {name.partition(".")[0] for name in named}
    missing = set(importlib.import_module(package).__all__) - named
    assert missing - {"__version__"} == set()


def test_documented_parameters_equal_the_signature() -> None:
    """Only functions that `jetpy` does not export may omit parameters."""
    offered = {id(getattr(jetpy, name)) for name in jetpy.__all__}
    wrong, looked_at = [], 0
    for name, function in functions():
        named = documented(inspect.getdoc(function) or "")
        if not named:
            continue
        looked_at += 1
        there = [n for n in inspect.signature(function).parameters if n != "self"]
        if set(named) - set(there) or (id(function) in offered and set(named) != set(there)):
            wrong.append(f"{name}: {sorted(set(named) ^ set(there))}")
    assert wrong == []
    assert looked_at > 50
