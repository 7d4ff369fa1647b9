"""Which parts of a batch are tensors."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import ELEMENTS, Atom, Kind, Site


def is_tensor(run: Run, atom: Atom) -> bool:
    """Whether a part of a batch is a tensor: by the default way to put batches together, by a use, or by its name."""
    return atom.kind is Kind.TENSOR or atom.held in run.seen.loaders or is_used_as_tensor(run, atom)


def is_used_as_tensor(run: Run, atom: Atom) -> bool:
    """The same, by a use or a name alone."""
    seen = run.seen
    return (
        not seen.tensors.isdisjoint(_around(atom.site, by_key=False))
        or not seen.named_tensors.isdisjoint(_around(atom.site, by_key=False))
        or any(atom.site in _around(site) for site in (*seen.tensors, *seen.named_tensors))
    )


def _around(site: Site, by_key: bool = True) -> Iterator[Site]:
    """A site, and those that it is a part of: a part of a tensor is a tensor, and what has a tensor in it holds one.

    by_key: parts under a key or a name count, too, which tensors do not have.
    """
    yield site
    while isinstance(site, tuple) and (by_key or not isinstance(site[1], str) or site[1] == ELEMENTS):
        site = site[0]
        yield site
