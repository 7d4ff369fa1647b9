"""Whose hands a Dataset's samples come into, in this and the other files of the project: whether anybody may edit them.

Where no file makes an object of the class, or a file hands one to what is not seen, nothing is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.firstparty import holds, text_of
from flake8_torchleak.model.importers import files_below, naming
from flake8_torchleak.model.loader import Site, Workers
from flake8_torchleak.model.mentions import stands_beside
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.options import option_default
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.samples import Given
from flake8_torchleak.model.servedclass import classes_of, is_chosen
from flake8_torchleak.model.tracing import only_reads
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind
from flake8_torchleak.model.wrapped import unwrapped

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_SOME_WORKERS = re.compile(r"\bnum_workers(?:[\"']\s*:|\s*(?::\s*\w+\s*)?=(?!=))\s*(?!0\b)\S")
"""A number of workers that is given, and not written as 0."""
_LOOKS = frozenset({"len", "enumerate", "zip", "list", "tqdm", "trange", "print", "range"})

_MOST_FILES = 200
"""Files with PyTorch that are asked what they say of collate functions."""
_MOST_SEARCHED = 600
"""Files of a project that are asked whether they speak of workers."""


class Served:
    """The loaders of a project that are given a Dataset of this module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def is_only_read(self, dataset: DatasetFacts, given: Given) -> bool:
        """Whether each loader in sight copies what is given out at once, or only reads it, and there is one."""
        sites = self._sites(dataset)
        place = _place(self.module, given)
        if not sites:
            return self._is_only_looked_at(dataset.facts.node.name) or self._collates_by_default
        tensor = given.value.kind is Kind.TENSOR  # its storage is shared memory, whoever reads it
        return all(
            self._reads(dataset, user, site, place, site.workers is Workers.YES and not tensor) for user, site in sites
        )

    @cached_property
    def _collates_by_default(self) -> bool:
        """Whether the project makes loaders, and no file of it speaks of a collate function, or of no batches.

        The default one makes new tensors of all that it gets, and strings cannot be edited.
        """
        path, project = self.module.path, self.module.project
        files = naming(str(path), "torch") if path is not None and project is not None else ()
        if project is None or not 0 < len(files) <= _MOST_FILES:
            return False
        words = ("collat", "batch_size=None", "batch_size = None")
        loads = any(holds(each, project.top, "DataLoader(") for each in files)
        return loads and not any(holds(each, project.top, word) for word in words for each in files)

    @remembered
    def _sites(self, dataset: DatasetFacts) -> list[tuple[Module, Site]]:
        """The loaders that are given the class, or what may be one; none where some of its users are not seen."""
        name = dataset.facts.node.name
        own = [(self.module, each) for each in self.module.loaders.serving(dataset.facts.node)]
        found: list[tuple[Module, Site]] = []
        for user, sites in self.module.users.answers(lambda user: _serving(user, name), name, "DataLoader("):
            found += [(user, each) for each in sites]
        # What a Dataset's own file does when it is run is a trial, where others use it.
        found += [each for each in own if not found or not _is_trial(*each)]
        return found if self.module.users.are_all(name, "DataLoader(") else []

    @remembered
    def has_no_workers(self, dataset: DatasetFacts) -> bool:
        """Whether whoever makes an object of the class makes loaders, and none of these can have workers."""
        if self.module.config.assume_workers != "auto":
            return False
        name = dataset.facts.node.name
        makers = self.module.users.paths(f"{name}(")
        if not makers or not self.module.users.are_all(f"{name}("):
            return False
        answers = self.module.users.answers(_are_alone, f"{name}(")
        own = all(_is_alone(self.module, each) for each in self.module.loaders.sites)
        programs = [alone for user, alone in answers if not user.is_test]  # a library's class is made in tests alone
        return own and bool(programs) and all(programs)

    @remembered
    def gets_no_workers(self, dataset: DatasetFacts) -> bool:
        """Whether each loader of torch's that is seen to be given the class has no workers, and there is one.

        Those of tests tell nothing of a library's class.
        """
        sites = self._sites(dataset) if self.module.config.assume_workers == "auto" else []
        programs = [(user, site) for user, site in sites if not user.is_test]
        return bool(programs) and all(
            site.workers is Workers.NO and user.names.qualname(site.call.func) == "torch.utils.data.DataLoader"
            for user, site in programs
        )

    @remembered
    def starts_anew(self, dataset: DatasetFacts) -> bool:
        """Whether each loader that may be given the class has workers, and other ones in every epoch.

        Each in sight, or what the whole program says of workers.
        """
        sites = self._sites(dataset)
        if sites and all(_starts_anew(user, site) for user, site in sites):
            return True
        none = self.has_none_by_default(dataset) or self.module.reach.meets_no_workers(dataset)
        return self._gives_new_workers and not none

    @cached_property
    def _gives_new_workers(self) -> bool:
        """Whether the project gives a number of workers that is not 0, and speaks of none that go on between epochs."""
        project = self.module.project
        files = naming(str(self.module.path), "torch") if project is not None else ()
        if project is None or not 0 < len(files) <= _MOST_FILES or self.module.config.assume_workers != "auto":
            return False
        if any(holds(each, project.top, "persistent_workers") for each in files):
            return False
        named = (text_of(each, project.top) for each in files if holds(each, project.top, "num_workers"))
        return any(text is not None and _SOME_WORKERS.search(text) for text in named)

    @remembered
    def has_none_by_default(self, dataset: DatasetFacts) -> bool:
        """Whether each loader in sight that may be given the class has no workers unless an option asks for them."""
        asks = "add_argument(" in self.module.source.text or self.module.users.paths("add_argument(")
        if self.module.config.assume_workers != "auto" or not asks:
            return False  # told before any file is parsed
        sites = self._sites(dataset)
        return bool(sites) and all(is_for_who_asks(user, site) for user, site in sites)

    @remembered
    def goes_in_order(self, dataset: DatasetFacts, such: Callable[[Module], bool] = lambda _: True) -> bool:
        """Whether each loader in sight that may be given the class goes through it from its start to its end.

        such: what else must hold for the files that make these loaders.
        """
        sites = self._sites(dataset)
        return bool(sites) and all(_goes_in_order(site) and such(user) for user, site in sites)

    @remembered
    def has_none_in_sight(self, dataset: DatasetFacts) -> bool:
        """Whether files of the project make objects of the class, and nothing there speaks of workers."""
        name = dataset.facts.node.name
        made = bool(self.module.classes.own_calls(name)) or bool(self.module.users.paths(f"{name}("))
        return made and not self.module.loaders.shows_workers_for(dataset.facts.node)

    @cached_property
    def speaks_of_no_workers(self) -> bool:
        """Whether no file of a project speaks of workers, nor do its settings and scripts: it has none.

        A file that nothing is beside is a part of a program that is not in sight.
        """
        project = self.module.project
        files = files_below(project.top) if project is not None and project.is_marked else []
        if project is None or not 1 < len(files) <= _MOST_SEARCHED:
            return False
        said = any(holds(each, project.top, "workers") for each in files)
        return not said and not stands_beside(project.top, "num_workers")

    @remembered
    def is_in_no_loader(self, dataset: DatasetFacts) -> bool:
        """Whether files of the project make objects of the class, and gone through one by one, none in a loader."""
        name = dataset.facts.node.name
        if dataset.facts.node.decorator_list or not self.module.users.paths(f"{name}("):
            return False  # what is decorated may be registered, and found by its name
        if self.module.loaders.serving(dataset.facts.node):
            return False
        return not self._sites(dataset) and self._is_only_looked_at(name, False)

    @remembered
    def _is_only_looked_at(self, name: str, handed: bool = True) -> bool:
        """Whether files of the project make objects of a class, and all of them only read what such an object gives.

        handed: whether they may hand it to functions of theirs.
        """
        if _looks(self.module, name, handed) is False or not self.module.users.are_all(name):
            return False
        answers = self.module.users.answers(lambda user: _looks(user, name, handed), name)
        # A library's class is made in tests alone.
        looks = [each for user, each in answers if handed or not user.is_test or each is False]
        return True in looks and False not in looks

    def _reads(self, dataset: DatasetFacts, user: Module, site: Site, place: object, sent: bool) -> bool:
        if not site.batches:
            return False
        if user.loaders.is_default(site.collate):
            return True
        collate, given = _collate(site)
        assert collate is not None
        method = dataset.facts.methods.get(collate.attr) if isinstance(collate, ast.Attribute) else None
        if method is not None:
            return only_reads(self.module, method, place, sent, given)
        function = _named(user, collate)
        return function is not None and only_reads(user, function, place, sent, given)


def _collate(site: Site) -> tuple[ast.expr | None, list[str]]:
    """The collate function of a loader, and the parameters that get something else than the samples."""
    return unwrapped(site.collate) if site.collate is not None else (None, [])


def _named(user: Module, node: ast.expr) -> FunctionNode | None:
    found = user.names.definition(node, True)
    return found if isinstance(found, FUNCTIONS) else None


def _is_trial(user: Module, site: Site) -> bool:
    """Whether a loader is made under `if __name__ == "__main__":`."""
    above = user.tree.ancestors(site.call)
    return any(isinstance(up, ast.If) and mentions(up.test, "__main__") for up in above)


def _serving(user: Module, name: str) -> list[Site]:
    """The loaders of a file that are given an object of the class, or something that is not known to be another's."""
    found = [(site, classes_of(user, site.dataset)) for site in user.loaders.sites if site.dataset is not None]
    if all(name not in made for _, made in found) and not is_chosen(user, name):
        return []
    served = [site for site, made in found if made & {name, ""}]
    for collate, given in map(_collate, served):
        function = _named(user, collate) if collate is not None else None
        if function is not None:
            only_reads(user, function, None, False, given)  # what it calls in other files is asked for now
    return served


def _place(module: Module, given: Given) -> object:
    """Where in the sample something is given out, if it is a part of a display that a sample method returns."""
    for node in module.tree.within(given.function):
        if isinstance(node, ast.Return) and given.function.name == "__getitem__":
            if isinstance(node.value, (ast.Tuple, ast.List)) and given.node in node.value.elts:
                return node.value.elts.index(given.node)
            if isinstance(node.value, ast.Dict) and given.node in node.value.values:
                return getattr(node.value.keys[node.value.values.index(given.node)], "value", None)
    return None


def _looks(user: Module, name: str, handed: bool) -> bool | None:
    """Whether a file only reads what objects of a class give, as far as is seen; None if it makes none."""
    if any(last_name(base) == name for each in user.tree.all(ast.ClassDef) for base in each.bases):
        return False
    if any(classes_of(user, site.dataset) & {name, ""} for site in user.loaders.sites):
        return False
    made = [call for call in user.tree.all(ast.Call) if last_name(call.func) == name]
    named = sum(each.id == name for each in user.tree.all(ast.Name))
    named += sum(each.attr == name for each in user.tree.all(ast.Attribute))
    if not handed and named > len(made):
        return False  # `kind = Photos`
    if (
        not all(_is_seen(user, each, handed) for each in made)
        or user.release.sharing.edits_samples(False, False) is not None
    ):
        return False
    return True if made else None


def _is_seen(user: Module, made: ast.Call, handed: bool) -> bool:
    """Whether the object that a call makes gets one name, and is gone through, looked into or handed on in sight."""
    parents = user.tree.parents
    assign = parents[made]
    if not isinstance(assign, ast.Assign) or len(assign.targets) != 1 or not isinstance(assign.targets[0], ast.Name):
        return False
    name = assign.targets[0].id
    if isinstance(user.tree.scope(made), ast.ClassDef):
        return False  # an attribute of the class
    for node in user.tree.within(user.tree.scope(made)):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            use = parents[node]
            if isinstance(use, ast.Call) and node is not use.func:
                if last_name(use.func) not in _LOOKS and (not handed or _named(user, use.func) is None):
                    return False
            elif not isinstance(use, (ast.For, ast.comprehension, ast.Subscript, ast.Attribute)):
                return False
    return True


def _starts_anew(user: Module, site: Site) -> bool:
    kept = site.arguments.get("persistent_workers")
    if kept is not None and getattr(kept, "value", None) is not False:
        return False
    if any(each.arg is None for each in site.call.keywords):
        return False
    number = site.arguments.get("num_workers")
    return site.workers is Workers.YES or (number is not None and (option_default(user, number) or 0) > 0)


def _goes_in_order(site: Site) -> bool:
    shuffles = site.arguments.get("shuffle")
    chosen = {"sampler", "batch_sampler"} & site.arguments.keys()
    spread = any(each.arg is None for each in site.call.keywords)
    return not chosen and not spread and (shuffles is None or getattr(shuffles, "value", None) is False)


def is_for_who_asks(user: Module, site: Site) -> bool:
    """Whether a loader has no workers unless an option asks for them."""
    if any(each.arg is None for each in site.call.keywords):
        return False
    number = site.arguments.get("num_workers")
    return site.workers is Workers.NO or (number is not None and option_default(user, number) == 0)


def _are_alone(user: Module) -> bool:
    """Whether a file makes loaders, and none of them can have workers."""
    return bool(user.loaders.sites) and all(_is_alone(user, each) for each in user.loaders.sites)


def _is_alone(user: Module, site: Site) -> bool:
    """Whether a loader can have no workers: nobody says how many, to torch's class or to one that is made of it."""
    made = user.names.definition(site.call.func, True)
    facts = user.classes.all.get(made) if isinstance(made, ast.ClassDef) else None
    if facts is None:
        return site.workers is Workers.NO and (made is None or not isinstance(made, FUNCTIONS))
    start = facts.own_methods.get("__init__")
    calls = [each for each in user.tree.calls(start) if last_name(each.func) == "__init__"] if start is not None else []
    return bool(calls) and all(user.loaders.site(each).workers is Workers.NO for each in calls)
