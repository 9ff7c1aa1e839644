"""How sphinx builds the site.  The folder of pages is the copy that `staging` makes."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from docs_site import docstrings  # needs the line above

project = "stallkit"
version = release = version_of("stallkit")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["files", "skills/*/agents"]
nitpicky = False

smartquotes = False  # two hyphens begin an option
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["misc.highlighting_failure"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False
python_maximum_signature_line_length = 100
pygments_style, pygments_dark_style = "friendly", "github-dark"

html_theme = "furo"
html_title = "stallkit"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["stallkit.css"]
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):  # type: ignore[no-untyped-def]  # sphinx's own types are not installed where mypy runs
    app.connect("autodoc-process-docstring", docstrings.as_rst)
