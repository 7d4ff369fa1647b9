"""The site as it is built: strictly, with every link inside it checked, and searchable by what people see."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from flake8_torchleak.addresses import SITE, rule_page
from flake8_torchleak.rule import all_rules
from tests.conftest import ROOT
from tests.integration.conftest import needs, python

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    needs("material")
    folder = tmp_path_factory.mktemp("site")
    built = python("-m", "mkdocs", "build", "--strict", "--site-dir", folder, cwd=ROOT, NO_MKDOCS_2_WARNING="1")
    assert built.returncode == 0, built.stdout
    return folder


class _Links(HTMLParser):
    """Where a page leads, what it loads, and the places in it that others may lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("img", "script") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(found["href"])


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: _Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > len(all_rules())
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        here = SITE + path.relative_to(site).as_posix().removesuffix("index.html")
        for link in (*page.links, *page.loaded):
            target = urljoin(here, link)
            if not target.startswith(SITE):
                assert link in page.links, f"{here} loads {link} from elsewhere"
                continue
            parts = urlsplit(target.removeprefix(SITE))
            file = site / unquote(parts.path)
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), (here, link)
            if parts.fragment and file.suffix == ".html":
                assert unquote(parts.fragment) in pages[file].places, (here, link)


def test_rules_have_the_addresses_that_reports_name(site: Path) -> None:
    for each in all_rules():
        file = site / rule_page(each.code).removeprefix(SITE) / "index.html"
        assert f"{each.code} {each.slug}</h1>" in re.sub(r"<a class=\"headerlink\".*?</a>", "", file.read_text())


def test_people_find_what_they_see(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    for words in ("items of ancdata", "is killed by signal", "unable to mmap", "sawtooth", "accumulated-graph"):
        assert any(words in each["text"] or words in each["title"] for each in entries), words
