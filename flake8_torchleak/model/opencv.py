"""OpenCV in worker-side code: what computes there, and which `cv2.setNumThreads` calls reach it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import mentions
from flake8_torchleak.model.project import limits_opencv
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

# The heavy functions that augmentation uses; cheap ones (flip, copyMakeBorder) are left out, not measured.
_COMPUTES = frozenset({
    "resize", "cvtColor", "warpAffine", "warpPerspective", "remap", "GaussianBlur", "blur", "medianBlur", "filter2D",
    "bilateralFilter", "sepFilter2D", "Sobel", "Laplacian", "Canny", "Scharr", "erode", "dilate", "morphologyEx",
    "threshold", "adaptiveThreshold", "equalizeHist", "LUT", "pyrDown", "pyrUp", "undistort", "distanceTransform",
    "matchTemplate", "grabCut", "inpaint", "calcOpticalFlowFarneback", "fastNlMeansDenoisingColored", "boxFilter",
    "linearPolar", "warpPolar",
})  # fmt: skip
_ENVIRONMENT = frozenset({"OPENCV_FOR_THREADS_NUM", "OMP_NUM_THREADS", "OPENCV_FOR_OPENMP_DYNAMIC_DISABLE"})


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A call that computes, in a worker-side function.

    node: the call itself, or the one in the module that leads there; how: how the function comes to run in a worker
    (words for a message).
    """

    call: ast.Call
    node: ast.Call
    function: FunctionNode
    how: str


class OpenCV:
    """What a module does with cv2 in its workers."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def first_use(self) -> Use | None:
        """The first computing call in worker-side code of the module, or, if there is none, of another that it uses."""
        tree = self.module.tree
        uses = [use for function in self.module.workers.functions for use in self._uses(function)]
        own = [use for use in uses if tree.is_own(use.call)]
        return min(own or uses, key=lambda use: (use.node.lineno, use.node.col_offset), default=None)

    def _uses(self, function: FunctionNode) -> Iterator[Use]:
        tree, how = self.module.tree, self.module.workers.functions[function]
        for call in tree.calls(function):
            qualname = self.module.names.qualname(call.func)
            if not qualname.startswith("cv2.") or qualname.rpartition(".")[2] not in _COMPUTES:
                continue
            if tree.is_own(call):
                yield Use(call, call, function, how)
            else:
                ways = [each for each in self.module.workers.chain(function) if tree.is_own(each)]
                yield from (Use(call, each, function, how) for each in ways[-1:])

    @cached_property
    def _settings(self) -> list[tuple[ast.Call, object]]:
        """Every `cv2.setNumThreads(n)` with its constant n (None if it is not one)."""
        found: list[tuple[ast.Call, object]] = []
        for call in self.module.tree.all(ast.Call):
            if self.module.names.qualname(call.func) == "cv2.setNumThreads" and call.args:
                argument = call.args[0]
                found.append((call, argument.value if isinstance(argument, ast.Constant) else None))
        return found

    def _reaches(self, call: ast.Call) -> bool:
        """Whether a call runs in the workers whatever the start method."""
        function = self.module.tree.function(call)
        if function is None:
            return not self._under_main(call)
        return function in self.module.workers.functions or function in self.module.workers.initialisers

    def _under_main(self, call: ast.AST) -> bool:
        return any(isinstance(up, ast.If) and mentions(up.test, "__main__") for up in self.module.tree.ancestors(call))

    @cached_property
    def is_guarded(self) -> bool:
        """Whether the workers' thread pools are switched off, or the environment limits them."""
        if any(self._reaches(call) for call, _ in self._settings):
            return True
        if self.module.project is not None and self.module.project.limits_opencv(self.module.tree):
            return True
        if any(limits_opencv(file.text) for file in self.module.attached.files.values()):
            return True
        if any(self._imports(guard) for guard in self.module.config.cv2_guard_modules):
            return True
        for node in self.module.tree.all(ast.Constant):
            if node.value in _ENVIRONMENT and self.module.tree.function(node) is None:
                return True
        return False

    @property
    def is_imported(self) -> bool:
        """Whether the module imports cv2 at all."""
        return "cv2" in self.module.names.imports

    @property
    def is_imported_at_top(self) -> bool:
        """Whether the module cannot do without cv2: it, or something in it, is imported at module level."""
        names, tree = self.module.names, self.module.tree
        return any(
            tree.parents[tree.parents[alias]] is self.module.root
            for alias in tree.all(ast.alias)
            if names.imported(alias).partition(".")[0] == "cv2"
        )

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
