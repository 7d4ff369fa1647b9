"""Which codes a run reports: `select`, `ignore` and their like, as flake8 weighs them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from flake8_torchleak.config import ConfigError, did_you_mean
from flake8_torchleak.finding import BOUND

OPINIONATED = "TLK9"
"""The prefix of the rules that are off until someone asks for them."""
INTERNAL = "TLK000"
"""The code of an exception inside a rule."""
UNUSED = "TLK002"
"""The code of a `# noqa` that hides nothing: 0xx is about ourselves, so no rule will ever have it."""


class Selection:
    """The codes asked for: the longest prefix that fits a code decides; where two are equal, `ignore` does.

    select: replaces "all but TLK9"; empty means that nobody chose. extend_select: added to either. ignore: taken away.
    Unlike in flake8, an `ignore` of other codes does not switch TLK9 on; TLK000 and TLK003 stay on in any selection.
    """

    def __init__(
        self, select: Iterable[str] = (), extend_select: Iterable[str] = (), ignore: Iterable[str] = ()
    ) -> None:
        chosen = tuple(select)
        self._asked = (*chosen, *extend_select, INTERNAL, BOUND)
        self._everything = not chosen
        self._ignored = tuple(ignore)

    def without(self, codes: Iterable[str]) -> Selection:
        """This selection with more codes ignored: in flake8 too, those of `per-file-ignores` count as others do."""
        less = copy(self)
        less._ignored = (*self._ignored, *codes)
        return less

    def takes(self, code: str) -> bool:
        """Whether findings of `code` are reported."""
        asked = longest(self._asked, code)
        if not asked and (not self._everything or code.startswith(OPINIONATED)):
            return False
        ignored = longest(self._ignored, code)
        return not ignored or asked > ignored


def longest(prefixes: Iterable[str], code: str) -> int:
    """The length of the longest of `prefixes` that `code` starts with; 0 if there is none."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def known(option: str, given: Iterable[str], rules: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """`given`, each of which begins the code of one of `rules` (pairs of code and slug), TLK000 or TLK003.

    Raises ConfigError, one line, that names `option` and the nearest code for one that does not.
    """
    pairs = (*rules, (INTERNAL, "internal-error"), (BOUND, "analysis-bound"))
    given = tuple(given)
    for prefix in given:
        if not any(code.startswith(prefix) for code, _ in pairs):
            raise ConfigError(f"{option}: no rule begins with {prefix!r}{nearest(prefix, pairs)}")
    return given


def nearest(name: str, rules: Iterable[tuple[str, str]]) -> str:
    """What to add to an error about `name`: the rule whose code or slug is closest; empty if none is close."""
    names = {name: f"{code} ({slug})" for code, slug in rules for name in (code.lower(), slug)}
    return did_you_mean(name.lower(), names)
