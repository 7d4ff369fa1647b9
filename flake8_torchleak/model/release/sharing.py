"""Whether code in reach edits what it is handed: then a copy is no longer the same program, only a better one."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.finding import FixLevel
from flake8_torchleak.model.bindings import Definition, How, container_of, is_changing, key_of
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.edits import edits
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.release.asking import compares_identity
from flake8_torchleak.model.release.touched import Touches
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.samples import is_stored
from flake8_torchleak.model.tree import FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind, OriginKind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_HOPS = 6
"""Variables and calls that a sample is followed through."""
_PLAIN = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE})
_NONE = _PLAIN | {Kind.METRIC, Kind.MODULE, Kind.PATH, Kind.FILE}
"""What is no sample; of a parameter only a name says that it is a metric, a model, a path."""
_ASKS = frozenset({
    "shares_memory", "may_share_memory", "_base", "data_ptr", "storage", "untyped_storage", "is_set_to", "_is_view",
})  # fmt: skip
"""What tells whose memory a tensor or an array is."""


class Sharing:
    """Edits in one module of what somebody else made."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.touches = Touches(module)

    @remembered
    def edits_samples(self, of_array: bool, guess: bool = True) -> ast.AST | None:
        """The first place that edits what may be a sample, if there is one: an array (or tensor), or anything.

        guess: count what a parameter gets that no call in sight shows, too. Whoever edits samples on purpose reads
        them again. What Datasets do to their own elements has rules of its own (TLK203).
        """
        self._ask_for_readers()
        own = {function for each in self.module.datasets.all for function in each.facts.methods.values()}
        for scope in (self.module.root, *self.module.tree.everywhere(*FUNCTIONS)):
            if scope in own or getattr(scope, "name", "") == "__init__":
                continue
            for touch in self.touches.within(scope):
                names = touch.names if touch.array or not of_array else ()
                # `i -= 1` is one of a number, as a rule.
                likely = guess and not (isinstance(touch.node, ast.AugAssign) and isinstance(touch.target, ast.Name))
                if any(self._may_be_a_sample(name.id, name, own and likely, _MOST_HOPS) for name, own in names):
                    return touch.node
        return None

    def _ask_for_readers(self) -> None:
        """Functions of other files that are handed samples are looked up, whatever their name says: they may edit."""
        asked = [each.value for each in self._collating_keywords()]
        for call in self.module.tree.all(ast.Call):
            if any(self._may_hold_samples(each, False, _MOST_HOPS) for each in _given(call)):
                asked.append(call.func)
        for each in asked:
            self.module.names.definition(each, True)

    @cached_property
    def _calls(self) -> dict[ast.AST, list[ast.Call]]:
        """Functions of other files -> the calls that run them."""
        found: dict[ast.AST, list[ast.Call]] = {}
        for call in self.module.tree.all(ast.Call) if self.module.tree.has_guests else ():
            function = self.module.names.definition(call.func, True)
            if function is not None and not self.module.tree.is_own(function):
                found.setdefault(function, []).append(call)
        return found

    @cached_property
    def _collating(self) -> frozenset[ast.AST | None]:
        """Collate functions, of other files too: they are handed samples, and called by nobody in sight."""
        return frozenset(self.module.names.definition(each.value, True) for each in self._collating_keywords())

    def _collating_keywords(self) -> list[ast.keyword]:
        calls = self.module.tree.all(ast.Call)
        return [keyword for call in calls for keyword in call.keywords if keyword.arg == "collate_fn"]

    @remembered
    def level(self, of_array: bool) -> FixLevel:
        """How safe it is to hand out a copy instead of the stored array, or container."""
        if self.edits_samples(of_array) is not None:
            return FixLevel.UNSAFE
        if self.asking() is FixLevel.UNSAFE:
            return FixLevel.UNSAFE
        for dataset in self.module.datasets.all:
            if self._edits_own(dataset) or self._is_edited_by_users(dataset, of_array):
                return FixLevel.UNSAFE
        return FixLevel.SAFE

    def _is_edited_by_users(self, dataset: DatasetFacts, of_array: bool) -> bool:
        """Whether a module of the project that names the Dataset edits samples."""
        answers = self.module.users.answers(
            lambda user: user.release.sharing.edits_samples(of_array, False) is not None, dataset.facts.node.name
        )
        return any(edits_them for _, edits_them in answers) or not self.module.users.are_all(dataset.facts.node.name)

    def _edits_own(self, dataset: DatasetFacts) -> bool:
        """Whether a Dataset edits the elements that it stores, itself or by functions that it hands them to."""
        if any(True for _ in edits(self.module, dataset)):
            return True
        for function in dataset.calls_in:
            if any(self._is_element(each) for touch in self.touches.within(function) for each in touch.parts):
                return True
            for call in self.module.tree.calls(function):
                if self.touches.edits(call, True) and any(map(self._is_element, _given(call))):
                    return True
        return False

    def _is_element(self, node: ast.expr) -> bool:
        """Whether an expression stands for what a Dataset stores, and is not the attribute that holds all of it."""
        return self.module.classes.self_attribute(node) is None and is_stored(self.module.infer.value(node))

    @remembered
    def _may_be_a_sample(self, key: str, use: ast.AST, guess: bool, hops: int) -> bool:
        """Whether a variable may stand for what somebody got of a Dataset: all but what is made or found here.

        guess: whether a parameter that no call in sight shows may.
        """
        generator = self.module.names.comprehension(use) if isinstance(use, ast.Name) and use.id == key else None
        if generator is not None:
            return not hops or self._may_hold_samples(generator.iter, guess, hops - 1)
        reaching = self.module.flow.reaching(key, use)
        return not hops or any(self._may_give_samples(each, guess, hops - 1) for each in reaching)

    @remembered
    def _may_give_samples(self, definition: Definition, guess: bool, hops: int) -> bool:
        value = definition.value
        kind = self.module.infer.definition(definition, NO_ENV).kind
        if kind in (_PLAIN if definition.how is How.PARAMETER else _NONE):
            return False
        if definition.how is How.PARAMETER:
            return self._may_be_handed_samples(definition, guess, hops)
        if value is None:
            return False
        if definition.how is How.ASSIGN and not isinstance(value, (ast.Name, ast.Subscript)):
            return guess and bool(definition.path) and not isinstance(value, (ast.Tuple, ast.List))
        if definition.how is How.AUGMENT:
            return False  # what it was before is another definition
        return self._may_hold_samples(value, guess, hops)

    def _may_hold_samples(self, value: ast.expr, guess: bool, hops: int) -> bool:
        """Whether what is iterated over or looked into may be a loader, a Dataset, a batch."""
        while isinstance(value, ast.Subscript):
            value = value.value
        if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            return bool(hops) and any(self._may_hold_samples(each, guess, hops - 1) for each in value.elts)
        found = self.module.infer.value(value)
        if found.kind in (Kind.LOADER, Kind.DATASET) or found.made in self._datasets:
            return True
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return bool(hops) and any(self._may_hold_samples(each, guess, hops - 1) for each in value.args)
        return isinstance(value, ast.Name) and self._may_be_a_sample(value.id, value, guess, hops)

    @cached_property
    def _datasets(self) -> frozenset[ast.AST | None]:
        return frozenset(each.facts.node for each in self.module.datasets.all)

    def _may_be_handed_samples(self, definition: Definition, guess: bool, hops: int) -> bool:
        """Whether a parameter may get samples: from calls that show it, or where no call shows anything."""
        function, parameter = definition.statement, definition.node
        if not isinstance(function, FUNCTIONS) or not isinstance(parameter, ast.arg):
            return guess
        if parameter.arg in ("self", "cls"):
            return False
        calls = self._calls.get(function) or self.module.classes.calls_of(function)
        given = [self.module.classes.argument(call, parameter, function) for call in calls]
        if function in self._collating:
            return True
        if not given or None in given:
            return guess
        return any(each is not None and self._may_hold_samples(each, guess, hops) for each in given)

    @remembered
    def asking(self) -> FixLevel:
        """How safe a copy is where code may ask what shares its memory with what: it sees the difference."""
        tree = self.module.tree
        asked = any(node.attr in _ASKS for node in tree.all(ast.Attribute)) or any(
            compares_identity(each) or getattr(each.left, "attr", "") == "base" for each in tree.all(ast.Compare)
        )
        return FixLevel.UNSAFE if asked else FixLevel.SAFE

    @remembered
    def edits_content(self, key: str, node: ast.AST) -> bool:
        """Whether what a container holds is edited in place through it (`kept[-1][0] = 0`)."""
        changes = self.module.flow.mutations(self.module.tree.scope(node)).get(key, [])
        return any(is_changing(each.method) and (each.depth or each.method == "augitem") for each in changes)

    @remembered
    def edits_batches(self, scope: Scope) -> ast.AST | None:
        """The first place in a function that edits what shares a batch's memory, if there is one."""
        for touch in self.touches.within(scope):
            if any(self._is_of_a_batch(name) for name, _ in touch.names):
                return touch.node
            if touch.array and isinstance(container_of(touch.target)[0], ast.Call):
                return touch.node  # an element of a list of what is kept, perhaps
        for call in self.module.tree.calls(scope):
            parts = (part for each in _given(call) for part in ast.walk(each))
            if any(isinstance(part, ast.Name) and self._is_of_a_batch(part) for part in parts):
                if self.touches.edits(call, True):
                    return call
        return None

    @remembered
    def _is_of_a_batch(self, name: ast.Name) -> bool:
        """Whether a variable may share the memory of a loader's batch."""
        origins = (
            self.module.infer.definition(each, NO_ENV).origin for each in self.module.flow.reaching(name.id, name)
        )
        return any(origin is not None and origin.kind is OriginKind.BATCH for origin in origins)

    def edits_arrays(self, key: str, scope: Scope) -> bool:
        """Whether a function edits an array or tensor, other than by putting something into the variable `key`."""
        for touch in self.touches.within(scope):
            if touch.array and key_of(container_of(touch.target)[0]) != key:
                if any(not self._kinds(name) <= _NONE for name, _ in touch.names):
                    return True
        return self.touches.hands_to_editor(scope, False)

    def _kinds(self, name: ast.Name) -> frozenset[Kind]:
        """What a variable may be; nothing for one that is defined elsewhere, a module's or a library's."""
        reaching = self.module.flow.reaching(name.id, name)
        return frozenset(self.module.infer.definition(each, NO_ENV).kind for each in reaching)


def _given(call: ast.Call) -> tuple[ast.expr, ...]:
    """What a call hands over."""
    return (*call.args, *(keyword.value for keyword in call.keywords))
