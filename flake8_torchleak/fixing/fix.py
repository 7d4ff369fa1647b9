"""`fix`: text in, text out with leaks ended, and what was done and left.

Each pass lints, applies what does not touch each other, and keeps the result only if it is clean: it parses, the
findings that were fixed are gone and no other came, and libcst finds the old module whole in it. What fails is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding, Fix, FixLevel, Span
from flake8_torchleak.fixing.edits import Batch, Edited, Offsets
from flake8_torchleak.fixing.verify import Witness
from flake8_torchleak.lint import lint
from flake8_torchleak.source import Source, parse
from flake8_torchleak.suppress import Suppressions

Chosen = tuple[Finding, Fix]
_MOST_PASSES = 10


@dataclass(frozen=True, slots=True)
class Fixed:
    """What became of a text.

    fixed: the findings that are gone, with the fix that ended each; left: those of the new text that stay;
    found: how many there were to begin with (a fix may end several); suppressed: how many that could be fixed carry a
    `# noqa`; findings: all of the new text, whether selected and suppressed or not; mended: how many of those that had
    a fix of an allowed level are gone, by their own or by another one. Others can end with them.
    """

    text: str
    fixed: tuple[Chosen, ...]
    left: tuple[Finding, ...]
    found: int
    suppressed: int
    findings: tuple[Finding, ...]
    mended: int = 0


def chosen(finding: Finding, unsafe: bool) -> Fix | None:
    """The fix to apply: the first whose level is allowed."""
    return next((each for each in finding.fixes if unsafe or each.level is FixLevel.SAFE), None)


def fix(
    source: str,
    config: Config,
    unsafe: bool,
    takes: Callable[[str], bool],
    path: str | None = None,
    levels: Callable[[Finding], Finding] = lambda finding: finding,
    old: Callable[[Iterable[Finding]], Collection[tuple[str, Span]]] = lambda findings: (),
) -> Fixed:
    """`source` with every fix of the allowed levels that holds.

    unsafe: also those that may change a type, timing or cost. takes: whether a code is selected.
    path: where the text lives, if known, as for `lint`. levels: puts the fixes of a finding on the levels that they
    have for the user. old: asked once, for code and place of those findings that are not to be fixed.
    Raises SyntaxError when the text does not parse.
    """
    state = _Linted(source, config, takes, path, levels)
    spared = old(state.shown)
    state.spared = {state.place(each) for each in state.shown if (each.code, each.span) in spared}
    found, offered = len(state.shown), sum(chosen(each, unsafe) is not None for each in state.shown)
    fixed: list[Chosen] = []
    refused: dict[Finding, str] = {}
    passes = 0
    while passes < _MOST_PASSES:
        wanted = list(state.wanted(unsafe, refused))
        if not wanted:
            break
        after, done, bad = _operate(state, [pair for pair in wanted if pair[1].early] or wanted)
        refused.update((each, "its result would not be clean, or libcst cannot tell") for each, _ in bad)
        if after is not None:
            fixed += done
            state = after
            refused.clear()  # the findings that stay are at other places now, and are asked about again
            passes += 1
    left = [replace(each, fixes=(), unfixed=refused[each]) if each in refused else each for each in state.shown]
    mended = offered - sum(each in refused for each in state.shown)
    return Fixed(state.text, tuple(fixed), tuple(left), found, state.suppressed, tuple(state.findings), mended)


class _Linted:
    """A text on its way, with its findings. spared: those that are not to be fixed."""

    def __init__(
        self,
        text: str,
        config: Config,
        takes: Callable[[str], bool],
        path: str | None,
        levels: Callable[[Finding], Finding],
    ) -> None:
        self.text, self.config, self.takes, self.path, self.levels = text, config, takes, path, levels
        self.source = Source(text)
        self.tree = parse(text)
        self.offsets = Offsets(self.source)
        self.findings = [levels(each) for each in lint(text, config, self.tree, path, fixes=True)]
        self.spared: set[tuple[str, int]] = set()
        self._suppressions = Suppressions(text)
        selected = [each for each in self.findings if takes(each.code)]
        self.shown = [each for each in selected if not self._suppressions.hides(each.code, each.span.line)]
        self.suppressed = sum(bool(each.fixes) for each in selected) - sum(bool(each.fixes) for each in self.shown)

    @cached_property
    def witness(self) -> Witness:
        """libcst's view of the text."""
        return Witness(self.source, self.tree, self.offsets)

    def wanted(self, unsafe: bool, refused: dict[Finding, str]) -> Iterator[Chosen]:
        """The findings to fix, each with its fix. A line that carries a `# noqa` for its code is not touched."""
        for each in self.shown:
            how = chosen(each, unsafe)
            if how is None or each in refused:
                continue
            if self.place(each) in self.spared:
                refused[each] = "it is an old finding of the baseline; --fix-baselined fixes those too"
                continue
            lines = {edit.span.line for edit in how.edits if not edit.text.endswith(("\n", "\r"))}
            hidden = next((line for line in sorted(lines) if self._suppressions.hides(each.code, line)), None)
            if hidden is None:
                yield each, how
            else:
                refused[each] = f"line {hidden} carries `# noqa`"

    def place(self, finding: Finding) -> tuple[str, int]:
        """The finding's code and the offset where it begins."""
        return finding.code, self.offsets.at(finding.span.line, finding.span.col)


def _operate(before: _Linted, wanted: list[Chosen]) -> tuple[_Linted | None, list[Chosen], list[Chosen]]:
    """The text after as many of these fixes as fit together (None: after none), those, and those that do not hold."""
    batch, taken = Batch(before.offsets), []
    for each, how in wanted:
        if batch.add(how):
            taken.append((each, how))
    after = _after(before, batch, taken)
    if after is not None or len(taken) < 2:
        return after, taken, ([] if after is not None else taken)
    # One of them is bad: halve until it is found. Two that hold alone but not together are tried again next time.
    middle = len(taken) // 2
    first, second = _operate(before, taken[:middle]), _operate(before, taken[middle:])
    bad = first[2] + second[2]
    if first[0] is None or second[0] is None:
        return first[0] or second[0], (first if first[0] else second)[1], bad
    return first[0], first[1], bad


def _after(before: _Linted, batch: Batch, taken: list[Chosen]) -> _Linted | None:
    """The text after a batch, if it is clean: see the module's docstring."""
    edits = list(batch)
    edited = Edited(before.text, edits)
    try:
        after = _Linted(edited.text, before.config, before.takes, before.path, before.levels)
    except SyntaxError:
        return None
    ended = {before.place(each) for each, _ in taken}
    stay = {
        (code, moved)
        for code, at in map(before.place, before.findings)
        for moved in edited.moved(at)
        if (code, at) not in ended
    }
    if any(after.place(each) not in stay for each in after.findings if after.takes(each.code)):
        return None
    after.spared = {(code, moved) for code, at in before.spared for moved in edited.moved(at)}
    return after if before.witness.keeps_whole(edits) else None
