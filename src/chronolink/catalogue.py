"""File names to the classes they define"""

from __future__ import annotations

import inspect
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from .errors import unknown

T = TypeVar("T")


def plain(name: str) -> str:
    """Hyphens and underscores, capitals and small letters in names are the same."""
    return name.strip().lower().replace("-", "_")


def members(folder: str) -> list[str]:
    """The names in a plural folder, such as `models`: the folder is the registry."""
    package = import_module(f"{__package__}.{folder}")
    return sorted(found.name for found in iter_modules(package.__path__) if not found.name.startswith("_"))


def find(folder: str, name: str, contract: type[T]) -> type[T]:
    """The one public subclass of the contract that the file of that name defines."""
    known = members(folder)
    if plain(name) not in known:
        raise unknown(folder.rstrip("s").replace("_", " "), name, [member.replace("_", "-") for member in known])
    module = import_module(f"{__package__}.{folder}.{plain(name)}")
    for value in vars(module).values():
        if not (inspect.isclass(value) and issubclass(value, contract)) or value.__name__.startswith("_"):
            continue
        if value.__module__ == module.__name__:
            return value
    raise TypeError(f"{module.__name__} defines no {contract.__name__}")
