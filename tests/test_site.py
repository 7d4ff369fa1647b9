"""The site's generated parts, without mkdocs: rules' pages, the index of symptoms, tables, links."""

from __future__ import annotations

import ast
import importlib.util
import mmap
import os
import re
import signal
from functools import lru_cache
from pathlib import Path

import pytest

from flake8_torchleak.config import OPTIONS
from flake8_torchleak.lint import lint
from flake8_torchleak.rule import Rule, all_rules
from flake8_torchleak.shells.pages import OWN
from flake8_torchleak.shells.settings import SETTINGS
from tests.conftest import ROOT
from website import families, parts, rule_pages, symptoms, words
from website.__main__ import written

RULES = all_rules()
CODES = [each.code for each in RULES] + [own.code for own in OWN]

# What the examples of pages leave out. No rule finds anything in it.
BEFORE = """\
import copy, glob, itertools, json, os, pickle, zipfile
import cv2, lightning, torchmetrics, matplotlib.pyplot as plt, numpy as np, pandas as pd, torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
model = nn.Sequential(nn.Linear(8, 8))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOADER = "loader = DataLoader(data, batch_size=8, num_workers=4)\n"


def example(each: Rule, heading: str) -> str:
    """A rule's example as a file."""
    page = rule_pages.rule_page(each)
    (code,) = re.findall(rf"^## {heading}\n\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    needs_loader = "loader" in code and "loader =" not in code
    return BEFORE + LOADER * needs_loader + str(code)


# Rules' pages


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_a_rule_finds_its_own_example_and_not_the_remedy(each: Rule) -> None:
    assert each.code in [found.code for found in lint(example(each, "Leaks"))]
    assert each.code not in [found.code for found in lint(example(each, "Instead"))]


def test_nothing_is_found_before_the_examples() -> None:
    assert not lint(BEFORE + LOADER)


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_a_page_has_all_that_there_is_to_say(each: Rule) -> None:
    page = rule_pages.rule_page(each)
    headings = re.findall(r"^## (.*)$", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S), re.MULTILINE)
    wanted = ["Leaks", "Instead", "Why", "Measured", "When it stays silent", "How to fix it", "How to silence it"]
    assert headings == ["What you may see"] * ("What you may see" in headings) + wanted
    plots = sorted(path.name for path in (ROOT / "docs" / "plots").glob(f"{each.code}*.svg"))
    assert sorted(re.findall(r"\(\.\./plots/([\w.]+)\)", page)) == plots
    measured = parts.ROOT.joinpath("docs/measured.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| {each.code} \| (.*)$", measured, re.MULTILINE)
    assert all(f"| {row}\n" in page for row in rows)
    assert f'ignore = ["{each.code}"]' in page


def test_every_code_has_a_page_and_a_place_in_the_navigation() -> None:
    wanted = {f"rules/{code}.md" for code in CODES} | {"rules/index.md"}
    assert set(rule_pages.pages()) == wanted
    assert set(re.findall(r"rules/\w+\.md", repr(rule_pages.navigation()))) == wanted
    assert {each.code[:4] for each in RULES} == set(families.FAMILIES)


def test_own_codes() -> None:
    page = rule_pages.own_page(OWN[0])
    assert page.startswith("---\ntitle: TLK000 internal-error\n---\n\n# TLK000 internal-error\n\n**A rule failed")
    assert "\n## Why\n" in page


# Symptoms

SYMPTOMS = symptoms.read()
MESSAGES = [message for each in SYMPTOMS for message in each.messages]


def test_symptoms_lead_to_rules() -> None:
    known = {each.code for each in RULES}
    assert all(each.codes <= known for each in SYMPTOMS)
    assert len({each.anchor for each in SYMPTOMS}) == len(SYMPTOMS)
    led_to = frozenset[str]().union(*(each.codes for each in SYMPTOMS))
    # Not all: some rules see less of what another rule sees, and the symptoms are that rule's.
    assert len(led_to) >= 37


def test_every_message_says_where_it_was_found() -> None:
    text = symptoms.PAGE.read_text(encoding="utf-8")
    assert text.count("```text\n") == len(MESSAGES) > 10


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.text[:40])
def test_a_message_is_what_the_program_says(message: symptoms.Message) -> None:
    if message.source.startswith("https://"):
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w.-]+/issues/\d+", message.source)
        return
    text = re.sub(r"^[\w.]+(?:Error|Warning|BadZipFile): ", "", message.text.strip())
    for said_by_the_system in (f"{signal.strsignal(signal.SIGKILL)}.", f"{os.strerror(12)} (12)"):
        text = text.replace(said_by_the_system, "...")
    for piece in re.split(r"\bN\b|\.\.\.", text):
        assert len(piece.strip()) < 5 or says(message.source, piece.strip()), (message.source, piece)


def says(source: str, piece: str) -> bool:
    """Whether a file of an installed package, or of Python, has these words in a string."""
    kind, _, path = source.rpartition(":")
    if kind:
        spec = importlib.util.find_spec(path.removesuffix(".py").replace("/", "."))
        assert spec is not None
        assert spec.origin is not None
        return piece in strings(Path(spec.origin))
    package, _, rest = path.partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"came with 3.11: {package} is not installed here")
    file = Path(spec.submodule_search_locations[0], rest)
    if file.suffix == ".py":
        return piece in strings(file)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as binary:
        return binary.find(piece.encode()) >= 0


@lru_cache
def strings(file: Path) -> str:
    """All text constants of a Python file, those in parts joined."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return "\n".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_sources_are_shown() -> None:
    shown = parts.filled(
        "<!-- source: torch/a.py -->\n<!-- source: python:b.py -->\n<!-- source: https://github.com/o/n/issues/1 -->"
    )
    assert shown == (
        "\nSaid by `torch/a.py` of torch.\n\nSaid by `b.py` of Python.\n"
        "\nSeen in [github.com/o/n/issues/1](https://github.com/o/n/issues/1)."
    )


@pytest.mark.parametrize(
    ("title", "anchor"),
    [("Too many open files", "too-many-open-files"), ("`a_b`: c-d, e", "a_b-c-d-e")],
)
def test_anchors(title: str, anchor: str) -> None:
    assert symptoms.anchor(title) == anchor


# Parts


def test_every_part_is_used_and_every_use_is_a_part() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    used = re.findall(r"^<!-- generated: ([a-z-]+) -->$", "\n".join([*texts, rule_pages.INDEX]), re.MULTILINE)
    assert sorted(used) == sorted(parts.PARTS)
    with pytest.raises(KeyError):
        parts.filled("<!-- generated: nothing -->")


def test_parts_stand_in_the_repository_too_and_are_made_anew() -> None:
    mark = "a\n<!-- generated: words -->\nb"
    page = parts.filled_in(mark)
    assert page.startswith("a\n<!-- generated: words -->\n## Autograd graph")
    assert page.endswith("\n<!-- end of what is generated -->\nb")
    assert parts.filled_in(page) == page
    assert parts.filled(page) == parts.filled(mark)
    assert "generated" not in parts.filled(page)


def test_all_settings_are_listed() -> None:
    page = parts.filled((ROOT / "docs" / "settings.md").read_text(encoding="utf-8"))
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE) == [
        *(option.name for option in SETTINGS if option in OPTIONS),
        *(option.name for option in SETTINGS if option not in OPTIONS),
    ]
    assert "| `min-literal` | count | 1000 |" in page
    assert "| `select` | codes | all but TLK9 |" in page
    assert "| `force-exclude` | true, false | false |" in page
    assert "| `assume-workers` | auto, yes, no | auto |" in page


def test_all_rules_are_listed() -> None:
    page = parts.filled(rule_pages.INDEX)
    assert re.findall(r"^\| \[(TLK\d+)\]", page, re.MULTILINE) == CODES


def test_codes_and_issues_become_links() -> None:
    text = (
        "# TLK401\n\nTLK401, `TLK402`, [TLK403](x.md), TLK999 and o/n#5\n\n    TLK404\n\n```text\nTLK405\n```\nTLK406"
    )
    assert parts.linked(text, "a.md") == (
        "# TLK401\n\n[TLK401](rules/TLK401.md), `TLK402`, [TLK403](x.md), TLK999 and "
        "[o/n#5](https://github.com/o/n/issues/5)\n\n    TLK404\n\n```text\nTLK405\n```\n[TLK406](rules/TLK406.md)"
    )
    assert parts.linked("TLK401, TLK402", "rules/TLK401.md") == "TLK401, [TLK402](../rules/TLK402.md)"
    assert parts.linked("See docs/fixes.md.", "rules/TLK401.md") == "See [docs/fixes.md](../fixes.md)."


def test_special_words_are_explained_where_they_are_said() -> None:
    pages = {each.code: {word.title for word in words.said_in(each.page)} for each in RULES}
    assert "autograd graph" in pages["TLK401"]
    assert pages["TLK101"] >= {"copy-on-write", "start method", "private memory"}
    assert "file descriptor" in pages["TLK404"]
    assert "view" in pages["TLK205"]
    assert pages["TLK908"] == set()


def test_links_into_docs_become_links_inside_the_site() -> None:
    text = "[a](docs/fixes.md) [b](docs/rules/index.md#x) [c](CHANGELOG.md) [d](https://o.org/docs/)"
    assert parts.inside(text) == "[a](fixes.md) [b](rules/index.md#x) [c](changelog.md) [d](https://o.org/docs/)"


def test_the_pages_in_the_repository_are_those_of_the_rules() -> None:
    stand = {f"rules/{path.name}": path.read_text(encoding="utf-8") for path in (ROOT / "docs/rules").glob("*.md")}
    assert stand == written(), "run: python -m website"
    for name, text in stand.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / "docs/rules" / target).is_file(), (name, target)
