"""Fixes a program as the command would, runs both texts, and says whether the fix kept what it had to keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Finding, FixLevel
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.lint import lint
from tests.training.measure import Kept, kept
from tests.training.program import Files, Program, on_disk
from tests.training.run import Outcome, run

Fixer = Callable[[Files], "Mended"]

GRAPH = frozenset({"TLK401", "TLK402", "TLK403"})
"""Rules whose fix ends the life of autograd nodes."""
BASE = frozenset({"TLK205", "TLK404"})
"""Rules whose fix ends the life of memory that a kept view shares."""

SAMPLE = frozenset({"TLK201", "TLK202", "TLK203", "TLK204", "TLK206"})
"""Rules whose fix keeps what a Dataset stores apart from its samples."""


@dataclass(frozen=True)
class Mended:
    """Files after their fixes, how many fixes of each rule were applied, and what is left."""

    files: Files
    fixed: Counter[str]
    left: Counter[str]


@dataclass(frozen=True)
class Verdict:
    """What became of one program.

    failure: what is wrong, one name for one kind of defect; empty if nothing is. differs: what the fix changed.
    as_meant: the fixed program does what its author meant, where that is not what it did before.
    before, after: what both runs did; kept: what both kept, where a fix claims to change it.
    """

    program: Program
    mended: Mended
    failure: str = ""
    differs: tuple[str, ...] = ()
    as_meant: bool = False
    before: Outcome | None = None
    after: Outcome | None = None
    kept: tuple[Kept, Kept] | None = None

    @property
    def changed(self) -> bool:
        """Whether a fix changed any of its files."""
        return bool(self.mended.fixed)


def mend(files: Files, unsafe: bool = False, takes: Callable[[str], bool] = lambda code: True) -> Mended:
    """Every file after its fixes, in the order of their names, each as `torchleak check --fix` leaves it."""
    texts, fixed, left = dict(files), Counter[str](), Counter[str]()
    with on_disk(texts) as folder:
        for path in sorted(texts):
            done = fix(texts[path], DEFAULT, unsafe, takes, str(folder / path))
            if done.text != texts[path]:
                (folder / path).write_text(done.text, encoding="utf-8")
            texts[path] = done.text
            fixed.update(finding.code for finding, _ in done.fixed)
            left.update(finding.code for finding in done.left)
    return Mended(texts, fixed, left)


def findings(files: Files) -> list[Finding]:
    """What is found in all files, with what could be fixed."""
    with on_disk(files) as folder:
        return [
            each for path in sorted(files) for each in lint(files[path], DEFAULT, path=str(folder / path), fixes=True)
        ]


def unsafe_codes(files: Files) -> set[str]:
    """The rules that offer an unsafe fix somewhere."""
    found = findings(files)
    return {each.code for each in found if any(one.level is FixLevel.UNSAFE for one in each.fixes)}


def judge(program: Program, fixer: Fixer = mend) -> Verdict:
    """Run a program as it is and after its fixes. fixer: what fixes it, for tests of the harness itself."""
    mended = fixer(program.files)
    before = run(program.files)
    if dict(mended.files) == dict(program.files):
        return Verdict(program, mended, before=before)
    after = run(mended.files)
    differs = before.differs(after)
    as_meant = False
    if differs and program.meant:
        as_meant = any(not run(each).differs(after) for each in program.meant)
    if before.error and _SPENT in before.error:
        # It differentiates what is spent, and never gets to train: nothing that a fix could change.
        return Verdict(program, mended, before=before, after=after)
    if differs and not as_meant:
        return Verdict(program, mended, _named(differs, after), differs, before=before, after=after)
    if before.error or not (mended.fixed.keys() & (GRAPH | BASE | SAMPLE)):
        return Verdict(program, mended, "", differs, as_meant, before, after)
    memory = bool(mended.fixed.keys() & BASE)
    measured = kept(program.files, memory), kept(mended.files, memory)
    failure = _still_kept(mended, *measured) if program.holders == 1 else ""
    return Verdict(program, mended, failure, differs, as_meant, before, after, measured)


_SPENT = "Trying to backward through the graph a second time"


def _named(differs: tuple[str, ...], after: Outcome) -> str:
    if "error" in differs:
        return f"exception: {after.error.partition(':')[0] or 'gone'}"
    return f"{differs[0]} differ"


def _still_kept(mended: Mended, before: Kept, after: Kept) -> str:
    """What is kept although its finding was fixed; empty if nothing is."""
    if mended.fixed.keys() & GRAPH and before.graph and after.graph >= before.graph:
        return "graph still kept"
    if mended.fixed.keys() & BASE and before.memory and after.memory >= before.memory:
        return "memory still kept"
    if mended.fixed.keys() & SAMPLE and before.samples and after.samples >= before.samples:
        return "samples still shared"
    return ""


@contextmanager
def patched(replaced: Mapping[str, object]) -> Iterator[None]:
    """Functions of the package, by dotted name, replaced for a while: for a harness that is to fail without them."""
    with ExitStack() as stack:
        for name, new in replaced.items():
            stack.enter_context(mock.patch(name, new))
        yield
