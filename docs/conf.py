"""How Sphinx builds the documentation; ``make docs`` runs it.

Nothing is loaded from the network, neither by the build nor by the pages.
"""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Any

from sphinx.application import Sphinx

project = "sturdygp"
author = "The sturdygp developers"
project_copyright = author
version = release = installed_version("sturdygp")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # The package that brings MathJax has a hyphen in its name.
    "sphinx-mathjax-offline",
]
exclude_patterns = ["results"]
templates_path = ["_templates"]

# The pages are read on code hosts too: maths is written as those take it, in dollars and blocks named math.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3

autosummary_generate = True
# Docstrings say what an argument is; a signature with all types would not fit on a line.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "doc_module": "sturdygp",
    "backreferences_dir": "api/examples",
    "reference_url": {"sturdygp": None},
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    # How long an example takes here says nothing of how long it takes elsewhere.
    "min_reported_time": 3600,
    "thumbnail_size": (480, 320),
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"sturdygp {release}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["sturdygp.css"]
html_theme_options = {
    "logo": {"text": "sturdygp"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_nav_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that stand alone have no section to navigate.
ALONE = ("index", "why-robust", "quick-start", "which-estimator", "reproduction", "performance")
html_sidebars: dict[str, list[str]] = {page: [] for page in (*ALONE, "contributing", "changelog")}


# Public by name because other modules of the package call them.
OURS_ALONE = ("drawing", "fitted_to", "restore", "state")


def leave_out(_app: Sphinx, _what: str, name: str, member: Any, *_: Any) -> bool | None:
    """Leave out what other libraries describe on pages of their own, and what is ours alone."""
    owner = getattr(member, "__objclass__", None)
    module = getattr(member, "__module__", None) or getattr(owner, "__module__", None) or "sturdygp"
    # Fields of named tuples are told of by the text above them.
    field = (getattr(member, "__doc__", None) or "").startswith("Alias for field number")
    return True if field or name in OURS_ALONE or not module.startswith("sturdygp") else None


def setup(app: Sphinx) -> None:
    """Sphinx calls this once."""
    app.connect("autodoc-skip-member", leave_out)
