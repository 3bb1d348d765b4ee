"""Errors that a user can mend, each one sentence"""

from collections.abc import Iterable
from difflib import get_close_matches


class ChronolinkError(Exception):
    """What is wrong, with the value, then what to do. The command line prints it alone and exits with 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> ChronolinkError:
    """`no model named 'tgta'; did you mean 'tgat'?`"""
    known = sorted(known)
    close = get_close_matches(name.lower(), known, n=1)
    advice = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known)}"
    return ChronolinkError(f"no {kind} named '{name}'; {advice}")


def at_least_one(**counts: int) -> None:
    """Refuses the first count below 1, by its name."""
    for name, count in counts.items():
        if count < 1:
            raise ChronolinkError(f"{name} is {count}; it must be 1 or more")
