"""From the data to what is read: each rule's "Measured" section, and the table and plots of docs/measured.md."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from flake8_torchleak.rule import all_rules
from tests.proofs.data import Data
from tests.proofs.plots import svg
from tests.proofs.proof import Proof, Row
from tests.proofs.sources import ROOT

PAGE = ROOT / "docs" / "measured.md"
PLOTS = ROOT / "docs" / "plots"
WIDTH = 112

_SECTION = re.compile(r"(?<=^Measured\n--------\n).*?(?=\n\n[^\n]+\n---)", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"(?<=^<!-- proofs -->\n).*?(?=^<!-- /proofs -->$)", re.DOTALL | re.MULTILINE)


class Shown(float):
    """A figure as pages show it: less than nothing is noise below a control, and reads 0, not -0 or -3."""

    def __format__(self, spec: str) -> str:
        return format(max(float(self), 0.0) or 0.0, spec)


def section(proof: Proof, data: Data) -> str:
    """The text of "Measured": the proof's own words filled with figures, then where and by what they were measured."""
    figures = {name: {figure: Shown(value) for figure, value in each.items()} for name, each in data.figures.items()}
    filled = proof.text.format(**figures, **data.environment)
    paragraphs = [_wrapped(each) for each in filled.strip().split("\n\n")]
    fixed = ", fixed by `torchleak check --fix`" if any(each.fixed for each in proof.variants) else ""
    last = f"Run by `fixtures/{folder(proof.code)}/proof.py`{fixed}: {setting(data)}."
    return "\n\n".join([*paragraphs, _wrapped(last)])


def folder(code: str) -> str:
    """The name of a rule's folder of fixtures."""
    (found,) = [each for each in all_rules() if each.code == code]
    return f"{code}_{found.slug.replace('-', '_')}"


def setting(data: Data) -> str:
    """The environment in words."""
    own = data.environment
    return f"torch {own['torch']}, Python {own['python']}, {own['cores']} cores, no GPU"


def _wrapped(text: str) -> str:
    # Code in backquotes keeps to one line: its spaces are hidden from the wrapping.
    hidden = re.sub(r"`[^`]*`", lambda match: match[0].replace(" ", "\0"), " ".join(text.split()))
    return textwrap.fill(hidden, WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def rule_file(code: str) -> Path:
    """The module whose docstring is the rule's page."""
    return ROOT / "flake8_torchleak" / "rules" / f"{folder(code).lower()}.py"


def with_section(text: str, new: str) -> str:
    """A rule's file with another "Measured" section. Raises AssertionError if it has none."""
    changed, count = _SECTION.subn(lambda match: new, text, count=1)
    assert count == 1, "no section 'Measured'"
    return changed


def table(measured: dict[str, Data], proofs: dict[str, Proof]) -> str:
    """A row of Markdown for each `Row` of each proof."""
    lines = ["| rule | what is measured | leaking | repaired |", "|---|---|---:|---:|"]
    for code, proof in proofs.items():
        lines += [_row(code, row, measured[code]) for row in proof.rows]
    return "\n".join(lines)


def _row(code: str, row: Row, data: Data) -> str:
    bad, fixed = (row.shown.format(Shown(data.figures[name][row.figure])) for name in (row.bad, row.fixed))
    return f"| {code} | {row.what} | {bad} | {fixed} |"


def plots(measured: dict[str, Data], proofs: dict[str, Proof]) -> dict[str, str]:
    """SVG by file name."""
    found = {}
    for code, proof in proofs.items():
        for number, plot in enumerate(proof.plots, 1):
            found[_plot_name(code, number)] = svg(code, plot, measured[code].series)
    return found


def _plot_name(code: str, number: int) -> str:
    return f"{code}.svg" if number == 1 else f"{code}_{number}.svg"


def page_part(measured: dict[str, Data], proofs: dict[str, Proof]) -> str:
    """What stands between the page's markers `<!-- proofs -->` and `<!-- /proofs -->`."""
    settings = " / ".join(sorted({setting(each) for each in measured.values()}))
    images = [
        f"![{code}: {plot.title}, leaking and repaired](plots/{_plot_name(code, number)})"
        for code, proof in proofs.items()
        for number, plot in enumerate(proof.plots, 1)
    ]
    return f"{table(measured, proofs)}\n\nMeasured with {settings}.\n\n" + "\n".join(images) + "\n"


def with_page_part(text: str, new: str) -> str:
    """docs/measured.md with another part. Raises AssertionError if it has no markers."""
    changed, count = _PART.subn(lambda match: new, text, count=1)
    assert count == 1, "docs/measured.md has no part between <!-- proofs --> and <!-- /proofs -->"
    return changed


def write(measured: dict[str, Data], proofs: dict[str, Proof]) -> None:
    """Bring the rules' pages, docs/measured.md and the plots up to date with the data."""
    for code, proof in proofs.items():
        path = rule_file(code)
        path.write_text(
            with_section(path.read_text(encoding="utf-8"), section(proof, measured[code])), encoding="utf-8"
        )
    PAGE.write_text(with_page_part(PAGE.read_text(encoding="utf-8"), page_part(measured, proofs)), encoding="utf-8")
    PLOTS.mkdir(parents=True, exist_ok=True)
    wanted = plots(measured, proofs)
    for path in PLOTS.glob("TLK*.svg"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (PLOTS / name).write_text(text, encoding="utf-8")
