"""SARIF 2.1.0, the OASIS standard for the results of static analysis: one run, its rules with their pages.

The same input gives the same bytes: no times, no machine, and (as the standard allows) no address for %SRCROOT%,
the folder that the command ran in.
"""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak import __version__
from flake8_torchleak.addresses import SITE, rule_page
from flake8_torchleak.finding import Finding, Fix, Severity, Span
from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells import formats, pages
from flake8_torchleak.shells.fingerprints import Fingerprints
from flake8_torchleak.shells.paths import uri
from flake8_torchleak.shells.report import advice, evidence
from flake8_torchleak.source import Source

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

Object = dict[str, object]


class Report(formats.Report):
    def __init__(self, colour: bool) -> None:
        super().__init__(colour)
        self._rules = [_rule(own.code, own.slug, own.severity, own.page) for own in pages.OWN]
        self._rules += [_rule(each.code, each.slug, each.severity, each.page) for each in all_rules()]
        self._index = {each["id"]: index for index, each in enumerate(self._rules)}
        self._fingerprints = Fingerprints()
        self._results: list[Object] = []

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        self._results += [self._result(path, finding, source) for finding in findings]
        return ""

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        driver = {
            "name": "torchleak",
            "version": __version__,
            "semanticVersion": __version__,
            "informationUri": SITE,
            "rules": self._rules,
        }
        run = {
            "tool": {"driver": driver},
            "invocations": [
                {
                    "executionSuccessful": not complaints,
                    "toolExecutionNotifications": [_notification(each) for each in complaints],
                }
            ],
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder that torchleak ran in."}}},
            "columnKind": "unicodeCodePoints",
            "newlineSequences": ["\r\n", "\n", "\r"],
            "results": self._results,
        }
        return formats.as_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})

    def _result(self, path: str, finding: Finding, source: Source) -> Object:
        # Of a notebook SARIF knows only the lines of its JSON, and fixes would be edits of that: words say which cell.
        place = source.place(finding.span.line)
        where = f"{place.words}: " if place.cell else ""
        related = [
            {
                **_location(note.path or path, {} if place.cell and not note.path else _region(note.span)),
                "id": number,
                "message": _message(evidence(note, source) if place.cell else note.text),
            }
            for number, note in enumerate(finding.notes, 1)
        ]
        return {
            "ruleId": finding.code,
            "ruleIndex": self._index[finding.code],
            "level": finding.severity.value,
            "message": _message("\n".join((where + finding.message, *advice(finding, source)))),
            "locations": [_location(path, {} if place.cell else _region(finding.span))],
            "relatedLocations": related,
            "partialFingerprints": {"torchleak/v1": self._fingerprints.take(path, finding, source)},
            "fixes": [_fix(path, fix) for fix in finding.all_fixes if not place.cell],
        }


def _rule(code: str, slug: str, severity: Severity, page: str) -> Object:
    """The rule's page, which is Markdown as it stands: underlined headings, and code indented by four."""
    why = page.partition("\nWhy\n---\n")[2].partition("\n\n")[0]
    return {
        "id": code,
        "name": slug,
        "shortDescription": {"text": page.partition("\n")[0]},
        "fullDescription": {"text": " ".join(why.split())},
        "help": {"text": page, "markdown": page},
        "helpUri": rule_page(code),
        "defaultConfiguration": {"level": severity.value},
    }


def _message(text: str) -> Object:
    """A message that shows as `text`: braces are placeholders to SARIF, `[..](..)` a link, as `layers[0](x)` is not."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def _location(path: str, region: Object) -> Object:
    return {"physicalLocation": {"artifactLocation": _artifact(path), **({"region": region} if region else {})}}


def _artifact(path: str) -> Object:
    address = uri(path)
    return {"uri": address} if address.startswith("file:") else {"uri": address, "uriBaseId": "%SRCROOT%"}


def _region(span: Span) -> Object:
    return {
        "startLine": span.line,
        "startColumn": span.col + 1,
        "endLine": span.end_line,
        "endColumn": span.end_col + 1,
    }


def _fix(path: str, fix: Fix) -> Object:
    replacements = [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits]
    return {
        "description": _message(f"{fix.title} ({fix.level.value})"),
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }


def _notification(complaint: formats.Complaint) -> Object:
    notification: Object = {"level": "error", "message": _message(complaint.text)}
    if complaint.path:
        region: Object = {"startLine": complaint.line} if complaint.line else {}
        notification["locations"] = [_location(complaint.path, region)]
    return notification
