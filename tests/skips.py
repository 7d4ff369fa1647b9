"""`pytest -p tests.skips`: a test that is skipped, or expected to fail, for no reason known here fails the run.

What is known is printed with the reasons. A skip costs nothing to write and hides whatever it skips; so where all that
the tests need is there, as in `.ci/run`, each has to stand in this list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator

import pytest

KNOWN = {
    r"root may not become a plain user here": "who runs the tests may not change users: containers often forbid it",
    r"may not mount": "who runs the tests may not mount a file system: containers often forbid it",
    r"the file system does not take them": "extended attributes, which not every file system has",
    r"(?:asks for|needs Python|came with) 3\.11": "what the test compares with, or is about, came after this Python",
    r"is not installed here: apt-get": "an editor, where `.ci/run` may not install Debian's packages",
    r"a false claim": "the test of a test: what is claimed wrongly must fail, and does",
}
"""Words of a skip's reason, and why it may be."""

STRANGE = pytest.StashKey[Counter[str]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what was skipped, and what of it nobody knows."""
    reports = [*terminalreporter.getreports("skipped"), *terminalreporter.getreports("xfailed")]
    reasons = Counter(_reason(each) for each in reports)
    for reason, count in sorted(reasons.items()):
        why = next((why for words, why in KNOWN.items() if re.search(words, reason)), None)
        terminalreporter.write_line(
            f"skipped {count}: {reason}: {f'known: {why}' if why else 'NOT KNOWN, SO THIS FAILS'}"
        )
        if why is None:
            config.stash.setdefault(STRANGE, Counter())[reason] += count


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Fail a run that passed but for that; the summary above is written inside."""
    yield
    if STRANGE in session.config.stash and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    given = getattr(report, "wasxfail", None) or (report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
    return str(given).removeprefix("Skipped: ").removeprefix("reason: ")
