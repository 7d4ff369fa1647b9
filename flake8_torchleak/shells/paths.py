"""How reports for other programs name a file: from the folder that the command runs in, with "/" between the names."""

from __future__ import annotations

import os
from types import ModuleType


def portable(path: str, system: ModuleType = os.path) -> str:
    """The file's path; absolute if it is not below this folder.

    system: the module that knows the operating system's paths.
    """
    # Bytes that are no text cannot be said in JSON.
    return os.fsencode(named(path, system)).decode("utf-8", "replace")


def uri(path: str, system: ModuleType = os.path) -> str:
    """The file's URI: a relative reference, or one with the scheme "file" if it is not below this folder."""
    from urllib.parse import quote

    name = named(path, system)
    if not system.isabs(name):
        return quote(os.fsencode(name))
    return "file://" + quote(os.fsencode("/" * (not name.startswith("/")) + name), safe="/:")


def named(path: str, system: ModuleType = os.path) -> str:
    """The file's path with "/" between the names; absolute if it is not below this folder. It need not be text."""
    try:
        relative: str = system.relpath(path)
    except ValueError:  # another drive
        relative = system.pardir
    if relative.split(system.sep)[0] == system.pardir:
        relative = system.abspath(path)
    return relative.replace(system.sep, "/")
