"""One module under lint: its text, its tree, and the facts that rules ask for, each computed when first asked."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Span
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.dataset import Datasets
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.gradmode import GradMode
from flake8_torchleak.model.infer import Infer
from flake8_torchleak.model.loader import Loaders
from flake8_torchleak.model.loops import Loops
from flake8_torchleak.model.names import Names
from flake8_torchleak.model.proof import Proof
from flake8_torchleak.model.retention import Retention
from flake8_torchleak.model.tree import Tree
from flake8_torchleak.model.workers import WorkerSide
from flake8_torchleak.source import Source


class Module:
    """Facts about one module; rules read them and nothing else."""

    def __init__(self, source: Source, root: ast.Module, config: Config, path: str | None = None) -> None:
        self.source, self.root, self.config, self.path = source, root, config, path

    def span(self, node: ast.AST) -> Span:
        """Where a node stands. A `def` or `class` is its header's first line, without decorators and body."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)):
            end_line, end_column = line, len(self.source.lines[line - 1].rstrip("\r\n").encode())
        return Span(line, self.source.column(line, column), end_line, self.source.column(end_line, end_column))

    @cached_property
    def tree(self) -> Tree:
        """Parents, nodes by kind, scopes."""
        return Tree(self.root)

    @cached_property
    def names(self) -> Names:
        """Bindings and imports."""
        return Names(self.tree)

    @cached_property
    def flow(self) -> Flow:
        """Reaching definitions and mutations."""
        return Flow(self.tree, self.names)

    @cached_property
    def classes(self) -> ClassTable:
        """Classes of the file."""
        return ClassTable(self.tree, self.names, self.flow)

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
    def retention(self) -> Retention:
        """What outlives a step."""
        return Retention(self.loops)

    @cached_property
    def proof(self) -> Proof:
        """What is proven, not only likely: for fixes."""
        return Proof(self)

    @cached_property
    def loaders(self) -> Loaders:
        """DataLoader sites."""
        return Loaders(self.tree, self.infer, self.config)

    @cached_property
    def datasets(self) -> Datasets:
        """Dataset classes."""
        return Datasets(self)

    @cached_property
    def workers(self) -> WorkerSide:
        """Functions that run in worker processes."""
        return WorkerSide(self)
