"""What a rule is about, in short: what an editor shows beside the code."""

from __future__ import annotations

import re
import textwrap

from flake8_torchleak.addresses import rule_page
from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells.pages import OWN

CODE = re.compile(r"\bTLK[0-9]{3}\b")
_HEADING = re.compile(r"^(.+)\n-+$", re.MULTILINE)


def short_form(code: str, markdown: bool) -> str:
    """What the rule finds, what it cost when it was measured, and what to write instead; "" for a code of no rule."""
    pages = {each.code: each.page for each in OWN} | {each.code: each.page for each in all_rules()}
    page = pages.get(code, "")
    if not page:
        return ""
    slug, _, summary = page.partition("\n")[0].partition(": ")
    parts = _HEADING.split(page)
    sections = {name.strip(): body.strip("\n") for name, body in zip(parts[1::2], parts[2::2])}
    measured = sections.get("Measured", "").split("\n\n")[0]
    # What stands below "Leaks" is the same code without the leak, whatever it is called.
    names = list(sections)
    instead = sections[names[names.index("Leaks") + 1]] if "Leaks" in names[:-1] else ""
    said = [f"**{code}** {slug}: {summary}" if markdown else f"{code} {slug}: {summary}"]
    if measured:
        said.append(f"Measured: {' '.join(measured.split())}")
    if instead:
        example = textwrap.dedent(instead)
        said.append(f"Instead:\n\n```python\n{example}\n```" if markdown else f"Instead:\n\n{instead}")
    said.append(f"[The rule's page]({rule_page(code)})" if markdown else rule_page(code))
    return "\n\n".join(said)


def code_at(line: str, col: int) -> str:
    """The code of ours that stands in a line at a column; "" if none does."""
    return next((each[0] for each in CODE.finditer(line) if each.start() <= col <= each.end()), "")
