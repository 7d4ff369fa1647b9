"""Whether any worker of a project can get a Dataset: asked last, for what would be told of it otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flake8_torchleak.model.census import ANY, NONE, SENDING, SHOWN, SOME, is_handed_out, loaders_by_class, place_of
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.firstparty import holds, importing
from flake8_torchleak.model.importers import naming
from flake8_torchleak.model.leftout import is_never_read
from flake8_torchleak.model.leftover import gets_modules, is_left_over, is_named_nowhere
from flake8_torchleak.model.loader import Site
from flake8_torchleak.model.reading import reader
from flake8_torchleak.model.remember import remembered

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 200
"""Files with PyTorch that are searched for loaders."""


class Reach:
    """What the workers of a project reach of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def _given(self, name: str) -> set[str]:
        """What workers the loaders of the project have that may get an object of a class, or what is not seen."""
        project = self.module.project
        if self.module.config.assume_workers != "auto" or project is None or not project.is_marked:
            return {SOME}
        found: tuple[str, ...] | None = reader().row(loaders_by_class, (project.top, ""), name)
        return {SOME} if found is None else set(found)

    @remembered
    def meets_no_workers(self, dataset: DatasetFacts) -> bool:
        """Whether a program, in all of its files, settings and scripts, has no workers for what may be of the class."""
        name, project = dataset.facts.node.name, self.module.project
        if project is None or not project.is_program:
            return False  # a package's users are not in sight
        unknown, own = self._given(ANY), self._given(name)
        if not unknown and not self.module.classes.own_calls(*dataset.made_as) and not self._is_imported(name):
            return False  # another class of that name
        return unknown | own == {NONE} and not any(is_handed_out(project.top, each) for each in dataset.made_as)

    def meets_shown_workers(self, dataset: DatasetFacts) -> bool:
        """Whether each loader of the project that may get the class has a number of workers that its files show."""
        name = dataset.facts.node.name
        if self.module.classes.own_calls(*dataset.made_as) and not self.module.loaders.sites:
            return False  # a program of its own, without a loader
        return self._given(ANY) | self._given(name) == {SHOWN}

    def _is_imported(self, name: str) -> bool:
        """Whether a file that makes objects of a class imports it from here, or from where the folders look like it."""
        path, project = str(self.module.path), self.module.project
        if self.module.users.paths(f"{name}("):
            return True
        stem = os.path.splitext(os.path.basename(path))[0]
        return project is not None and any(
            module.rpartition(".")[2] == stem and name in names and holds(each, project.top, f"{name}(")
            for each in naming(path, stem)
            for module, names, _ in importing(each, project.top)
        )

    def is_read(self, dataset: DatasetFacts, attr: str) -> bool:
        """Whether a worker may read an attribute for samples: it may get the Dataset, and no flag is in its way."""
        return not self.is_out(dataset.owner) and not is_never_read(self.module, dataset, attr)

    def has_no_workers(self, site: Site) -> bool:
        """Whether a program, by all of its files, settings and scripts, makes a loader of this module without workers.

        What others install may be told another number by who uses it.
        """
        project = self.module.project
        return (
            project is not None
            and self._given(place_of(os.path.abspath(str(self.module.path)), site.call)) == {NONE}
            and project.is_program
        )

    def sends_no_batches(self) -> bool:
        """Whether a program makes loaders, and none of them leaves batches in the memory that workers share."""
        project = self.module.project
        return project is not None and self._given(SENDING) == {NONE} and project.is_program

    def is_out(self, dataset: DatasetFacts) -> bool:
        """Whether the project shows that no worker ever gets an object of the class."""
        if self.is_unused(dataset) or self.meets_no_workers(dataset):
            return True
        served, project = self.module.served, self.module.project
        if project is not None and not project.is_published and served.gets_no_workers(dataset):
            return True
        return served.has_no_workers(dataset) or served.is_in_no_loader(dataset)

    @remembered
    def is_unused(self, dataset: DatasetFacts) -> bool:
        """Whether a program that makes loaders never makes an object of the class, as far as names tell."""
        node, project = dataset.facts.node, self.module.project
        if self.module.config.assume_workers != "auto" or project is None:
            return False
        files = {each for name in ("torch", "DataLoader") for each in naming(str(self.module.path), name)}
        files.discard(os.path.abspath(str(self.module.path)))  # a file that is alone shows no program
        if len(files) > _MOST_FILES or not any(holds(each, project.top, "DataLoader(") for each in files):
            return False
        if gets_modules(project.top):
            return False  # what is called in a class's stead may be any part of its name
        return is_left_over(self.module, node) or is_named_nowhere(self.module, node)
