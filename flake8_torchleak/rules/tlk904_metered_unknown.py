"""metered-unknown: a meter keeps tensors as they are handed in, and nothing in reach tells whether they carry a graph.

Leaks
-----
    class RocAuc:
        def update(self, scores, labels):
            self.scores.append(scores)  # a model's output, where training feeds it

Holds
-----
    class RocAuc:
        def update(self, scores, labels):
            self.scores.append(scores.detach())

Why
---
TLK403 for a meter whose feeder nothing in reach shows: a metric of a library, a class that a framework calls. Who
evaluates under no_grad loses nothing; the first one who feeds it in a training step keeps the graph of every step.
A meter that detaches by itself is right for both.

Measured
--------
As TLK403. torchmetrics 1.9.0: what `update` adds to a tensor carries no graph, a tensor that it appends keeps its own;
calling the metric itself (`metric(preds, target)`) keeps none.

Silent when
-----------
The meter detaches, asks for `requires_grad`, converts to numbers or arrays, compares what it is given, or keeps it in
evaluation only; nothing shows that it is given tensors; the file itself feeds it (TLK403 then knows), or other modules
do and never with a graph; torchmetrics sums for it; or what collects is no meter by its name (buffers, queues).

Fix
---
`.detach()` on what is kept. Unsafe: whoever differentiates through the metric needs its graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.keeping import Keeping, keepings
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import TENSOR_ATTRIBUTES, TENSOR_METHODS, Kind, Value
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_METER = re.compile(r"meter|metric|evaluator|average|statistic|recorder|scorer|reporter|accumulator", re.IGNORECASE)
_FEEDS = re.compile(r"^_?(?:update|add|append|put|push|record|report|process|collect|accumulate|observe|__call__)")
_JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack", "dim_zero_cat", "_cat"})
_NUMBERS = (Kind.NUMBER, Kind.STRING, Kind.ARRAY, Kind.NONE)


@rule(
    "TLK904",
    "metered-unknown",
    fix=FixLevel.UNSAFE,
    severity=Severity.NOTE,
    subject=Subject.TORCH,
    words=("meter", "Meter", "etric", "valuator", "verage", "tatistic", "ecorder", "corer", "eporter", "ccumulator"),
    beside=("def update", "def add", "def append", "def put", "def push", "def record", "def report", "def process",
            "def collect", "def accumulate", "def observe", "def __call__", "def _"),
)  # fmt: skip
def check(module: Module) -> Iterator[Report]:
    for function in module.tree.all(*FUNCTIONS) if not module.is_test else ():
        if not _FEEDS.match(function.name):
            continue
        owner = module.tree.class_of(function)
        facts = module.classes.all[owner] if owner is not None else None
        if facts is not None and not _is_meter(facts):
            continue
        kept = [
            each
            for each in _kept(module, function, facts)
            if not _is_released(module, function, facts, each) and _may_carry(module, function, facts, each)
        ]
        if kept and not _is_fed_plainly(module, function, facts):
            where = function.name if facts is None else f"{facts.node.name}.{function.name}"
            for each in kept:
                yield Report(
                    each.node,
                    f"`{where}` keeps `{short(each.value)}` as it comes: of a model's output, the graph of every step; "
                    "detach it",
                    notes=_evidence(module, facts, each),
                    target=each,
                )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on what is kept."""
    kept = report.target
    assert isinstance(kept, Keeping)
    module, value = build.module, kept.value
    if not module.proof.is_tensor(value) and _joined(module.classes.around(kept.node), module, kept) is None:
        raise Unfixable(f"`{short(value)}` is not proven to be a tensor")
    yield Fix(FixLevel.UNSAFE, f"keep `{short(value)}` detached", build.method(value, "detach"))


def _is_meter(facts: ClassFacts) -> bool:
    """Whether a class, or one that it derives from, is a meter by its name."""
    names = [each.node.name for each in facts.lineage] + [last_name(base) for base in facts.outer_bases]
    return any(_METER.search(name) for name in names)


def _kept(module: Module, function: FunctionNode, facts: ClassFacts | None) -> list[Keeping]:
    """What a method adds to its object's attributes, a function to variables of the module."""
    if facts is not None:
        return list(keepings(module, function, f"{self_name(function)}."))
    if module.tree.function(function) is not None:
        return []
    own = module.flow.definitions(function)
    known = module.flow.definitions(module.root)
    return [each for each in keepings(module, function, "") if each.key in known and each.key not in own]


def _is_released(module: Module, function: FunctionNode, facts: ClassFacts | None, kept: Keeping) -> bool:
    """Whether the meter sees to it: it looks at `requires_grad`, keeps in evaluation only, or a library sums for it."""
    if any(isinstance(node, ast.Attribute) and node.attr == "requires_grad" for node in module.tree.within(function)):
        return True
    tests = [up.test for up in module.tree.ancestors(kept.node) if isinstance(up, ast.If)]
    words = (node.value for test in tests for node in ast.walk(test) if isinstance(node, ast.Constant))
    if any(isinstance(word, str) and hints.is_evaluation(word) for word in words):
        return True
    bases = facts.outer_bases if facts is not None else []
    return kept.sums and any("torchmetrics" in module.names.qualname(base) for base in bases)


def _may_carry(module: Module, function: FunctionNode, facts: ClassFacts | None, kept: Keeping) -> bool:
    """Whether what is kept is a tensor, and carries a graph if what the function is given does."""
    declared = {p: module.infer.parameters.value(p, function).kind for p in parameters(function)}
    tensor = Value(Kind.TENSOR, graph=True)
    if module.infer.value(kept.value, Env({p: tensor for p, kind in declared.items() if kind is Kind.TENSOR})).graph:
        return True
    value = module.infer.value(kept.value, Env({p: tensor for p, kind in declared.items() if kind not in _NUMBERS}))
    if facts is None or value.graph is False or not (value.graph or value.kind in (Kind.UNKNOWN, Kind.TENSOR)):
        return False
    parts = list(_parts(kept.value))
    if any(_gives_none(part) or hints.is_plain_result(last_name(part)) for part in parts):
        return False
    used = any(module.loops.has_tensor_use(part) for part in parts)
    return used or module.proof.is_tensor(kept.value) or _joined(facts, module, kept) is not None


def _gives_none(node: ast.expr) -> bool:
    """Whether a method's result or an attribute carries no graph (`.size(0)`, `.long()`, `.shape`)."""
    if isinstance(node, ast.Call):
        effect = TENSOR_METHODS.get(last_name(node.func))
    else:
        effect = TENSOR_ATTRIBUTES.get(last_name(node)) if isinstance(node, ast.Attribute) else None
    return effect is not None and not effect.graph


def _is_fed_plainly(module: Module, function: FunctionNode, facts: ClassFacts | None) -> bool:
    """Whether the file itself feeds it (TLK403 knows), or others of the project do, and never with a graph."""
    if facts is None:
        return False
    owner, name = facts.node.name, function.name
    if any(made is facts.node for made, _ in _feedings(module, name)):
        return True
    found = [
        plain
        for _, feedings in module.users.answers(lambda user: _feedings(user, name), owner, f".{name}(")
        for made, plain in feedings
        if made is None or made.name == owner
    ]
    return bool(found) and all(found)


def _feedings(module: Module, name: str) -> list[tuple[ast.ClassDef | None, bool]]:
    """The calls of a method of this name, as (class if known, whether nothing that is handed over carries a graph)."""
    found: list[tuple[ast.ClassDef | None, bool]] = []
    for call in module.classes.own_calls(name):
        made = module.infer.value(call.func.value).made if isinstance(call.func, ast.Attribute) else None
        arguments = [*call.args, *(k.value for k in call.keywords)]
        plain = module.grad.off(call) or all(module.infer.value(each).graph is False for each in arguments)
        found.append((made if isinstance(made, ast.ClassDef) else None, plain))
    return found


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what it is a method's result, an attribute or an element of."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        yield node
        node = node.func if isinstance(node, ast.Call) else node.value
    yield node


def _joined(facts: ClassFacts | None, module: Module, kept: Keeping) -> ast.Call | None:
    """Where the class joins what it has collected, as only tensors can be (`torch.cat(self.scores)`)."""
    attribute = kept.key.partition(".")[2]
    for function in facts.all_functions if facts is not None else ():
        for call in module.tree.calls(function):
            if call.args and last_name(call.func) in _JOINS and key_of(call.args[0]).partition(".")[2] == attribute:
                if not module.names.qualname(call.func).startswith("numpy."):
                    return call
    return None


def _evidence(module: Module, facts: ClassFacts | None, kept: Keeping) -> tuple[tuple[ast.AST, str], ...]:
    joined = _joined(facts, module, kept)
    return ((joined, "joined here, tensors all of them"),) if joined is not None else ()
