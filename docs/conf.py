"""How the site is built: Sphinx, MyST and furo"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "Chronolink"
author = "the Chronolink contributors"
copyright = "the Chronolink contributors, MIT licence"
release = version = installed("chronolink")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "catalogue_pages",
    "formulae",
    "offline",
    "paper_tables",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "measured", "code"]
nitpicky = False

myst_enable_extensions = ["deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 3

highlight_language = "none"  # formulae in docstrings are no Python
default_role = "code"  # a single backtick in a docstring is code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
add_module_names = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = f"Chronolink {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1b4d89", "color-brand-content": "#1b4d89"},
    "dark_css_variables": {"color-brand-primary": "#8ab6f0", "color-brand-content": "#8ab6f0"},
}
pygments_style = "default"
pygments_dark_style = "native"
