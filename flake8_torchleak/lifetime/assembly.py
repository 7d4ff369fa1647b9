"""A run, put together from its parts: each answers one kind of question, and asks the others over the run."""

from __future__ import annotations

from flake8_torchleak.lifetime import viewing
from flake8_torchleak.lifetime.annotations import Annotations
from flake8_torchleak.lifetime.assignments import Assignments
from flake8_torchleak.lifetime.attributes import Attributes
from flake8_torchleak.lifetime.backward import Backward
from flake8_torchleak.lifetime.branches import Branches
from flake8_torchleak.lifetime.builtin import Builtin
from flake8_torchleak.lifetime.calls import Calls
from flake8_torchleak.lifetime.containers import Containers
from flake8_torchleak.lifetime.elements import Elements
from flake8_torchleak.lifetime.expressions import Expressions
from flake8_torchleak.lifetime.foreign import Foreign
from flake8_torchleak.lifetime.functions import Functions
from flake8_torchleak.lifetime.generators import Generators
from flake8_torchleak.lifetime.gradmode import Switches
from flake8_torchleak.lifetime.hooking import Hooks
from flake8_torchleak.lifetime.instances import Instances
from flake8_torchleak.lifetime.keeping import Keeper
from flake8_torchleak.lifetime.loops import Loops
from flake8_torchleak.lifetime.making import Making
from flake8_torchleak.lifetime.modes import Modes
from flake8_torchleak.lifetime.names import Names
from flake8_torchleak.lifetime.needing import Needing
from flake8_torchleak.lifetime.networks import Networks
from flake8_torchleak.lifetime.operations import Operations
from flake8_torchleak.lifetime.rebinding import Rebinding
from flake8_torchleak.lifetime.recalling import Recalling
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.statements import Statements
from flake8_torchleak.lifetime.unseen import Unseen
from flake8_torchleak.lifetime.world import Place


def assembled(views: bool = False) -> Run:
    """A run with all its parts, at its beginning; those that take over methods of others come last."""
    run = Run()
    run.annotations = Annotations(run)
    run.assignments = Assignments(run)
    run.attributes = Attributes(run)
    run.backward = Backward(run)
    run.branches = Branches(run)
    run.builtin = Builtin(run)
    run.calls = Calls(run)
    run.containers = Containers(run)
    run.elements = (viewing.ViewedElements if views else Elements)(run)
    run.foreign = (viewing.ViewedForeign if views else Foreign)(run)
    run.functions = Functions(run)
    run.generators = Generators(run)
    run.hooks = Hooks(run)
    run.instances = Instances(run)
    run.keeper = (viewing.ViewedKeeper if views else Keeper)(run)
    run.looping = Loops(run)
    run.make = (viewing.ViewedMaking if views else Making)(run)
    run.modes = Modes(run)
    run.names = Names(run)
    run.needing = Needing(run)
    run.networks = Networks(run)
    run.operations = (viewing.ViewedOperations if views else Operations)(run)
    run.rebinding = Rebinding(run)
    run.recalling = Recalling(run)
    run.switches = Switches(run)
    run.unseen = Unseen(run)
    run.expressions = (viewing.ViewedExpressions if views else Expressions)(run)
    run.statements = Statements(run)
    run.evaluate = run.expressions.value
    return run


def take_apart(run: Run, own: Place) -> None:
    """Let go of all that a run knows, for good: it is full of circles, and only the garbage collector would free it."""
    for made in run.objects:
        made.fields.clear()
    for info in run.names.classes.values():
        vars(info).clear()
    for part in vars(run).values():
        if isinstance(part, Part):
            vars(part).clear()
    vars(run).clear()
    own.forget()
