"""Every model and encoder of the catalogue, by its docstring"""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from chronolink.catalogue import find, members
from chronolink.model import LinkModel
from chronolink.time_encoder import TimeEncoder

CONTRACTS: dict[str, type] = {"models": LinkModel, "time_encoders": TimeEncoder}


class Catalogue(SphinxDirective):
    """The members of a plural folder, `models` or `time_encoders`, under the names that people type."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        folder = self.arguments[0]
        found = nodes.container()
        lines = [line for name in members(folder) for line in _entry(folder, name)]
        self.state.nested_parse(StringList(lines, source=folder), self.content_offset, found)
        return found.children


def _entry(folder: str, name: str) -> list[str]:
    member = find(folder, name, CONTRACTS[folder])
    about = f".. autoclass:: {member.__module__}.{member.__name__}"
    return [f"`{name.replace('_', '-')}`", "```{eval-rst}", about, "   :no-members:", "```", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("catalogue", Catalogue)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
