"""The generated parts of pages: `<!-- generated: NAME -->` on a line of its own stands for one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from flake8_torchleak.config import DEFAULT, OPTIONS, Option
from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells.pages import OWN
from flake8_torchleak.shells.settings import SETTINGS
from website import words
from website.families import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
_END = "<!-- end of what is generated -->"
_MARK = re.compile(rf"^(<!-- generated: ([a-z-]+) -->)$(?:\n(?:(?!<!-- ).*\n)*?{_END}$)?", re.MULTILINE)
"""A mark, and what was filled in below it for the repository, if anything was."""
_SOURCE = re.compile(r"^<!-- source: (.*?) -->$", re.MULTILINE)
_KINDS = {
    "CODES": "codes",
    "NAMES": "names",
    "GLOBS": "globs",
    "GLOB:CODES": "table of codes",
    "FILE": "file",
    "FLAG": "true, false",
    "COUNT": "count",
}
_VERBATIM = re.compile(
    r"^```.*?^```$|^ {4,}.*?$|^#.*?$|`[^`\n]*`|\[[^\]\n]*\]\([^)\n]*\)|<[^>\n]*>|^\[[^\]\n]+\]: .*?$",
    re.MULTILINE | re.DOTALL,
)
"""What no link is put into: code, headings, links, HTML."""


def rules() -> str:
    """All rules, a table for each family."""
    shown = []
    for start, (family, about) in FAMILIES.items():
        rows = ["| code | name | finds | fix |", "|---|---|---|---|"]
        for each in all_rules():
            if each.code.startswith(start):
                fix = ", or ".join(each.levels)
                rows.append(f"| [{each.code}]({each.code}.md) | {each.slug} | {each.summary} | {fix} |")
        shown.append(f"## {family}\n\n{about}\n\n" + "\n".join(rows))
    return "\n\n".join(shown)


def own_codes() -> str:
    """The codes that no rule finds."""
    rows = ["| code | name | says |", "|---|---|---|"]
    for own in OWN:
        first = own.page.partition("\n")[0].partition(": ")[2]
        rows.append(f"| [{own.code}]({own.code}.md) | {own.slug} | {first} |")
    return "\n".join(rows)


def analysis_settings() -> str:
    """What can be told to the analysis, in flake8's files as well."""
    return _settings(OPTIONS)


def command_settings() -> str:
    """What only the command `torchleak` has."""
    return _settings(each for each in SETTINGS if each not in OPTIONS)


def _settings(options: Iterable[Option]) -> str:
    rows = ["| setting | value | default | meaning |", "|---|---|---|---|"]
    for option in options:
        value = _KINDS.get(option.metavar, option.metavar.replace("|", ", "))
        rows.append(f"| `{option.name}` | {value} | {_default(option)} | {option.help.partition(' (default')[0]} |")
    return "\n".join(rows)


def _default(option: Option) -> str:
    if option in OPTIONS:
        default = getattr(DEFAULT, option.field)
        return str(default) if default else ""
    named = re.search(r"\(default: (.*)\)", option.help)
    return named[1] if named else "false" if option.metavar == "FLAG" else ""


def glossary() -> str:
    """The special words, each with its paragraph."""
    return "\n\n".join(f"## {word.title[0].upper()}{word.title[1:]}\n\n{word.text}" for word in words.WORDS)


PARTS: dict[str, Callable[[], str]] = {
    "rules": rules,
    "own-codes": own_codes,
    "settings": analysis_settings,
    "command-settings": command_settings,
    "words": glossary,
}


def root_pages() -> dict[str, str]:
    """The pages that stand in the root of the repository, where people look for them, by their path on the site."""
    names = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
    return {page: inside((ROOT / name).read_text(encoding="utf-8")) for page, name in names.items()}


def inside(markdown: str) -> str:
    """A text of the repository's root whose links into docs are links inside the site; to the changelog, too."""
    return re.sub(r"\]\(docs/", "](", markdown).replace("](CHANGELOG.md)", "](changelog.md)")


def filled(markdown: str) -> str:
    """A page with its generated parts. Raises KeyError for a part that there is not."""
    return _SOURCE.sub(_source, _MARK.sub(lambda mark: PARTS[mark[2]](), markdown))


def filled_in(markdown: str) -> str:
    """A page as it stands in the repository: with its parts, and with the marks that say where they are."""
    return _MARK.sub(lambda mark: f"{mark[1]}\n{PARTS[mark[2]]().strip()}\n{_END}", markdown)


def _source(mark: re.Match[str]) -> str:
    """Where a message was found, as a line below it."""
    kind, _, path = mark[1].rpartition(":")
    if mark[1].startswith("https://"):
        return f"\nSeen in [{mark[1].removeprefix('https://')}]({mark[1]})."
    return f"\nSaid by `{path}` of {'Python' if kind else path.partition('/')[0]}."


def linked(markdown: str, page: str) -> str:
    """A page in which codes of rules, pages (docs/fixes.md) and issues (pytorch/pytorch#13246) are links.

    page: its own path.
    """
    codes = {each.code for each in all_rules()} | {own.code for own in OWN}
    up = "../" * page.count("/")

    def code(match: re.Match[str]) -> str:
        target = f"rules/{match[0]}.md"
        return f"[{match[0]}]({up}{target})" if match[0] in codes and target != page else match[0]

    def marked(text: str) -> str:
        text = re.sub(r"\bTLK\d{3}\b", code, text)
        text = re.sub(r"\bdocs/([\w-]+)\.md\b", rf"[\g<0>]({up}\1.md)", text)
        return re.sub(r"\b([\w-]+/[\w.-]+)#(\d+)\b", r"[\1#\2](https://github.com/\1/issues/\2)", text)

    done, at = [], 0
    for verbatim in _VERBATIM.finditer(markdown):
        done += [marked(markdown[at : verbatim.start()]), verbatim[0]]
        at = verbatim.end()
    return "".join([*done, marked(markdown[at:])])
