"""Dataset classes: what makes a class one, and which of its code runs for every sample."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.attributes import is_property
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.few import MANY, is_remainder
from flake8_torchleak.model.loader import SAMPLE_METHODS
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_FRAMEWORK_METHODS = (
    "get_data_info", "prepare_data", "prepare_train_img", "prepare_test_img", "prepare_train_data", "prepare_test_data",
    "get", "_getitem", "get_item", "_get_item", "getitem", "load_image", "load_mask", "load_sample", "__next__",
    "_transform", "evaluate_sample",
)  # fmt: skip
"""Methods that a base class's `__getitem__` calls by convention; they count where the class has no own one."""

_NOT_TORCH = frozenset({"tensorflow", "keras", "tf", "datasets", "paddle", "mxnet", "grain", "jax", "torchtext"})
_DATASET_BASES = frozenset({
    "Dataset", "IterableDataset", "VisionDataset", "ImageFolder", "DatasetFolder", "CocoDetection", "TensorDataset",
    "InMemoryDataset", "ConcatDataset", "Subset", "IterDataPipe", "MapDataPipe", "TorchDataset", "ImageNet", "CIFAR10",
    "CIFAR100", "MNIST", "CocoCaptions", "BaseDataset", "CustomDataset",
})  # fmt: skip
_SERIALISING_BASES = frozenset(
    {"BaseDataset", "BaseDetDataset", "BaseSegDataset", "Det3DDataset", "BaseCocoStyleDataset", "CocoDataset"}
)
_SERIALISING_HOOKS = frozenset({"load_data_list", "parse_data_info", "filter_data"})
_MOST_FUNCTIONS = 60


_DRAWN = frozenset({"randint", "randrange", "choice", "random", "integers"})
"""Functions that draw an index."""


Asked = ast.Call | ast.Attribute | ast.Subscript
"""What runs a function: a call, the read of a property, or a subscript of an object."""


class DatasetFacts:
    """One Dataset class: its sample functions and the indices they are given."""

    def __init__(self, module: Module, facts: ClassFacts) -> None:
        self.module, self.facts = module, facts

    @property
    def name(self) -> str:
        """The class's name."""
        return self.facts.node.name

    @property
    def owner(self) -> DatasetFacts:
        """The Dataset that loaders get."""
        return self

    def place(self, node: ast.AST, function: FunctionNode) -> ast.AST:
        """Where a finding about a node stands: there, or where this file leads there, if no other file shows that.

        function: the one that samples run.
        """
        if self.module.tree.is_own(node) or self._is_told_there(function):
            return node
        leading = (call for call, _ in reversed(self.chain(function)))
        return next(filter(self.module.tree.is_own, leading), self.facts.node)

    def _is_told_there(self, function: FunctionNode) -> bool:
        """Whether a base class shows by itself that samples run a function: what is found then is its file's."""
        owner = self.module.classes.around(function)
        if owner is None or owner is self.facts or not self.module.datasets.is_dataset(owner):
            return False
        return function in DatasetFacts(self.module, owner).calls_in

    @property
    def elsewhere(self) -> str:
        """The class's name, if a finding about it stands where an object of it is made; else ""."""
        return ""

    @cached_property
    def made_as(self) -> list[str]:
        """The names of the classes of the file by which samples of it are read: its own, and who inherits how."""
        return [each.node.name for each in self.module.classes.running(self.facts, *SAMPLE_METHODS)]

    @cached_property
    def is_serialised(self) -> bool:
        """Whether a base class elsewhere (mmengine's) packs what the Dataset holds into one buffer."""
        if _SERIALISING_HOOKS & set(self.facts.methods):
            return True
        bases = {last_name(base) for base in self.facts.outer_bases}
        return bool(bases & _SERIALISING_BASES) and any("mm" in name for name in self.module.names.imports)

    @cached_property
    def entries(self) -> list[FunctionNode]:
        """The methods a loader calls per sample, or those a base class elsewhere is known to call."""
        methods = self.facts.methods
        found = [methods[name] for name in SAMPLE_METHODS if name in methods]
        if not found or not self.facts.outer_bases:
            return found or [methods[name] for name in _FRAMEWORK_METHODS if name in methods]
        return found

    @cached_property
    def calls_in(self) -> dict[FunctionNode, Asked | None]:
        """Functions that run per sample -> the call (or property read) that leads there, None for the entries."""
        module = self.module
        found = self._called()
        queue = list(found)
        while queue and len(found) < _MOST_FUNCTIONS:
            function = queue.pop(0)
            for node in module.tree.within(function):
                callee: FunctionNode | None = None
                if isinstance(node, ast.Call):
                    callee = self.resolve(node)
                elif isinstance(node, ast.Attribute):
                    owned = module.classes.self_attribute(node)
                    method = self.facts.methods.get(owned[1]) if owned else None
                    callee = method if method is not None and is_property(method) else None
                if callee is not None and callee not in found and callee.name != "__init__":
                    found[callee] = node  # type: ignore[assignment]
                    queue.append(callee)
        if queue:
            why = f"reading a sample runs more than {_MOST_FUNCTIONS} functions"
            module.flow.cut.setdefault(self.facts.node, why)
        return found

    def _called(self) -> dict[FunctionNode, Asked | None]:
        """What runs for samples whatever is in it, with the call that leads there, None for the entries."""
        return dict.fromkeys(self.entries)

    def resolve(self, call: ast.Call) -> FunctionNode | None:
        """The function a call in a sample method runs; `self.m()` is looked up from this very class."""
        owned = self.module.classes.self_attribute(call.func)
        if owned is not None and owned[0] in self.facts.lineage:
            return self.facts.methods.get(owned[1])
        return self.module.classes.callee(call)

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Attributes that sample functions, or a worker_init_fn of the file, bind anew."""
        return frozenset(
            node.attr
            for function in {*self.calls_in, *self.module.workers.initialisers}
            for node in self.module.tree.within(function)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
        )

    def chain(self, function: FunctionNode) -> list[tuple[ast.AST, str]]:
        """Evidence of how a sample method comes to `function`: the calls, outermost first."""
        notes: list[tuple[ast.AST, str]] = []
        called: FunctionNode | None = function
        while called is not None and (call := self.calls_in.get(called)) is not None:
            verb = "called" if isinstance(call, ast.Call) else "read"
            notes.append((call, f"`{called.name}` is {verb} for every sample"))
            called = self.module.tree.function(call)
        return notes[::-1]

    # -- indices --------------------------------------------------------------------------------------------

    @cached_property
    def indices(self) -> dict[FunctionNode, frozenset[str]]:
        """Per sample function: variables that are the sample's index, or plain arithmetic on it with as many values."""
        found = self._indices()
        for function, call in self.calls_in.items():
            names: set[str] = set()
            own = parameters(function)
            if call is None and function.name not in ("__iter__", "__next__"):
                names.update(p.arg for p in own[1:2])
            elif isinstance(call, ast.Call):
                caller = self.module.tree.function(call)
                known = found.get(caller, frozenset()) if caller is not None else frozenset()
                expected = own[1:] if self_name(function) and self.module.tree.class_of(function) else own
                names.update(p.arg for p, a in zip(expected, call.args, strict=False) if self._plain(a, known))
            elif isinstance(call, ast.Subscript):
                caller = self.module.tree.function(call)
                if caller is not None and self._plain(call.slice, found.get(caller, frozenset())):
                    names.update(p.arg for p in own[1:2])
            for _ in range(2):
                for key, definitions in self.module.flow.definitions(function).items():
                    if any(d.value is not None and self._plain(d.value, names) for d in definitions):
                        names.add(key)
            found[function] = frozenset(names)
        return found

    def _indices(self) -> dict[FunctionNode, frozenset[str]]:
        """Those of functions that are not its own."""
        return {}

    def is_index(self, node: ast.expr) -> bool:
        """Whether an expression is the sample's index (not something looked up with it)."""
        function = self.module.tree.function(node)
        return function is not None and self._plain(node, self.indices.get(function, frozenset()))

    def _plain(self, node: ast.expr, names: frozenset[str] | set[str]) -> bool:
        stack: list[ast.expr | None] = [node]
        while stack:
            each = stack.pop()
            if isinstance(each, ast.Name) and each.id in names:
                return True
            if isinstance(each, ast.BinOp):
                stack += [each.left, each.right] if not is_remainder(self.module, each, MANY) else []
            elif isinstance(each, ast.Call):
                name = last_name(each.func)
                if name in _DRAWN:
                    return True
                if name in ("int", "item", "divmod", "min", "max", "tolist"):
                    stack += each.args
                    stack.append(each.func.value if isinstance(each.func, ast.Attribute) else None)
            elif isinstance(each, ast.Subscript):
                if any(word in last_name(each.value) for word in ("ind", "idx", "perm", "order", "ids")):
                    stack.append(each.slice)
            elif isinstance(each, ast.IfExp):
                stack += [each.body, each.orelse]
            elif isinstance(each, ast.Slice):
                stack += [each.lower, each.upper]
        return False

    def derives(self, node: ast.AST) -> bool:
        """Whether an expression depends on the sample's index at all, also through what was looked up with it."""
        function = self.module.tree.function(node)
        if function is None:
            return False
        known = set(self.indices.get(function, ()))
        flow = self.module.flow
        queue, seen = [node], set[str]()
        while queue and len(seen) < 60:
            each = queue.pop()
            for name in ast.walk(each):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.id not in seen:
                    if name.id in known:
                        return True
                    seen.add(name.id)
                    queue += [d.value for d in flow.reaching(name.id, name) if d.value is not None]
        call = self.calls_in.get(function)
        passed = {p.arg for p in parameters(function)} & seen
        return bool(passed) and call is not None


class Datasets:
    """The Dataset classes of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def all(self) -> list[DatasetFacts]:
        """Every class of the file that is a Dataset, in source order; those of tests are small, and live briefly."""
        if self.module.is_test:
            return []
        table, tree = self.module.classes.all, self.module.tree
        return [
            DatasetFacts(self.module, facts)
            for node, facts in table.items()
            if tree.is_own(node) and self.is_dataset(facts)
        ]

    def is_dataset(self, facts: ClassFacts) -> bool:
        """Whether a class is a PyTorch Dataset: by its bases, or by its shape and how the file uses it."""
        if any(self._is_foreign(base) for base in facts.outer_bases):
            return False
        if any(map(self._is_base, facts.outer_bases)):
            return True
        return self._is_duck(facts)

    def _is_foreign(self, base: ast.expr) -> bool:
        qualname = self.module.names.qualname(base)
        root = qualname.partition(".")[0]
        if last_name(base) in (
            "Module",
            "LightningModule",
            "Sequence",
            "PyDataset",
            "GeneratorBasedBuilder",
            "DataLoader",
        ):
            return True
        return root in _NOT_TORCH and not qualname.startswith("torch.")

    def _is_base(self, base: ast.expr) -> bool:
        whole = base.value if isinstance(base, ast.Subscript) else base
        qualname = self.module.names.qualname(whole)
        name = qualname.rpartition(".")[2] if qualname.startswith("torch.utils.data.") else last_name(whole)
        configured = self.module.config.dataset_bases
        return name in _DATASET_BASES or name in configured or qualname in configured or name.endswith("Dataset")

    def _is_duck(self, facts: ClassFacts) -> bool:
        methods = facts.methods
        if "__getitem__" not in methods or "__len__" not in methods:
            return False
        if self.module.loaders.serving(facts.node):
            return True
        outer = [b for b in facts.outer_bases if last_name(b) not in ("object", "ABC", "Generic")]
        return not outer and facts.node.name.endswith("Dataset") and "torch" in self.module.names.imports
