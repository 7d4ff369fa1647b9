"""Fix levels as the user wants them: `extend-safe-fixes`, `extend-unsafe-fixes`, `unfixable`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flake8_torchleak.finding import Finding, FixLevel
from flake8_torchleak.shells.selection import longest


class Levels:
    """safe: codes or prefixes of rules whose fixes are all safe; unsafe: all unsafe; never: they are never fixed.

    The longest prefix that fits decides; where two are equal, unsafe does. `never` goes before both, as in ruff.
    """

    def __init__(self, safe: Iterable[str] = (), unsafe: Iterable[str] = (), never: Iterable[str] = ()) -> None:
        self._safe, self._unsafe, self._never = tuple(safe), tuple(unsafe), tuple(never)

    def apply(self, finding: Finding) -> Finding:
        """The finding with its fixes at the level that they have for this user, or without them."""
        code = finding.code
        if longest(self._never, code):
            remedy = finding.remedy or "".join(each.title for each in finding.fixes[:1])
            unfixed = f"the setting unfixable names {code}"
            return replace(finding, fix=FixLevel.HINT, fixes=(), remedy=remedy, unfixed=unfixed)
        safe, unsafe = longest(self._safe, code), longest(self._unsafe, code)
        if not safe and not unsafe:
            return finding
        level = FixLevel.SAFE if safe > unsafe else FixLevel.UNSAFE
        rule = finding.fix if finding.fix is FixLevel.HINT else level
        return replace(finding, fix=rule, fixes=tuple(replace(each, level=level) for each in finding.fixes))
