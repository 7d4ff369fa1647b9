"""A page for each rule, made of its module's docstring, its proof, and the symptoms that lead to it."""

from __future__ import annotations

import re
from pathlib import Path

from flake8_torchleak.finding import FixLevel
from flake8_torchleak.rule import Rule, all_rules
from flake8_torchleak.shells.pages import OWN, Own
from website import symptoms, words
from website.families import FAMILIES

_FIXES = {
    FixLevel.SAFE: "[safe](../fixes.md)",
    FixLevel.UNSAFE: "[unsafe](../fixes.md)",
    FixLevel.HINT: "by hand",
}
MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured.md"

_HEADING = re.compile(r"^(.+)\n-+$", re.MULTILINE)
_CODE = re.compile(r"^ {4}.*$(?:\n+^ {4}.*$)*", re.MULTILINE)


def navigation() -> list[object]:
    """The rules' part of the navigation, by family."""
    listed: list[object] = [{"All rules": "rules/index.md"}]
    for start, (family, _) in FAMILIES.items():
        found = [
            {f"{each.code} {each.slug}": f"rules/{each.code}.md"} for each in all_rules() if each.code.startswith(start)
        ]
        listed.append({family: found})
    return [*listed, {"0xx: about torchleak": [{f"{own.code} {own.slug}": f"rules/{own.code}.md"} for own in OWN]}]


def pages() -> dict[str, str]:
    """Markdown by path."""
    found = {f"rules/{own.code}.md": own_page(own) for own in OWN}
    return {**found, **{f"rules/{each.code}.md": rule_page(each) for each in all_rules()}, "rules/index.md": INDEX}


INDEX = """\
# Rules

Each code has a page: what leaks, what to write instead, why, what it cost when it was measured, when the rule stays
silent, and how to fix it. `torchleak explain TLK401` prints the same. Codes and names are never reused.

"safe" means that the fix keeps the meaning of the code, "unsafe" that it may change a type, timing or cost, "hint" that
it takes a person. Where two stand, the first is the usual one. [What fixes may do](../fixes.md).

<!-- generated: rules -->

## 0xx: about torchleak itself

<!-- generated: own-codes -->
"""


def rule_page(each: Rule) -> str:
    """The page of a rule."""
    sections = markdown(each.page.partition("\n")[2].strip())
    measured = _measured(each.code)
    if measured:
        sections = sections.replace("\n## When it stays silent\n", f"\n{measured}\n\n## When it stays silent\n")
    default = "on" if each.default else f"off; `--extend-select={each.code}` switches it on"
    fixes = ", or ".join(_FIXES[level] for level in each.levels)
    parts = [
        f"---\ntitle: {each.code} {each.slug}\ndescription: {each.summary}\n---",
        f"# {each.code} {each.slug}",
        f"**{_sentence(each.summary)}**",
        f"Default: {default} · severity: {each.severity.value} · fix: {fixes}",
        *_symptoms(each.code),
        *_words(each.page),
        sections,
        _silencing(each),
    ]
    return "\n\n".join(parts) + "\n"


def own_page(own: Own) -> str:
    """The page of a code that no rule finds."""
    first, _, rest = own.page.partition("\n")
    summary = first.partition(": ")[2]
    title = f"{own.code} {own.slug}"
    return f"---\ntitle: {title}\n---\n\n# {title}\n\n**{_sentence(summary)}**\n\n{markdown(rest.strip())}\n"


def markdown(text: str) -> str:
    """A docstring's headings as those of Markdown, and its indented code in fences."""
    text = _HEADING.sub(r"## \1\n", text)
    return _CODE.sub(lambda code: f"```python\n{_outdented(code[0])}\n```", text)


def _outdented(code: str) -> str:
    return "\n".join(line[4:] for line in code.strip("\n").split("\n"))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _symptoms(code: str) -> list[str]:
    """Where the index of symptoms leads to this rule."""
    found = [each for each in symptoms.read() if code in each.codes]
    if not found:
        return []
    links = "\n".join(f"- [{each.title}](../symptoms.md#{each.anchor})" for each in found)
    return [f"## What you may see\n\n{links}"]


def _words(text: str) -> list[str]:
    return [f"> **What is this: {word.title}?** {word.text}" for word in words.said_in(text)]


def _measured(code: str) -> str:
    """The plots and rows of docs/measured.md that are about this rule."""
    text = MEASURED.read_text(encoding="utf-8")
    images = re.findall(rf"^!\[{code}: .*$", text, re.MULTILINE)
    rows = re.findall(rf"^\| {code} \| (.*)$", text, re.MULTILINE)
    table = ["| what is measured | leaking | repaired |", "|---|---:|---:|", *(f"| {row}" for row in rows)]
    parts = [image.replace("](plots/", "](../plots/") for image in images]
    return "\n\n".join([*parts, "\n".join(table)] if rows else parts)


def _silencing(each: Rule) -> str:
    return f"""\
## How to silence it

On one line, with the reason behind it:

```text
# noqa: {each.code}  why it is fine here
```

Everywhere, or in some files, in `pyproject.toml` for torchleak (flake8 has settings of the same names):

```toml
[tool.torchleak]
ignore = ["{each.code}"]

[tool.torchleak.per-file-ignores]
"tests/*" = ["{each.code}"]
```

More: [findings in old code](../adopting.md), [settings](../settings.md)."""
