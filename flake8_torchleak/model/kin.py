"""Classes that may share objects: those that derive from each other, over all files of a project, as names tell."""

from __future__ import annotations

import re
from typing import NamedTuple

from flake8_torchleak.model.firstparty import text_of
from flake8_torchleak.model.reading import made

_MOST_FILES = 600
"""Files whose classes are kept."""
_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)[ \t]*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?[ \t]*:", re.MULTILINE)
_NAME = re.compile(r"(?:\w+\s*\.\s*)*(\w+)")


class ClassName(NamedTuple):
    """A class by its file and name."""

    path: str
    name: str


def kin_of(one: ClassName, files: list[str], top: str) -> frozenset[ClassName]:
    """A class, all that derive from it, all that it derives from, and those of these, and so on.

    A base by its name alone may be that of any file, unless its own file has a class of that name.
    """
    bases: dict[ClassName, set[str]] = {one: set()}
    for file in files:
        for name, above in _classes(file, top):
            bases.setdefault(ClassName(file, name), set()).update(above)
    named: dict[str, list[ClassName]] = {}
    for each in bases:
        named.setdefault(each.name, []).append(each)
    related: dict[ClassName, set[ClassName]] = {each: set() for each in bases}
    for each, names in bases.items():
        for base in names:
            own = ClassName(each.path, base)
            for other in [own] if own in bases and own != each else named.get(base, ()):
                related[each].add(other)
                related[other].add(each)
    found, waiting = {one}, [one]
    while waiting:
        new = related[waiting.pop()] - found
        found |= new
        waiting += new
    return frozenset(found)


def is_class(name: str, files: list[str], top: str) -> bool:
    """Whether a file of the project has a class of that name."""
    return any(each == name for file in files for each, _ in _classes(file, top))


@made(_MOST_FILES)
def _classes(path: str, top: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The classes of a file, each with the last names of its bases, or of whatever else stands there."""
    return tuple((name, tuple(_NAME.findall(above))) for name, above in _CLASS.findall(text_of(path, top) or ""))
