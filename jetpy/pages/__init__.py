"""Pages of HTML that need nothing else: no network, no JavaScript, light and dark, phones too.

How to make one: draw figures of at most `figures.WIDTH` inches in colours of `palette` alone, turn
them into inline SVG, and render a template that extends ``base.html``::

    from jetpy.pages.figures import new_figure, svg_of
    from jetpy.pages.page import render
    from jetpy.pages.palette import SERIES
    from jetpy.pages.style import styled

    with styled():
        figure = new_figure(height=2.5)
        axes = figure.subplots()
        axes.plot([1, 2, 4], color=SERIES[0])
    html = render("study.html", title="A study", drawn=svg_of(figure, "Cut by run"))

Templates lie in ``templates/``; ``macros.html`` has those for tables and figures. What all this
needs comes with the extra ``report``: `page` and `figures` may be imported without it, and say so
when they are used. The other modules are about partitions: drawings, charts, and the page of
``jetpy report``.
"""
