"""Profiles as table rows, for terminals and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jetpy.profiling.profile import Profile, Step

STEP_HEADERS = (
    *("stage", "level", "seconds", "in kernels", "launches"),
    *("host waits", "MB to device", "MB from device"),
)
"""Columns of `step_row`."""
KERNEL_HEADERS = "kernel", "back end", "calls", "seconds", "share", "µs per call"
"""Columns of `kernel_rows`."""


def step_row(step: Step) -> tuple[str, ...]:
    """Describe the work of a stage on a level; `STEP_HEADERS` names the columns."""
    return (
        step.stage,
        "" if step.level is None else f"{step.level}",
        f"{step.seconds:.4f}",
        f"{step.kernel_seconds:.4f}",
        f"{step.launches:,}",
        f"{step.synchronisations:,}",
        f"{step.uploaded / 1e6:,.3f}",
        f"{step.downloaded / 1e6:,.3f}",
    )


def kernel_rows(profile: Profile) -> list[tuple[str, ...]]:
    """Describe kernels, longest total time first; `KERNEL_HEADERS` names the columns."""
    total = sum(kernel.seconds for kernel in profile.kernels)
    return [
        (
            kernel.name,
            kernel.backend,
            f"{kernel.calls:,}",
            f"{kernel.seconds:.4f}",
            f"{100 * kernel.seconds / total:.1f} %",
            f"{1e6 * kernel.seconds / kernel.calls:,.1f}",
        )
        for kernel in profile.kernels
    ]
