"""What the command says about the rules themselves: one rule's page, and the list of all."""

from __future__ import annotations

from flake8_torchleak.config import ConfigError
from flake8_torchleak.finding import FixLevel
from flake8_torchleak.rule import all_rules, rule_table
from flake8_torchleak.shells.selection import INTERNAL, nearest

_FIXES = {
    FixLevel.SAFE: "safe (keeps the meaning)",
    FixLevel.UNSAFE: "unsafe (may change type, timing or cost)",
    FixLevel.HINT: "by hand (the message names the remedy)",
}

INTERNAL_PAGE = """internal-error: a rule failed on this file; the other rules still ran.

Why
---
A defect of torchleak, not of the code: please report it, with the message and, if possible, the file."""

HOME = "https://pypi.org/project/flake8-torchleak/"
"""Where the world finds the project: its page on the package index, for every release has one."""


def page(name: str) -> str:
    """The page of the rule with this code or slug, under a header. Raises ConfigError, one line, if there is none."""
    wanted = name.lower()
    if wanted in (INTERNAL.lower(), "internal-error"):
        return f"{INTERNAL} internal-error\n\n{INTERNAL_PAGE}\n"
    for each in all_rules():
        if wanted in (each.code.lower(), each.slug):
            default = "on" if each.default else "off; switch it on with --extend-select=" + each.code
            return f"{each.code} {each.slug}\ndefault: {default}\nfix: {_FIXES[each.fix]}\n\n{each.page}\n"
    pairs = [(each.code, each.slug) for each in all_rules()]
    raise ConfigError(f"there is no rule {name!r}{nearest(name, pairs)}")


def listing(output_format: str) -> str:
    """All rules by code, as "text", "json" or "markdown" (the README's table)."""
    if output_format == "markdown":
        return rule_table() + "\n"
    if output_format == "json":
        import json

        fields = [
            {
                "code": each.code,
                "slug": each.slug,
                "summary": each.summary,
                "default": each.default,
                "severity": each.severity.value,
                "fix": each.fix.value,
            }
            for each in all_rules()
        ]
        return json.dumps(fields, indent=2) + "\n"
    width = max((len(each.slug) for each in all_rules()), default=0)
    return "".join(
        f"{each.code}  {each.slug:<{width}}  {'on ' if each.default else 'off'}  {each.fix.value:<6}  {each.summary}\n"
        for each in all_rules()
    )
