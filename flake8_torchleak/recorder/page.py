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
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --faint: #666; --line: #ddd; --code: #f2f2f2;
  --bad: #fdecea; --good: #e8f5e9; --open: #fff8e1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181b; --faint: #a0a0a0; --line: #3c4046;
  --code: #262a2f; --bad: #43201e; --good: #1d3320; --open: #3d3417; } }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.bad { background: var(--bad); border-left: 4px solid #c62828; }
.good { background: var(--good); border-left: 4px solid #2e7d32; }
.open { background: var(--open); border-left: 4px solid #f9a825; }
.verdict { padding: .6rem 1rem; }
article { margin: 1rem 0; padding: .2rem 0 .2rem 1rem; border-left: 3px solid var(--line); }
article > p:first-child { font-weight: 600; }
code { font: .9em/1.3 ui-monospace, monospace; background: var(--code); border-radius: 3px; padding: 0 .2em; }
h1 code { background: none; padding: 0; } ul { margin: .3rem 0; padding-left: 1.4rem; }
.plot { overflow-x: auto; } svg { display: block; width: 100%; min-width: 34rem; height: auto; color: var(--ink); }
footer { margin-top: 2rem; color: var(--faint); font-size: .85rem; }
"""


def page(record: Record, joined: Joined, name: str, ended: str) -> str:
    """The whole page. name: of the program; ended: how it ended, if not by itself."""
    mood = "bad" if record.leaks else "good" if record.enough else "open"
    end = f"; {escape(ended)}" if ended else ""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>torchleak run: {escape(name)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>torchleak run: <code>{escape(name)}</code></h1>",
        f'<p class="verdict {mood}">{wording.verdict(record)} {escape(wording.summary(record))}{end}.</p>',
        *_plots(record),
    ]
    for chosen in Verdict:
        found = [each for each in joined.judged if each.verdict is chosen]
        parts += [f"<h2>{escape(HEADINGS[chosen])}</h2>"] * bool(found)
        for each in found:
            parts.append(f"<article><p>{_marked(wording.heading(each))}</p>")
            parts += [_kept(kept, record) for kept in each.kept]
            parts.append("</article>")
    if joined.unexpected:
        parts.append("<h2>Seen at run time only</h2>")
        for kept in joined.unexpected:
            rule = SUGGESTED.get(kept.kind, "")
            more = f"<p>More: <code>torchleak explain {rule}</code></p>" if rule else ""
            parts.append(f"<article>{_kept(kept, record)}{more}</article>")
    notes = [*wording.whole(record), *record.notes, DEFINITION, LIMITS]
    parts.append(f"<footer><ul>{''.join(f'<li>{_marked(each)}</li>' for each in notes)}</ul></footer></body></html>")
    return "\n".join(parts) + "\n"


def _plots(record: Record) -> Iterator[str]:
    for title, plot in (
        ("Memory by holder", plots.by_holder(record)),
        ("Memory by holder, in a worker", plots.by_holder_in_workers(record)),
        ("Private memory of each worker, since its start", plots.by_worker(record)),
        ("Memory of the whole process", plots.whole_process(record)),
    ):
        if plot:
            yield f'<h2>{title}</h2><div class="plot">{plot}</div>'


def _kept(kept: Kept, record: Record) -> str:
    lines = "".join(f"<li>{_marked(line)}</li>" for line in wording.details(kept))
    return f"<p>{_marked(wording.sentence(kept, record))}</p><ul>{lines}</ul>"


def _marked(words: str) -> str:
    """Text as HTML: what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words))
