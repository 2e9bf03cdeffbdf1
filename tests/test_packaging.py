"""Facts in several files agree, and pages that messages name are installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from jetpy.cli.docs_path import guide

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, INSTALLED = SETTINGS["project"], SETTINGS["tool"]["setuptools"]
RECIPE = (ROOT / ".ci" / "conda" / "recipe.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[([\d.]+)\]"),
        (".ci/conda/recipe.yaml", r'^  version: "(.+)"$'),
    ],
)
def test_version_is_equal_everywhere(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == PROJECT["version"]


def test_conda_recipe_has_dependencies_and_script() -> None:
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    needed = {line.strip(" -").replace(" ", "") for line in run.splitlines()}
    assert needed == {*PROJECT["dependencies"], "python>=${{python_min}}"}
    [(name, target)] = PROJECT["scripts"].items()
    assert f"- {name} = {target}\n" in RECIPE


def test_declared_pythons_are_those_of_the_documentation() -> None:
    """`.ci/dependencies` reads the classifiers."""
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={declared[0]}"
    page = " ".join((ROOT / "docs" / "stability.md").read_text("utf-8").split())
    assert f"newest dependencies on CPython {', '.join(declared[:-1])} and {declared[-1]}," in page


def test_every_package_is_installed() -> None:
    folders = {file.parent for file in (ROOT / "jetpy").rglob("__init__.py")}
    names = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    kernels = {file.parent for file in (ROOT / "workloads").rglob("__init__.py")}
    names |= {".".join(("jetpy", *folder.relative_to(ROOT).parts)) for folder in kernels}
    assert names == set(INSTALLED["packages"])


def test_pages_named_in_messages_are_installed() -> None:
    """Exactly the pages named in the code exist and are installed."""
    code = (path.read_text("utf-8") for path in (ROOT / "jetpy").rglob("*.py"))
    named = {page for text in code for page in re.findall(r"guide\(['\"](\w+)['\"]\)", text)}
    assert "kokkos" in named
    assert all(Path(guide(page)).is_file() for page in named)
    installed = INSTALLED["package-data"]["jetpy"]
    assert {*installed} == {"py.typed", *(f"docs/{page}.md" for page in named)}
