"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from flake8_torchleak.recorder import plots, wording
from flake8_torchleak.recorder.growth import DEFINITION
from flake8_torchleak.recorder.join import SUGGESTED, Joined, Verdict
from flake8_torchleak.recorder.result import Kept, Record
from flake8_torchleak.recorder.text_report import HEADINGS, LIMITS

_STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.bad { background: #fdecea; border-left: 4px solid #c62828; }
.good { background: #e8f5e9; border-left: 4px solid #2e7d32; }
.open { background: #fff8e1; border-left: 4px solid #f9a825; }
.verdict { padding: .6rem 1rem; } article { margin: 1rem 0; padding: .2rem 0 .2rem 1rem; border-left: 3px solid #ddd; }
code, .mono { font-family: ui-monospace, monospace; font-size: .9em; } ul { margin: .3rem 0; }
svg { max-width: 100%; height: auto; } footer { margin-top: 2rem; color: #666; font-size: .85rem; }
"""


def page(record: Record, joined: Joined, name: str, ended: str) -> str:
    """The whole page. name: of the program; ended: how it ended, if not by itself."""
    mood = "bad" if record.leaks else "good" if record.enough else "open"
    end = f"; {escape(ended)}" if ended else ""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>torchleak run: {escape(name)}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>torchleak run: <code>{escape(name)}</code></h1>",
        f'<p class="verdict {mood}">{wording.verdict(record)} {escape(wording.summary(record))}{end}.</p>',
        *_plots(record),
    ]
    for chosen in Verdict:
        found = [each for each in joined.judged if each.verdict is chosen]
        parts += [f"<h2>{escape(HEADINGS[chosen])}</h2>"] * bool(found)
        for each in found:
            parts.append(f'<article><p class="mono">{escape(wording.heading(each))}</p>')
            parts += [_kept(kept, record) for kept in each.kept]
            parts.append("</article>")
    if joined.unexpected:
        parts.append("<h2>Seen at run time only</h2>")
        for kept in joined.unexpected:
            rule = SUGGESTED.get(kept.kind, "")
            more = f"<p>More: <code>torchleak explain {rule}</code></p>" if rule else ""
            parts.append(f"<article>{_kept(kept, record)}{more}</article>")
    notes = [*wording.whole(record), *record.notes, DEFINITION, LIMITS]
    parts.append(f"<footer><ul>{''.join(f'<li>{escape(each)}</li>' for each in notes)}</ul></footer></body></html>")
    return "\n".join(parts) + "\n"


def _plots(record: Record) -> Iterator[str]:
    for title, plot in (
        ("Memory by holder", plots.by_holder(record)),
        ("Memory of the whole process", plots.whole_process(record)),
    ):
        if plot:
            yield f"<h2>{title}</h2>{plot}"


def _kept(kept: Kept, record: Record) -> str:
    lines = "".join(f"<li>{_marked(line)}</li>" for line in wording.details(kept))
    return f"<p>{_marked(wording.sentence(kept, record))}</p><ul>{lines}</ul>"


def _marked(words: str) -> str:
    """Text as HTML: what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words))
