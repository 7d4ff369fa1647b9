"""`fix`: text in, text out with leaks ended, and what was done and left.

Each pass lints, applies what does not touch each other, and keeps the result only if it is clean: it parses, the
findings that were fixed are gone and no other came, and libcst finds the old module whole in it. What fails is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding, Span
from flake8_torchleak.fixing.holding import Holding
from flake8_torchleak.fixing.linted import Chosen, Linted, Terms, chosen

_MOST_PASSES = 10
_MOST_LOOKS = 40
"""How often the text of one file is linted to tell fixes that hold from others."""
_BAD = "its result would not be clean, or libcst cannot tell"
_UNTRIED = (
    f"too many fixes of this file fail their check: after {_MOST_LOOKS} tries it is not known whether this one passes"
)
_LATER = f"{_MOST_PASSES} passes were made over this file: run it again"


@dataclass(frozen=True, slots=True)
class Fixed:
    """What became of a text.

    fixed: the findings that are gone, with the fix that ended each; left: those of the new text that stay;
    found: how many there were to begin with (a fix may end several); suppressed: how many that could be fixed carry a
    `# noqa`; findings: all of the new text, whether selected and suppressed or not; mended: how many of those that had
    a fix of an allowed level are gone, by their own or by another one. Others can end with them. first: what `lint`
    gives for the text as it was.
    """

    text: str
    fixed: tuple[Chosen, ...]
    left: tuple[Finding, ...]
    found: int
    suppressed: int
    findings: tuple[Finding, ...]
    mended: int = 0
    first: tuple[Finding, ...] = ()


def fix(
    source: str,
    config: Config,
    unsafe: bool,
    takes: Callable[[str], bool],
    path: str | None = None,
    levels: Callable[[Finding], Finding] = lambda finding: finding,
    old: Callable[[Iterable[Finding]], Collection[tuple[str, Span]]] = lambda findings: (),
    first: Sequence[Finding] | None = None,
    tells: Callable[[Finding], bool] = lambda finding: True,
) -> Fixed:
    """`source` with every fix of the allowed levels that holds.

    unsafe: also those that may change a type, timing or cost. takes: whether a code is selected.
    path: where the text lives, if known, as for `lint`. levels: puts the fixes of a finding on the levels that they
    have for the user. old: asked once, for code and place of those findings that are not to be fixed. first: what
    `lint` gives for the text, fixes included, if the caller has it. tells: whether a finding is worth telling; others
    are not fixed.
    Raises SyntaxError when the text does not parse.
    """
    terms = Terms(config, takes, path, levels, tells)
    state = Linted(source, terms, first)
    first = tuple(state.found)
    spared = old(state.shown)
    state.spared = {state.place(each) for each in state.shown if (each.code, each.span) in spared}
    found, offered = len(state.shown), sum(chosen(each, unsafe) is not None for each in state.shown)
    fixed: list[Chosen] = []
    refused: dict[Finding, str] = {}
    passes, looks = 0, _MOST_LOOKS
    while wanted := list(state.wanted(unsafe, refused)):
        if passes == _MOST_PASSES:
            refused.update((each, _LATER) for each, _ in wanted)
            break
        held = Holding(state, [pair for pair in wanted if pair[1].early] or wanted, looks)
        looks = held.looks
        if held.after is not None:
            fixed += [held.fixes[each] for each in held.done]
            state = held.after
            refused.clear()  # the findings that stay are at other places now, and are asked about again
            passes += 1
        else:
            refused.update((held.fixes[each][0], _BAD) for each in held.bad)
            refused.update((held.fixes[each][0], _UNTRIED) for each in held.untried)
    left = [replace(each, fixes=(), unfixed=refused[each]) if each in refused else each for each in state.shown]
    mended = offered - sum(each in refused for each in state.shown)
    return Fixed(state.text, tuple(fixed), tuple(left), found, state.suppressed, tuple(state.findings), mended, first)
