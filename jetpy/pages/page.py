"""Pages from templates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from jetpy.errors import JetpyError
from jetpy.names import DISTRIBUTION
from jetpy.pages.palette import COLOURS

if TYPE_CHECKING:
    from jinja2 import Environment

EXTRA = "report"


@contextmanager
def needed(package: str) -> Iterator[None]:
    """Tell what to install where a package of the extra is missing that the block imports.

    Raises
    ------
    JetpyError
    """
    try:
        yield
    except ImportError as error:
        raise JetpyError(
            f"pages and figures need {package}: pip install '{DISTRIBUTION}[{EXTRA}]'"
        ) from error


def check_installed() -> None:
    """Refuse work that ends with a page where the packages for it are missing.

    Raises
    ------
    JetpyError
    """
    with needed("jinja2"):
        import jinja2  # noqa: F401
    with needed("matplotlib"):
        import matplotlib  # noqa: F401


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
    with needed("jinja2"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    environment = Environment(
        loader=PackageLoader("jetpy.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["colours"] = COLOURS
    return environment
