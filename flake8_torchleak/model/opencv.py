"""OpenCV in worker-side code: what computes there, and which `cv2.setNumThreads` calls reach it."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.imagesizes import pixels, resized
from flake8_torchleak.model.names import mentions
from flake8_torchleak.model.opencvpool import POOLED
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ENVIRONMENT = frozenset({"OPENCV_FOR_THREADS_NUM", "OMP_NUM_THREADS", "OPENCV_FOR_OPENMP_DYNAMIC_DISABLE"})


class OpenCV:
    """What a module does with cv2 in its workers."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def first_use(self) -> tuple[ast.Call, FunctionNode, str] | None:
        """The first computing call in worker-side code, its function, and how that comes to run there."""
        own = [use for use in self._uses if self.module.tree.is_own(use[1])]
        return min(own, key=lambda use: (use[0].lineno, use[0].col_offset), default=None)

    @cached_property
    def _uses(self) -> list[tuple[ast.Call, FunctionNode, str]]:
        """Computing calls in worker-side code, in the order in which that is reached."""
        workers = self.module.workers
        if not self._computing(workers.functions):
            return []  # told before the whole project is asked
        return self._computing(workers.within_reach)

    def _computing(self, functions: Mapping[FunctionNode, str]) -> list[tuple[ast.Call, FunctionNode, str]]:
        return [
            (call, function, how)
            for function, how in functions.items()
            for call in self.module.tree.calls(function)
            if self._computes(call)
        ]

    def _computes(self, call: ast.Call) -> bool:
        package, _, name = self.module.names.qualname(call.func).rpartition(".")
        return package == "cv2" and name in POOLED and not self._is_small(call, name)

    def _is_small(self, call: ast.Call, name: str) -> bool:
        """Whether an image is known to be one piece of work, for which no thread is started."""
        if not POOLED[name]:
            return False
        is_made = name == "resize"
        size = resized(self.module, call) if is_made else pixels(self.module, next(iter(call.args), None))
        return size is not None and size <= POOLED[name]

    @cached_property
    def first_use_from_elsewhere(self) -> tuple[ast.Import | ast.ImportFrom, str] | None:
        """The import of cv2, and how the module's code comes to run in workers of another module's Dataset.

        Only where that Dataset's own module leaves all computing to others, and to this one first.
        """
        statement = self._import
        if statement is None or not any(self._computes(call) for call in self.module.tree.all(ast.Call)):
            return None
        for user, how in self.module.users.answers(_first_foreign_use, "Dataset"):
            if how is not None and how[0] == os.path.abspath(str(self.module.path)):
                if not OpenCV(user).is_guarded:
                    return statement, f"{how[1]}, {os.path.basename(str(user.path))}"
        return None

    @cached_property
    def _settings(self) -> list[tuple[ast.Call, object]]:
        """Every `cv2.setNumThreads(n)` with its constant n (None if it is not one)."""
        found: list[tuple[ast.Call, object]] = []
        for call in self.module.tree.all(ast.Call):
            given = _given(call)
            if given and self.module.names.qualname(call.func) == "cv2.setNumThreads":
                argument = given[0]
                found.append((call, argument.value if isinstance(argument, ast.Constant) else None))
        return found

    def _reaches(self, call: ast.Call) -> bool:
        """Whether a call runs in the workers whatever the start method."""
        function = self.module.tree.function(call)
        if function is None:
            return not self._under_main(call)
        workers = self.module.workers
        callers = (self.module.tree.function(each) for each in self.module.classes.calls_of(function))
        return function in workers.functions or any(each in workers.initialisers for each in (function, *callers))

    def _under_main(self, call: ast.AST) -> bool:
        return any(isinstance(up, ast.If) and mentions(up.test, "__main__") for up in self.module.tree.ancestors(call))

    @cached_property
    def is_guarded(self) -> bool:
        """Whether the workers' thread pools are switched off, or the environment limits them."""
        if any(self._reaches(call) for call, _ in self._settings):
            return True
        if self.module.project is not None and self.module.project.limits_opencv(self.module.tree):
            return True
        if any(self._imports(guard) for guard in self.module.config.cv2_guard_modules):
            return True
        for node in self.module.tree.all(ast.Constant):
            if node.value in _ENVIRONMENT and self.module.tree.function(node) is None:
                return True
        return False

    @property
    def is_imported_at_top(self) -> bool:
        """Whether the module cannot do without cv2: it, or something in it, is imported at module level."""
        return self._import is not None

    @cached_property
    def _import(self) -> ast.Import | ast.ImportFrom | None:
        """The statement at module level that imports cv2, or something in it."""
        names = self.module.names
        for statement in self.module.root.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                if any(names.imported(alias).partition(".")[0] == "cv2" for alias in statement.names):
                    return statement
        return None

    def _imports(self, guard: str) -> bool:
        """Whether the module imports a package of the project that switches the pools off, or something in it."""
        names, tree = self.module.names, self.module.tree
        imported = [names.imported(alias) for alias in tree.all(ast.alias) if tree.function(alias) is None]
        return any(each == guard or each.startswith(f"{guard}.") for each in imported)

    @cached_property
    def out_of_reach(self) -> list[ast.Call]:
        """Calls that set the threads, but not in spawned workers."""
        return [call for call, _ in self._settings if not self._reaches(call)]

    @cached_property
    def hanging(self) -> list[ast.Call]:
        """`setNumThreads(1)` inside a worker: it may join threads that fork did not copy."""
        return [
            c for c, n in self._settings if n == 1 and self.module.tree.function(c) is not None and self._reaches(c)
        ]


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _first_foreign_use(module: Module) -> tuple[str, str] | None:
    """The file of another module that computes first in this one's workers, and how; None if this one does itself."""
    opencv = OpenCV(module)
    if opencv.first_use is not None or not opencv._uses:
        return None
    call, function, how = opencv._uses[0]
    home = module.home(call)
    assert home is not None
    return home.path, f"`{function.name}` {how}"
