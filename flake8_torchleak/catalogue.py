"""Which rules there are: told from the names of their modules, so that nothing is imported for it."""

from __future__ import annotations

import os
import pkgutil
from functools import lru_cache

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules")


@lru_cache(maxsize=1)
def catalogue() -> tuple[tuple[str, str], ...]:
    """Code and slug of every rule, by code."""
    names = (info.name.partition("_") for info in pkgutil.iter_modules([FOLDER]))
    return tuple(sorted((code.upper(), slug.replace("_", "-")) for code, _, slug in names))
