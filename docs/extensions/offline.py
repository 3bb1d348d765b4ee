"""A page that would reach for the network is a warning"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)
FETCHED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=["'](https?:)?//[^"']+["'][^>]*>""")
STYLED = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")


def check(app: Sphinx, error: Exception | None) -> None:
    """What a browser fetches by itself must be in the folder; links that people click may lead anywhere."""
    if error is not None or app.builder.name != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        for found in FETCHED.finditer(path.read_text(encoding="utf-8")):
            log.warning("%s fetches from the network: %s", path.name, found[0])
    for path in sorted(Path(app.outdir).rglob("*.css")):
        if STYLED.search(path.read_text(encoding="utf-8")):
            log.warning("%s fetches from the network", path.name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
