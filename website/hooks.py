"""What mkdocs calls while it builds the site: the address, the rules' pages, and the generated parts of other pages."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# mkdocs loads this file by its path, and the code that the pages are made of is this checkout's.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from flake8_torchleak.addresses import SITE
from website import parts, rule_pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The base address stands in the package; the rules are listed in the navigation by family."""
    config.site_url = SITE
    config.nav = [{"Rules": rule_pages.navigation()} if each == "RULES" else each for each in config.nav or []]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made of code, and those that stand in the root of the repository.

    Those of rules stand in docs, too (`python -m website`); the site has them as the code is now.
    """
    for name, text in {**rule_pages.pages(), **parts.root_pages()}.items():
        old = files.get_file_from_path(name)
        if old is not None:
            files.remove(old)
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what is generated, and link the codes of rules, also in pages written by hand."""
    return parts.linked(parts.filled(markdown), page.file.src_uri)
