"""How Sphinx makes the site: sphinx-build -W --keep-going docs docs/_build."""

from __future__ import annotations

from importlib.metadata import version as version_of

from sphinx_gallery.sorting import ExplicitOrder

project = "jetpy"
author = "jetpy developers"
copyright = "2026, jetpy developers"
version = release = version_of("jetpy-partitioner")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "tutorials"]
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", r"(?!jetpy\.).*")]  # names of arguments and the like

smartquotes = False  # would make one dash of two

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # names of methods with their class are too wide
numpydoc_show_class_members = False

copybutton_prompt_text = r"\$ |> "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "_gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(
        [
            *("mesh.py", "network.py", "pooling.py", "multigrid.py"),
            *("ordering.py", "solver.py", "roads.py", "tensors.py"),
            *("ranks.py", "circuit.py", "gpus.py", "study.py"),
        ]
    ),
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "jetpy"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
ONE_PAGE = ("start", "recipes", "recipes-solvers", "stability")
html_sidebars = {page: [] for page in ONE_PAGE}  # sections of one page
html_theme_options = {
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
}
