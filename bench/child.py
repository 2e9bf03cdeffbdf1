"""Measurements in a fresh Python process, which prints one line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def run_module(module: str, *arguments: object, env: Mapping[str, str] | None = None) -> Any:
    """Run ``python -m module arguments`` and return what its last line of output says."""
    output = run_python("-m", module, *map(str, arguments), env=env)
    return json.loads(output.splitlines()[-1])


def run_python(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run Python from the repository root, with more environment variables; return its output.

    Raises
    ------
    subprocess.CalledProcessError
        When it fails; what it wrote on standard error has been shown.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
