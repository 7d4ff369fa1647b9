"""What tells networks apart, and which are parts of which: two objects of one class are two."""

from __future__ import annotations

from collections.abc import Hashable

from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Atom, Graph, Kind, Obj, Site, Value
from flake8_torchleak.lifetime.world import ClassInfo


def key_of(atom: Atom) -> Hashable:
    """What tells networks apart: an object, or what made it, and when."""
    return atom.made if isinstance(atom.made, Obj) else (atom.site, atom.born)


def whole_of(key: Hashable) -> Hashable:
    """What a network is an attribute or an entry of, as far as its name says so; None of one that stands alone."""
    if isinstance(key, tuple) and isinstance(key[0], tuple) and key[0]:
        return key[0][0], key[1]
    return None


def is_below(key: Hashable, whole: Hashable) -> bool:
    """Whether a network is a part of another one that is not followed inside."""
    if not isinstance(key, tuple) or not isinstance(whole, tuple) or key[1] != whole[1]:
        return False
    site: Site = key[0]
    while isinstance(site, tuple) and site and site != whole[0]:
        site = site[0]
    return bool(site == whole[0])


def is_network(made: Obj) -> bool:
    """Whether an object is a network of a class of the project."""
    return isinstance(made.cls, ClassInfo) and bool(made.cls.is_network)


def learns(atom: Atom) -> bool:
    """Whether something is a network: of a library, or of the project."""
    return atom.kind is Kind.NETWORK or (isinstance(atom.made, Obj) and is_network(atom.made))


def is_data(value: Value) -> bool:
    """Whether a value is seen to be no network, and nothing that is called: a container, a number, a tensor."""
    return bool(value) and all(
        (isinstance(atom.made, Obj) and not isinstance(atom.made.cls, ClassInfo))
        or atom.kind in (Kind.NUMBER, Kind.TENSOR)
        or atom.graph is Graph.YES
        for atom in value
    )


def inside(run: Run, made: Obj) -> list[Atom]:
    """What an object holds, its containers' content, and the objects in it that are networks."""
    found: list[Atom] = []
    for value in list(made.fields.values()):
        found += [atom for atom, _ in run.within(value)]
        found += [run.of(each)[0] for each in run.objects_in(value) if is_network(each)]
    return found
