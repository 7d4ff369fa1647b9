"""Which projects others install: by what they tell their readers, not by a file that makes it possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.model.firstparty import forget
from flake8_torchleak.model.published import is_published

SETUP = "from setuptools import setup\nsetup(name='deep-rows')\n"
PROJECT = '[project]\nname = "deep-rows"\n'


@pytest.mark.parametrize(
    ("files", "published"),
    [
        ({}, False),
        ({"README.md": "pip install deep-rows"}, False),  # there is nothing to install
        ({"setup.py": SETUP}, True),  # nobody is told anything
        ({"setup.py": "from setuptools import setup\nsetup()\n", "README.md": "Hello"}, True),  # its name is not told
        ({"pyproject.toml": "[tool.black]\n", "README.md": "pip install deep-rows"}, False),
        ({"setup.cfg": "[metadata]\nname = deep-rows\n", "README": "pip install deep-rows"}, True),
        ({"pyproject.toml": PROJECT, "README.rst": "uv add deep-rows\n"}, True),
        *(
            ({"setup.py": SETUP, "README.md": text}, published)
            for text, published in [
                ("We train on rows.", False),
                ("pip install -r requirements.txt", False),
                ("pip install -e .  # installs deep-rows", False),
                ('pip install -e ".[dev]"', False),
                ("`pip install -e .` (then import deep-rows)", False),
                ("pip install deep-rows-data", False),
                ("pip install ./deep-rows", False),
                ("pip install git+https://github.com/openai/CLIP.git", False),
                ("pip install git+https://github.com/somebody/deep-rows.git", True),
                ("pip install deep-rows", True),
                ("pip install -U deep_rows", True),
                ("pip install --upgrade 'deep-rows[all]'", True),
                ("conda install -c conda-forge Deep-Rows", True),
                ("![version](https://img.shields.io/pypi/v/deep-rows.svg)", True),
                ("https://pypi.org/project/deep-rows/", True),
                ("https://pypi.org/project/other/", False),
            ]
        ),
    ],
)
def test_who_is_told_to_install_it(tmp_path: Path, files: dict[str, str], published: bool) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    forget()
    assert is_published(str(tmp_path)) is published
