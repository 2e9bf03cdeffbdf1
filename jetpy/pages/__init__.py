"""Self-contained HTML pages: no network, no JavaScript, light and dark mode, readable on phones.

To make a page, draw figures of at most `figures.WIDTH` inches in colours of `palette` only, convert
them to inline SVG, and render a template that extends ``base.html``::

    from jetpy.pages.figures import new_figure, svg_of
    from jetpy.pages.page import render
    from jetpy.pages.palette import SERIES
    from jetpy.pages.style import styled

    with styled():
        figure = new_figure(height=2.5)
        axes = figure.subplots()
        axes.plot([1, 2, 4], color=SERIES[0])
    html = render("study.html", title="A study", drawn=svg_of(figure, "Cut by run"))

Templates are in ``templates/``; ``macros.html`` has macros for tables and figures. The extra
``report`` installs the required packages. Without it, `page` and `figures` can be imported, but
raise an error on use. The other modules are for partitions: drawings, charts, and the page of
``jetpy report``.
"""
