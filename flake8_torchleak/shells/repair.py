"""`torchleak check --fix` and `--diff`: what is done with one file, and what is said of it all in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from flake8_torchleak.finding import Finding, Span
from flake8_torchleak.fixing.edits import Batch, Edited, Offsets
from flake8_torchleak.fixing.fix import Fixed, fix
from flake8_torchleak.fixing.linted import chosen
from flake8_torchleak.lint import lint
from flake8_torchleak.shells.comments import unused
from flake8_torchleak.shells.placing import Placing
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.selection import UNUSED
from flake8_torchleak.shells.texts import Complain, File, parsing
from flake8_torchleak.shells.treatment import Checking, ReadingAll
from flake8_torchleak.source import Source
from flake8_torchleak.wording import printable


class Repairing(ReadingAll):
    """Fixes files in place (stdin to stdout), or, for `--diff`, shows what would change and writes nothing.

    baselined: fix old findings of the baseline too; only: tell what was changed, and leave it to others what stays;
    lists: tell it besides.
    """

    def __init__(
        self,
        policy: Policy,
        complain: Complain,
        *,
        unsafe: bool,
        diff: bool,
        baselined: bool,
        to_stdout: bool,
        only: bool = False,
        lists: bool = False,
    ) -> None:
        self._policy, self._complain = policy, complain
        self._unsafe, self._diff, self._baselined = unsafe, diff, baselined
        self.config, self._check = policy.config, Checking(policy, complain)
        self._place = Placing(complain, diff)
        self.stdout_taken = diff or to_stdout
        self.lists = self.changes = not diff
        self.tells = not only
        self._names = only or lists
        self._fixed = self._ended = self._files = self._suppressed = self._waiting = self._left = 0
        self._changed: list[str] = []

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        with self._place.piping(file):
            return self._treated(file)

    def unread(self, raw: bytes) -> None:
        self._place.unread(raw)

    def _treated(self, file: File) -> tuple[str, list[Finding]] | None:
        if file.notebook and file.notebook.broken:
            return self._check(file)
        done = parsing(file.path, self._complain, lambda: self._mended(file))
        if done is None:
            return None
        tidy, text = tidied(self._policy, done)
        if not self._place.put(file, text):
            return self._check(file)
        left = self._policy.fresh(file.path, text, done.findings, [self._explained(each) for each in done.left])
        self._fixed += done.mended + len(tidy)
        self._ended += done.found - len(done.left) - done.mended
        self._files += text != file.text
        self._suppressed += done.suppressed
        self._waiting += sum(each.fixable is not None for each in left if not self._unsafe)
        if self._names and text != file.text:
            fixed = "would fix" if self._diff else "fixed"
            self._changed.append(f"{printable(file.path)}: {fixed} {self._what(file, done, len(tidy))}.")
        if not self.tells:
            self._left += len(left)
            return text, []
        return (file.text, self._standing(file, done)) if self._diff else (text, left)

    def _what(self, file: File, done: Fixed, tidied: int) -> str:
        """The findings that are gone, by code. tidied: how many comments were."""
        gone = Counter((each.code, each.slug) for each in self._policy.selected(file.path, file.text, done.first))
        gone.subtract((each.code, each.slug) for each in done.left)
        gone[(UNUSED, "unused-noqa")] += tidied
        return ", ".join(f"{count} {code} {slug}" for (code, slug), count in sorted(gone.items()) if count > 0)

    def _standing(self, file: File, done: Fixed) -> list[Finding]:
        """What is found in the file as it is, where nothing is fixed yet."""
        standing = self._policy.standing(file.path, file.text, done.first)
        return [each if each.code == UNUSED else self._explained(each) for each in standing]

    def summary(self) -> list[str]:
        would, end = ("Would fix", "would end") if self._diff else ("Fixed", "ended")
        what = f"{self._fixed} finding{'s' * (self._fixed != 1)} in {self._files} file{'s' * (self._files != 1)}"
        lines = [f"{would} {what}{f'; {self._ended} more {end} with them' if self._ended else ''}."]
        lines = [*self._changed, *lines]
        if self._left:
            lines.append(f"Left: {self._left} finding{'s' * (self._left != 1)}, which `torchleak check` names.")
        if self._suppressed:
            lines.append(f"Not fixed, as the line has a `# noqa`: {self._suppressed} that could be fixed.")
        if self._waiting:
            lines.append(f"Can be fixed with --unsafe-fixes: {self._waiting}.")
        return lines + self._policy.summary()

    def _mended(self, file: File) -> Fixed:
        return mended(self._policy, file.path, file.text, unsafe=self._unsafe, baselined=self._baselined)

    def _explained(self, finding: Finding) -> Finding:
        """The finding with the reason why it is left, if it is of a kind that can be fixed."""
        if finding.fixes and chosen(finding, self._unsafe) is None:
            return replace(finding, unfixed="it needs --unsafe-fixes")
        return finding


def mended(policy: Policy, path: str, text: str, *, unsafe: bool, baselined: bool = False) -> Fixed:
    """What `--fix` makes of a text, but for its comments. Raises SyntaxError where it does not parse."""
    first = lint(text, policy.config, path=path, fixes=True)
    if not first:
        return Fixed(text, (), (), 0, 0, ())  # parsed or not, as without --fix

    def old(findings: Iterable[Finding]) -> Collection[tuple[str, Span]]:
        return () if baselined else policy.old(path, text, findings)

    return fix(text, policy.config, unsafe, policy.takes(path), path, policy.levels.apply, old, first, policy.tells)


def tidied(policy: Policy, done: Fixed) -> tuple[list[Finding], str]:
    """The comments that hide nothing in a fixed text, and the text without them, where they are reported."""
    tidy = [each for each in unused(done.text, done.findings) if policy.report_unused and each.fixes]
    return tidy, applied(done.text, tidy)


def applied(text: str, findings: Iterable[Finding]) -> str:
    """A text with the first fix of each finding. They do not touch each other."""
    batch = Batch(Offsets(Source(text)))
    for each in findings:
        batch.add(each.fixes[0])
    return Edited(text, batch).text
