"""One module under lint: its text, its tree, and the facts that rules ask for, each computed when first asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from types import MappingProxyType

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Span
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.climb import Climb
from flake8_torchleak.model.dataset import DatasetFacts, Datasets
from flake8_torchleak.model.evaluated import Evaluation
from flake8_torchleak.model.evaluation import unguarded_evaluations
from flake8_torchleak.model.files import File
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.gradmode import GradMode
from flake8_torchleak.model.handing import Handing
from flake8_torchleak.model.holdings import with_holdings
from flake8_torchleak.model.infer import Infer
from flake8_torchleak.model.loader import Loaders
from flake8_torchleak.model.loops import Loops
from flake8_torchleak.model.names import Names
from flake8_torchleak.model.project import Attached, Project
from flake8_torchleak.model.proof import Proof
from flake8_torchleak.model.reach import Reach
from flake8_torchleak.model.release.facts import Release
from flake8_torchleak.model.served import Served
from flake8_torchleak.model.tree import Tree
from flake8_torchleak.model.users import Users
from flake8_torchleak.model.ways import Ways
from flake8_torchleak.model.workers import WorkerSide
from flake8_torchleak.source import NAMES, Source

_MOST_ROUNDS = 2
"""How often what was asked for is looked up in other files."""
_TESTING = frozenset({"pytest", "unittest"})


class Module:
    """Facts about one module; rules read them and nothing else."""

    def __init__(
        self,
        source: Source,
        root: ast.Module,
        config: Config,
        path: str | None = None,
        wanted: Mapping[str, None] = MappingProxyType({}),
        flow: Flow | None = None,
        notes: bool = True,
    ) -> None:
        """wanted: what to look up in other files of the project (dotted names, as the module imports them).

        notes: whether anybody is told of what is no more than a note; else it need not be found.
        flow: that of `root` and its tree, with nothing attached, if there is one already; both are taken over.
        """
        self.source, self.root, self.config, self.path = source, root, config, path
        self.notes = notes
        self._wanted, self._bare = wanted, flow
        self._table: ClassTable | None = None
        self.attached = Attached()
        """Definitions in other files, once the tree is there."""
        self.shared: dict[str, object] = {}
        """What was worked out from the text alone, kept from round to round."""
        self.project: Project | None = None
        if path is not None and path.endswith(NAMES) and config.follow_imports == "yes":
            self.project = Project(path)

    def home(self, node: ast.AST) -> File | None:
        """The other file that a node is in; None for the module's own."""
        if self.tree.is_own(node):
            return None
        return self.attached.files[self.tree.module_of(node)]

    def span(self, node: ast.AST, home: File | None = None) -> Span:
        """Where a node stands, in the file that is its `home`.

        A `def` or `class` is its header's first line, without decorators and body.
        """
        source = self.source if home is None else home.source
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)):
            end_line, end_column = line, len(source.lines[line - 1].rstrip("\r\n").encode())
        return Span(line, source.column(line, column), end_line, source.column(end_line, end_column))

    @cached_property
    def tree(self) -> Tree:
        """Parents, nodes by kind, scopes."""
        tree = self._bare.tree if self._bare is not None else Tree(self.root)
        if self.project is not None and self._wanted:
            self.attached = self.project.attach(tree, self._wanted)
            tree.attach(self.attached.indexed())
        return tree

    @cached_property
    def names(self) -> Names:
        """Bindings and imports."""
        tree = self.tree
        foreign = self.project.names(tree) if self.project is not None else frozenset()
        return Names(tree, self.attached.links, foreign, self.attached.outside)

    @cached_property
    def is_test(self) -> bool:
        """Whether it is a test, or helps tests."""
        return self.tests_by(self.names.imports)

    def tests_by(self, imported: Set[str]) -> bool:
        """Whether it is a test, by the packages that it imports or its place."""
        return bool(imported & _TESTING) or (self.project is not None and self.project.is_test)

    def informed(self) -> Module:
        """The same module, with what it asked for looked up."""
        bare = self.flow if not self.attached.modules else None
        wanted = {**self._wanted, **self.asked}
        informed = Module(self.source, self.root, self.config, self.path, wanted, bare, self.notes)
        informed.shared = self.shared
        return informed

    def rounds(self) -> Iterator[Module]:
        """The module alone, then with what was asked of other files in the meantime looked up: to ask all of each.

        An answer can raise new questions; they are followed only so far.
        """
        module = self
        yield module
        for _ in range(_MOST_ROUNDS):
            if not module.asked:
                return
            alone, module = module, module.informed()
            if not module.has_found:
                assert alone.project is not None  # who has none asks for nothing
                assert module.project is not None
                alone.project.left_out = alone.project.left_out or module.project.unread
                return
            yield module
        if module.asked:
            assert module.project is not None
            module.project.left_out = f"its questions lead through more than {_MOST_ROUNDS} files"

    @property
    def has_found(self) -> bool:
        """Whether anything that was asked for is defined in other files."""
        return self.tree.has_guests or bool(self.attached.outside)

    def forget(self) -> None:
        """Let go of every fact, for good: they know each other, and only the garbage collector would free them."""
        if self._table is not None:
            self._table.forget()
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            getattr(vars(self).pop(name), "__dict__", {}).clear()
        self._bare = self._table = None

    @property
    def wanted(self) -> Mapping[str, None]:
        """What of other files was to be looked up."""
        return self._wanted

    def knowing(self, wanted: Mapping[str, None]) -> Module:
        """The same module, apart from this one, with all this looked up at once."""
        knowing = Module(self.source, self.root, self.config, self.path, wanted, notes=self.notes)
        knowing.shared = self.shared
        return knowing

    @property
    def asked(self) -> dict[str, None]:
        """What the rules asked for so far that another file of the project may define, and was not looked up."""
        return {each: None for each in self.names.asked if each not in self._wanted}

    @cached_property
    def served(self) -> Served:
        """Who gets the samples of its Datasets."""
        return Served(self)

    @cached_property
    def reach(self) -> Reach:
        """Which of its Datasets workers can get."""
        return Reach(self)

    @cached_property
    def users(self) -> Users:
        """Modules of the project that use this one."""
        return Users(self)

    @cached_property
    def ways(self) -> Ways:
        """Blocks: which ones are passed, or left, on the way to a place."""
        return self._bare.ways if self._bare is not None else Ways(self.tree, self.names)

    @cached_property
    def flow(self) -> Flow:
        """Reaching definitions and mutations."""
        flow = self._bare if self._bare is not None else Flow(self.tree, self.names, self.ways)
        flow.names = self.names  # of what is attached, nobody has asked yet; the rest stays as it is
        self._table = ClassTable(self.tree, self.names, flow)
        flow.handing = Handing(self._table)
        return flow

    @cached_property
    def classes(self) -> ClassTable:
        """Classes of the file."""
        assert self.flow.handing is not None
        return self.flow.handing.classes

    @cached_property
    def grad(self) -> GradMode:
        """Where gradients are off."""
        return GradMode(self.tree, self.names, self.flow, self.classes, self.config)

    @cached_property
    def infer(self) -> Infer:
        """Values of expressions."""
        return Infer(self.tree, self.names, self.flow, self.classes, self.grad, self.config)

    @cached_property
    def loops(self) -> Loops:
        """Step loops and what outlives a step."""
        return Loops(self.tree, self.flow, self.classes, self.infer, self.grad, self.infer.backward)

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Evaluation loops that run a model with gradients on."""
        return tuple(unguarded_evaluations(self))

    def evaluation(self, node: ast.AST) -> Evaluation | None:
        """The one of them that `node` is in, so that gradients off there release what it keeps."""
        for at in sorted({at for places in self._evaluated(node) for at in places}):
            each = self.evaluations[at]
            function = each.function
            if function is not None and self.tree.inside(node, function) and not self.loops.trains(function):
                return each
            if each.loop is not None and self.tree.inside(node, each.loop):
                return each
        return None

    @cached_property
    def _evaluated(self) -> Climb[list[int]]:
        """By node: which evaluations have their function or their loop around it."""
        found: dict[ast.AST, list[int]] = {}
        for at, each in enumerate(self.evaluations):
            for place in (each.function, each.loop):
                if place is not None:
                    found.setdefault(place, []).append(at)
        return Climb(self.tree, found.get)

    @cached_property
    def proof(self) -> Proof:
        """What is proven, not only likely: for fixes."""
        return Proof(self)

    @cached_property
    def release(self) -> Release:
        """Whether a value may be released for its holder: for fixes, and for what is differentiated later."""
        return Release(self)

    @cached_property
    def loaders(self) -> Loaders:
        """DataLoader sites."""
        return Loaders(self.tree, self.infer, self.config, self.project, self.path)

    @cached_property
    def datasets(self) -> Datasets:
        """Dataset classes."""
        return Datasets(self)

    @cached_property
    def holdings(self) -> tuple[DatasetFacts, ...]:
        """Its Datasets, each followed by the objects that it holds and its samples use."""
        return tuple(with_holdings(self))

    @cached_property
    def workers(self) -> WorkerSide:
        """Functions that run in worker processes."""
        return WorkerSide(self)
