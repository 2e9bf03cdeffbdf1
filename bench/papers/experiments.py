"""All experiments."""

from __future__ import annotations

from bench.papers import gkway, igkway, jet

EXPERIMENTS = [*jet.EXPERIMENTS, *gkway.EXPERIMENTS, *igkway.EXPERIMENTS]
