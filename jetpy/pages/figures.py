"""Matplotlib figures as inline SVG, with readable text and colours that follow the mode."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jetpy.pages.palette import COLOURS
from jetpy.pages.style import styled

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 4.4
"""Maximum width in inches at which text stays readable on a phone, where figures shrink."""

_VARIABLES = {colour.light: f"var(--{name})" for name, colour in COLOURS.items()}
_SUPERFLUOUS = re.compile(
    r"^.*?(?=<svg )|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>"
    r'|\s+xmlns(:\w+)?="[^"]*"| version="1.1"|(?<=<g) id="[^"]*"|xlink:(?=href)',
    re.DOTALL,
)
_SIZE = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')
_FONT = re.compile(r"(font-family: |font: (?:[^;\"]* )?[\d.]+px )[^;\"]*")
_IMAGE = re.compile(r"(?<=data:image/png;base64,)[^\"]*")
_PATH = re.compile(r'(?<= d=")[^"]*')
_FINE = re.compile(r"(\.\d\d)\d+")
_ID = re.compile(r'(\bid="|href="#|url\(#)')


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of this size in inches, with constrained layout."""
    from jetpy.pages.shown import Shown

    with styled():
        return Shown(figsize=(width, height), layout="constrained")


@contextmanager
def chart(height: float, *, legend: bool = True) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure and its axes in the style of pages; then add a legend above, if wanted."""
    with styled():
        figure = new_figure(height)
        yield figure, figure.subplots()
        if legend:
            figure.legend(loc="outside upper left", ncols=2)


def svg_of(figure: Figure, label: str = "") -> Markup:
    """Return a figure as inline SVG.

    Its maximum width is that of the figure; it shrinks with the page. Text stays text, in the font
    of the page. Colours of the palette follow the mode; other colours are fixed.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn within `styled`.
    label : str
        Text alternative.
    """
    from markupsafe import Markup, escape

    content = io.StringIO()
    with styled():
        figure.savefig(content, format="svg", transparent=True)
    svg = _SUPERFLUOUS.sub("", content.getvalue())
    svg = _IMAGE.sub(lambda image: base64.b64encode(_smaller(image[0])).decode(), svg)
    svg = _PATH.sub(lambda path: _FINE.sub(r"\1", path[0]).replace("\n", ""), svg)
    width = re.search(_SIZE, svg)
    assert width is not None
    size = f'style="width: 100%; max-width: {width[1]}pt" role="img" aria-label="{escape(label)}"'
    svg = svg.replace(width[0], size, 1)
    svg = _FONT.sub(r"\1var(--font)", svg)
    for light, variable in _VARIABLES.items():
        svg = svg.replace(light, variable)
    own = hashlib.sha256(svg.encode()).hexdigest()[:8]
    return Markup(_ID.sub(rf"\g<1>f{own}-", svg))  # ids must be unique on a page


def _smaller(encoded: str) -> bytes:
    """Return a PNG image, given in base 64, with a palette if it has at most 256 colours."""
    import numpy as np
    from PIL import Image

    content = base64.b64decode(encoded)
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGBA"))
    colours, numbers = np.unique(pixels.view(np.uint32), return_inverse=True)
    if len(colours) > 256:
        return content
    image = Image.fromarray(numbers.reshape(pixels.shape[:2]).astype(np.uint8), "P")
    image.putpalette(colours.tobytes(), "RGBA")
    packed = io.BytesIO()
    image.save(packed, "png", optimize=True)
    return packed.getvalue()
