"""All experiments."""

from __future__ import annotations

from bench.papers import jet

EXPERIMENTS = [*jet.EXPERIMENTS]
