"""What the command says about the rules themselves: one rule's page, and the list of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from flake8_torchleak.addresses import rule_file, rule_page
from flake8_torchleak.config import ConfigError, Option
from flake8_torchleak.finding import BOUND, FixLevel, Severity
from flake8_torchleak.rule import Rule, all_rules, rule_table
from flake8_torchleak.shells.fold import folded
from flake8_torchleak.shells.formats import as_json
from flake8_torchleak.shells.selection import INTERNAL, UNUSED, nearest
from flake8_torchleak.shells.settings import SETTINGS, Setting
from flake8_torchleak.wording import printable

_FIXES = {
    FixLevel.SAFE: "safe (keeps the meaning)",
    FixLevel.UNSAFE: "unsafe (may change type, timing or cost)",
    FixLevel.HINT: "by hand (the message names the remedy)",
}


class Own(NamedTuple):
    """A code of ours that no rule finds. header: what `explain` says before the page."""

    code: str
    slug: str
    severity: Severity
    header: str
    page: str


OWN = (
    Own(
        INTERNAL,
        "internal-error",
        Severity.ERROR,
        "",
        """internal-error: a rule failed on this file; the other rules still ran.

Why
---
A defect of torchleak, not of the code: please report it, with the message and, if possible, the file.""",
    ),
    Own(
        UNUSED,
        "unused-noqa",
        Severity.NOTE,
        f"default: off; switch it on with --report-unused-noqa\nfix: {_FIXES[FixLevel.SAFE]}\n",
        """unused-noqa: a comment `# noqa: TLKnnn` hides nothing.

Why
---
No rule, be it selected or not, finds there what the comment names. It may have outlived the code that it was about,
stand on the wrong line, or have its codes in lower case, which flake8 does not take. Codes of other tools, and `# noqa`
without codes, are left to others.

How to fix it
-------------
Safe: the codes that hide nothing are removed, and the comment where nothing is left of it.""",
    ),
    Own(
        BOUND,
        "analysis-bound",
        Severity.NOTE,
        "default: on\n",
        """analysis-bound: a file is too large to be analysed in full; said once a file.

Why
---
So that checking ends in a time that grows with the size of a file, some questions have a bound: of the values that may
reach one use of a variable the nearest 200 are looked at, of the bases of a class 50, of the callers of a function 50,
of other files of the project 40, and 3,000 lines of what a file uses of them. What is found is still true. What lies
beyond a bound is not looked at: leaks there may be missed, and a fix that would need it is not offered as safe.
Generated code, or very many files that use each other, are the usual cause.

Calls of calls are followed, too, through some ten levels, and other files through six: where that was not the end,
and where a project has more files than are looked at, a note says so, which is shown as other notes are (min-severity).

In `torchleak` it does not change the exit status. flake8 has no notes: there it fails the run as any finding does, and
tells of functions, classes and files that are too large, not of what they lead to. A baseline does not
list it, and --add-noqa gives it no `# noqa`.

Instead
-------
Split the function, or exclude the file. To hide the note, ignore TLK003.""",
    ),
)
"""0xx is about ourselves."""


def page(name: str) -> str:
    """The page of the rule with this code or slug, under a header; for the begin of several codes, a list of them.

    Raises ConfigError, one line, if there is none.
    """
    wanted = name.lower()
    for own in OWN:
        if wanted in (own.code.lower(), own.slug):
            return f"{own.code} {own.slug}\n{own.header}page: {rule_file(own.code)}\n\n{own.page}\n"
    for each in all_rules():
        if wanted in (each.code.lower(), each.slug):
            default = "on" if each.default else "off; switch it on with --extend-select=" + each.code
            head = f"default: {default}\nfix: {_fixes(each)}\npage: {rule_file(each.code)}"
            return f"{each.code} {each.slug}\n{head}\n\n{each.page}\n"
    family = [each for each in all_rules() if each.code.lower().startswith(wanted)]
    if wanted and family:
        rows = _table((each.code, each.slug, _on(each), each.summary) for each in family)
        return "\n".join((*rows, "", f"One of them in full: torchleak explain {family[0].code}", ""))
    pairs = [(each.code, each.slug) for each in all_rules()]
    raise ConfigError(f"there is no rule {name!r}{nearest(name, pairs)}")


def _fixes(each: Rule) -> str:
    return ", or ".join(_FIXES[level] for level in each.levels)


def listing(output_format: str, width: int = 0) -> str:
    """All rules by code, as "text" (folded to `width` columns), "json" or "markdown" (a table)."""
    if output_format == "markdown":
        return rule_table() + "\n"
    if output_format == "json":
        fields = [
            {
                "code": each.code,
                "slug": each.slug,
                "summary": each.summary,
                "default": each.default,
                "severity": each.severity.value,
                "fix": each.fix.value,
                "fixes": [level.value for level in each.levels],
                "url": rule_page(each.code),
            }
            for each in all_rules()
        ]
        return as_json(fields)
    rows = ((each.code, each.slug, _on(each), ", or ".join(each.levels), each.summary) for each in all_rules())
    return "".join(folded(line, width) + "\n" for line in _table(rows))


def _on(each: Rule) -> str:
    return "on" if each.default else "off"


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows as lines, their columns below each other."""
    rows = list(rows)
    widths = [max(map(len, column), default=0) for column in zip(*rows)][:-1]
    return ["  ".join((*(cell.ljust(wide) for cell, wide in zip(row, widths)), row[-1])) for row in rows]


def in_force(settings: Mapping[str, Setting], output_format: str) -> str:
    """The settings as "text", which is TOML with their origins in comments, or as "json"."""
    import json

    rows = {option.name: (_plain(option, settings[option.name].value), settings[option.name]) for option in SETTINGS}
    if output_format == "json":
        fields = {name: {"value": value, "from": list(each.origins)} for name, (value, each) in rows.items()}
        return as_json(fields)
    lines = ["[tool.torchleak]"]
    for name, (value, each) in rows.items():
        shown = json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict):
            pairs = (f"{json.dumps(key, ensure_ascii=False)} = {json.dumps(codes)}" for key, codes in value.items())
            shown = f"{{{', '.join(pairs)}}}"
        line = f"# {name}: not set" if value is None else f"{name} = {shown}  # {', '.join(each.origins)}"
        lines.append(printable(line))
    return "".join(f"{line}\n" for line in lines)


def _plain(option: Option, value: Any) -> object:
    """A setting's value as TOML and JSON have it; None where there is none."""
    if option.metavar == "GLOBS":
        return [pattern for pattern, _ in value]
    if option.metavar == "GLOB:CODES":
        table: dict[str, list[str]] = {}
        for (pattern, _), codes in value:
            table.setdefault(pattern, []).extend(codes)
        return table
    if option.name == "select" and not value:
        return None
    return list(value) if isinstance(value, tuple) else value
