"""Pages from templates."""

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
    """Return a module of the extra.

    Raises
    ------
    JetpyError
        If its package is not installed.
    """
    return optional_package(package, "pages and figures", f"'{DISTRIBUTION}[{EXTRA}]'")


def check_installed() -> None:
    """Refuse work that ends with a page where the packages for it are missing.

    Raises
    ------
    JetpyError
    """
    for package in ("jinja2", "matplotlib"):
        needed(package)


def render(template_name: str, **context: Any) -> str:
    """Return the page that a template of ``templates/`` makes of values.

    Text is escaped; a name that the template uses and nobody gave is an error.

    Raises
    ------
    JetpyError
        Where Jinja is missing.
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
