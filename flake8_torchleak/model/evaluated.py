"""What an evaluation is that runs a network with gradients on, and what is none: tests, and what needs gradients."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.modes import MEANT, SWITCHED
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.needing import needs_grad
from flake8_torchleak.model.rounds import Round
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Loop, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

MADE_SO = "`from_pretrained` gives a network in evaluation mode, which does not turn autograd off"
"""What a note says of a network that was put in evaluation mode by the library that made it."""
SWITCHED_ELSEWHERE = "who calls it puts the network in evaluation mode, which does not turn autograd off"
"""What a note says of a function whose callers are in other files."""

WITHOUT_GRAPH = "what it gives is only used without its graph"
"""What a note says of what cuts an output off from its graph."""
DETACHED = "it is taken to run the network with gradients on, as what it gives is detached"
"""What a note says of a method that nobody can see."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One evaluation loop: its first model call, the loop, the function, and evidence.

    loop: None if the function goes over all data at once; function: None at module level.
    """

    call: ast.Call
    loop: Round | None
    function: FunctionNode | None
    evidence: tuple[tuple[ast.AST, str], ...]
    by_use: bool = False
    """Whether only what becomes of the outputs says that no gradients are needed."""
    followed: bool = False
    """Whether the text alone does not show it: what is called runs the network, or somebody else sets its mode."""
    assumed: bool = False
    """Whether only what becomes of the output says that a method which nobody can see builds a graph."""
    of_any_class: bool = False
    """Whether the network may be of any class of the project."""
    in_training: bool = False
    """Whether it may stand in training, of which it is no part: its outputs are only used without their graph."""
    test: str = ""
    """The condition under which the same call is for training, as it is written."""

    @property
    def is_cut(self) -> bool:
        """Whether it is told for outputs that are only used without their graph."""
        return any(text == WITHOUT_GRAPH for _, text in self.evidence)

    @property
    def is_meant(self) -> bool:
        """Whether the program means to turn gradients off, and does not."""
        return any(text == MEANT for _, text in self.evidence)

    @property
    def is_switched(self) -> bool:
        """Whether the program puts the network in evaluation mode."""
        return any(text in (SWITCHED, MADE_SO, SWITCHED_ELSEWHERE) for _, text in self.evidence)


def is_left_out(module: Module, scope: Scope, call: ast.Call) -> bool:
    """Whether what a function does around a call of a network needs gradients, or goes into training."""
    if needs_grad(module, part_of(module, scope, call)):
        return True
    return isinstance(scope, FUNCTIONS) and module.release.callers.are_training(scope) is not None


def part_of(module: Module, scope: Scope, call: ast.Call) -> ast.AST:
    """What is done together with a call: all of its function; of one that trains in other loops, its own outermost one.

    What learns is chosen before training, and what is attacked is attacked in training.
    """
    return (outermost(module, call) or scope) if module.loops.trains(scope) else scope


def outermost(module: Module, call: ast.Call) -> Loop | None:
    """The outermost loop around a call that trains nothing."""
    return next((each for each in reversed(module.tree.loops(call)) if not module.loops.trains(each)), None)


def is_test(module: Module, scope: Scope) -> bool:
    """A unit test: its graphs are as small as its inputs."""
    if not isinstance(scope, FUNCTIONS) or not scope.name.startswith("test"):
        return False
    if module.names.imports & {"pytest", "unittest", "absl", "parameterized"}:
        return True
    owner = module.tree.class_of(scope)
    if owner is not None and not any("Test" in name for name in (owner.name, *map(last_name, owner.bases))):
        return False  # no class whose methods a test runner calls
    own = [p for p in scope.args.args if p.arg not in ("self", "cls")]
    return scope.name.startswith("test_") and not any(
        module.infer.parameters.value(p, scope).kind in (Kind.MODULE, Kind.LOADER) for p in own
    )
