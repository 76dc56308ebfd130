"""The documentation as a site: `make site`. It opens from disk and asks no network for anything."""

import re

from pygments.lexers.special import TextLexer

project = "Bias Atlas"
author = "The Bias Atlas authors"
extensions = ["myst_parser"]
exclude_patterns = ["examples"]
html_theme = "furo"
html_title = "Bias Atlas"
html_copy_source = False
html_show_sourcelink = False
#: Excerpts would be fetched, which a page opened from disk may not do.
html_show_search_summary = False
#: Headings to which pages link, as on GitHub.
myst_heading_anchors = 3
#: Options are written with two hyphens, which would become a dash.
smartquotes = False


def keep_links_inside(app, docname, source):
    """Files of the repository outside docs/ are named, not linked: the site stands alone."""
    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", source[0])


def setup(app):
    app.connect("source-read", keep_links_inside)
    app.add_lexer("csv", TextLexer)
