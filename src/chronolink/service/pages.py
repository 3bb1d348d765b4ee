"""Pages of one file each"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from importlib.resources import files


def read_page(name: str) -> tuple[str, str]:
    """A page with its style and scripts inside, and the policy under which a browser runs these and nothing else."""
    page = re.sub(r"@([a-z]+\.(?:css|js))\n", lambda part: _read(part[1]), _read(name))
    scripts, styles = (" ".join(_digests(page, tag)) for tag in ("script", "style"))
    policy = f"default-src 'none'; connect-src 'self'; img-src data:; script-src {scripts}; style-src {styles}"
    return page, f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def _read(name: str) -> str:
    return (files("chronolink.service") / name).read_text(encoding="utf-8")


def _digests(page: str, tag: str) -> list[str]:
    parts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return [f"'sha256-{b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in parts]
