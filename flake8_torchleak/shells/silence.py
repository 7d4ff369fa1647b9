"""`torchleak check --add-noqa`: writes comments that hide what stands, as if someone had judged each finding."""

from __future__ import annotations

from flake8_torchleak.finding import BOUND, Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.shells.comments import annotated
from flake8_torchleak.shells.placing import Placing
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.selection import INTERNAL
from flake8_torchleak.shells.texts import Complain, File, parsing
from flake8_torchleak.shells.treatment import Checking, ReadingAll
from flake8_torchleak.wording import printable


class Silencing(ReadingAll):
    """Adds comments to files in place (stdin to stdout), or, for `--diff`, shows them and writes nothing."""

    tells = True

    def __init__(self, policy: Policy, complain: Complain, *, diff: bool, to_stdout: bool) -> None:
        self.config, self._policy, self._complain, self._diff = policy.config, policy, complain, diff
        self._check = Checking(policy, complain)
        self._place = Placing(complain, diff)
        self.stdout_taken = diff or to_stdout
        self.lists = self.changes = not diff
        self._hidden = self._files = 0
        self._loud: list[str] = []

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        with self._place.piping(file):
            return self._treated(file)

    def unread(self, raw: bytes) -> None:
        self._place.unread(raw)

    def _treated(self, file: File) -> tuple[str, list[Finding]] | None:
        if file.notebook and file.notebook.broken:
            return self._check(file)
        policy = self._policy
        found = parsing(file.path, self._complain, lambda: self._lint(file.text, file.path))
        if found is None:
            return None
        standing = policy.selected(file.path, file.text, found)
        old = policy.old(file.path, file.text, standing)
        wanted = [each for each in standing if each.code not in (INTERNAL, BOUND) and (each.code, each.span) not in old]
        text = annotated(file.text, wanted)
        if not self._place.put(file, text):
            return file.text, policy.shown(file.path, file.text, found)
        left = policy.shown(file.path, text, self._lint(text, file.path))
        places = {(each.code, each.span) for each in left}
        hidden = [each for each in wanted if (each.code, each.span) not in places]
        self._hidden += len(hidden)
        self._files += text != file.text
        place = file.source(file.text).place
        loud = (each for each in wanted if each not in hidden)
        self._loud += [f"{printable(file.path)}:{place(each.span.line)}: {each.code}" for each in loud]
        return (file.text, sorted(hidden + left, key=Finding.sort_key)) if self._diff else (text, left)

    def summary(self) -> list[str]:
        would = "Would hide" if self._diff else "Hid"
        what = f"{self._hidden} finding{'s' * (self._hidden != 1)} in {self._files} file{'s' * (self._files != 1)}"
        lines = [f"{would} {what} with `# noqa`."]
        # flake8 takes the first such text of a line for the comment, be it in a string.
        lines += [f"Cannot be hidden, as a string there contains `# noqa`: {each}." for each in self._loud]
        return lines + self._policy.summary()

    def _lint(self, text: str, path: str) -> list[Finding]:
        return lint(text, self._policy.config, path=path, fixes=True)
