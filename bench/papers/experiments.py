"""All experiments."""

from __future__ import annotations

from bench.papers import gkway, jet

EXPERIMENTS = [*jet.EXPERIMENTS, *gkway.EXPERIMENTS]
