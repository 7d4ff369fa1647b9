"""A report as test results in JUnit's XML, for CI servers that show those and no report of linters.

A file with findings is a suite, each of them a test that failed; what could not be checked is a test that broke.
Servers take a report without a test for a broken one, so that a clean run is one test that passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from flake8_torchleak.finding import Finding
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.shells.report import advice, evidence, headline, label
from flake8_torchleak.source import Source
from flake8_torchleak.wording import printable


class Report(formats.Report):
    def __init__(self, colour: bool) -> None:
        super().__init__(colour)
        self._suites: list[str] = []
        self._failed = self._broken = 0

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        self._failed += len(findings)
        cases = "".join(_case(path, finding, source) for finding in findings)
        self._suites.append(_suite(portable(path), cases, failures=len(findings)))
        return ""

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        self._broken = len(complaints)
        if complaints:
            cases = "".join(
                _element(
                    "testcase",
                    _element("error", "", message=each.text),
                    name=portable(each.path) if each.path else "torchleak",
                )
                for each in complaints
            )
            self._suites.append(_suite("torchleak", cases, errors=len(complaints)))
        tests = self._failed + self._broken
        if not tests:
            self._suites.append(_suite("torchleak", _element("testcase", "", name="no findings"), passed=1))
        counts = {"tests": max(tests, 1), "failures": self._failed, "errors": self._broken}
        whole = _element("testsuites", "".join(self._suites), name="torchleak", **counts)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{whole}'


def _case(path: str, finding: Finding, source: Source) -> str:
    place = source.place(finding.span.line)
    told = [headline(path, finding, source), *(evidence(note, source) for note in finding.notes)]
    text = "\n".join([*told, *advice(finding, source)])
    failure = _element("failure", escape(_readable(text)), message=label(finding), type=finding.severity.value)
    name = f"{finding.code} {finding.slug}, {place.words}"
    # A notebook's lines are those of its JSON, which say nothing.
    line = 1 if place.cell else place.line
    return _element("testcase", failure, name=name, classname=portable(path), file=portable(path), line=line)


def _suite(name: str, cases: str, failures: int = 0, errors: int = 0, passed: int = 0) -> str:
    tests = failures + errors + passed
    return _element("testsuite", cases, name=name, tests=tests, failures=failures, errors=errors)


def _element(tag: str, inside: str, **attributes: object) -> str:
    """inside: XML as it stands."""
    listed = "".join(f" {key}={quoteattr(printable(_readable(str(value))))}" for key, value in attributes.items())
    return f"<{tag}{listed}>{inside}</{tag}>\n" if inside else f"<{tag}{listed}/>\n"


def _readable(text: str) -> str:
    """Without the two characters that our escapes leave alone, and that XML cannot hold."""
    return text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
