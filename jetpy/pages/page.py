"""Rendering of pages from templates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jetpy.choices import DISTRIBUTION
from jetpy.io.packages import optional_package
from jetpy.pages.palette import COLOURS

if TYPE_CHECKING:
    from jinja2 import Environment

EXTRA = "report"


def needed(package: str) -> Any:
    """Return a module of the extra `report`.

    Raises
    ------
    JetpyError
        If its package is not installed.
    """
    return optional_package(package, "pages and figures", f"'{DISTRIBUTION}[{EXTRA}]'")


def check_installed() -> None:
    """Check that the packages for pages are installed, before other work starts.

    Raises
    ------
    JetpyError
        If one is missing.
    """
    for package in ("jinja2", "matplotlib"):
        needed(package)


def render(template_name: str, **context: Any) -> str:
    """Render a template in ``templates/`` with these values.

    Text is escaped. An undefined name in the template is an error.

    Raises
    ------
    JetpyError
        If Jinja is not installed.
    """
    page: str = _environment().get_template(template_name).render(**context)
    return page


@cache
def _environment() -> Environment:
    jinja2 = needed("jinja2")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("jetpy.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["colours"] = COLOURS
    return environment
