"""Whether a project is one that others install, so that who uses its names is not in sight.

That it can be installed says little: most research code can be, in place, by who has a copy of it. A project that
others install tells people so where it tells them what it is: by its own name, or by where its repository is.
"""

from __future__ import annotations

import os
import re

from flake8_torchleak.model.firstparty import holds, text_of
from flake8_torchleak.model.reading import made, reader

_PACKAGING = {"setup.py": "setup(", "setup.cfg": "[metadata]", "pyproject.toml": "[project]"}
"""What stands in the files of a project that can be installed."""
_CALLED = re.compile(r"""(?m)(?:^|[\s(,])name\s*=\s*(["']?)([A-Za-z][\w.-]*)\1""")
_READ = ("README.md", "README.rst", "README.txt", "README", "readme.md", "Readme.md")


@made(64)
def is_published(top: str) -> bool:
    """Whether a project can be installed, and tells its readers how: by its name, or without showing one.

    Of one that tells nobody anything this is not known: somebody may install it.
    """
    files = [(os.path.join(top, each), word) for each, word in _PACKAGING.items() if _has(top, each)]
    packaging = [text_of(path, top) or "" for path, word in files if holds(path, top, word)]
    if not packaging:
        return False
    names = {match[1] for text in packaging for match in _CALLED.findall(text)}
    read = [text_of(each, top) or "" for each in readmes(top)]
    if not names or not read:
        return True
    return any(_installs(text, name) for text in read for name in names)


def readmes(top: str) -> list[str]:
    """What tells people what a project is, and which file to run."""
    return [os.path.join(top, each) for each in _READ if _has(top, each)]


def _has(top: str, name: str) -> bool:
    return reader().has(top, name)


def _installs(text: str, name: str) -> bool:
    """Whether a text says how to install something of a name, or where it is published."""
    called = "[-_.]".join(map(re.escape, re.split(r"[-_.]+", name)))
    command = rf"\b(?:install|add)\b(?:[^\n`()#]*(?:[\s\"']|git\+\S*/))?{called}(?:\.git)?(?![\w./-])"
    place = rf"\bpypi(?:\.org|/v|/[a-z]+)?[/\w]*/{called}\b"
    return re.search(f"{command}|{place}", text, re.IGNORECASE) is not None
