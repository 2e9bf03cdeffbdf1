"""Named sets of options."""

from __future__ import annotations

from collections.abc import Callable

from jetpy.errors import OptionError
from jetpy.options import InitialOptions, Options, RefineOptions


def default() -> Options:
    """Return the paper's settings and one V-cycle: small cuts at good speed."""
    return Options()


def fast() -> Options:
    """Return settings that give up sooner on small gains (phi = 0.99), without a V-cycle."""
    return Options(refine=RefineOptions(tolerance=0.99), cycles=0)


def ultra() -> Options:
    """Return settings for the smallest cuts: more filter ratios, V-cycles on many levels."""
    ratios = (75, 50, 25)
    return Options(
        refine=RefineOptions(finest_ratios=ratios, coarse_ratios=ratios),
        initial=InitialOptions(most_tries=32, parts_tried=1024, most_entries=2_000_000),
        cycles=2,
        cycle_limit=None,
    )


PRESETS: dict[str, Callable[[], Options]] = {"default": default, "fast": fast, "ultra": ultra}


def preset(name: str) -> Options:
    """Return the options of a preset.

    Raises
    ------
    OptionError
        If there is no preset of that name.
    """
    if name not in PRESETS:
        raise OptionError(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]()
