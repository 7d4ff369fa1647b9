"""The loops: what draws batches, and calls the step for each."""

from __future__ import annotations

from tests.training.draft import Lines, block, function
from tests.training.parts import Batches
from tests.truth.case import STEP, mark
from tests.truth.draft import Choices

LOOPS = ("for", "while", "enumerate", "zip", "epochs", "step function", "hooks")
WEIGHTED = ("for", "for", "for", "while", "while", "enumerate", "zip", "epochs", "epochs", "step function", "hooks")


def loop(d: Choices, source: Batches, body: Lines, index: str, epoch: Lines) -> Lines:
    """The body for every batch. index: a name that counts steps, if the body reads one. epoch: at an epoch's start."""
    way = d.cell["loop"]
    if way == "step function":
        body = _outlined(d, source, body, index)
    if way == "epochs":
        inner = _simple(d, source, body, index)
        return block(f"for {d.new('epoch')} in range(2):", [*epoch, *inner])
    if way == "while":
        return _while(d, source, body, index)
    if way == "zip":
        count = index or d.new("index")
        return block(mark(f"for {count}, {_target(source)} in zip(range(99), {source.iterable}):", STEP), body)
    return _simple(d, source, body, index, way == "enumerate")


def _target(source: Batches) -> str:
    return f"({source.each})" if "," in source.each else source.each


def _simple(d: Choices, source: Batches, body: Lines, index: str, counted: bool = False) -> Lines:
    if index or counted:
        count = index or d.new("index")
        return block(mark(f"for {count}, {_target(source)} in enumerate({source.iterable}):", STEP), body)
    return block(mark(f"for {source.each} in {source.iterable}:", STEP), body)


def _while(d: Choices, source: Batches, body: Lines, index: str) -> Lines:
    it, drawn = d.new("temp"), d.new("sample")
    count = [f"{index} += 1"] if index else []
    start = [*([f"{index} = -1"] if index else []), f"{it} = iter({source.iterable})"]
    way = d.pick("sentinel", "try", "walrus")
    if way == "try":
        draw = [*block("try:", [f"{source.each} = next({it})"]), *block("except StopIteration:", ["break"])]
        return [*start, *block(mark("while True:", STEP), [*draw, *count, *body])]
    if way == "walrus":
        head = f"while ({drawn} := next({it}, None)) is not None:"
        return [*start, *block(mark(head, STEP), [f"{source.each} = {drawn}", *count, *body])]
    lines = [f"{source.each} = {drawn}", *count, *body, f"{drawn} = next({it}, None)"]
    return [*start, f"{drawn} = next({it}, None)", *block(mark(f"while {drawn} is not None:", STEP), lines)]


def _outlined(d: Choices, source: Batches, body: Lines, index: str) -> Lines:
    """The step as a function, which the loop calls."""
    name = d.new("step")
    given = ", ".join([*([index] if index else []), source.each])
    if d.stage == "method":
        head = [f"global {each}" for each in d.globals if each in "\n".join(body)]
        d.methods.append(function(name, f"self, {given}", [*head, *body]))
        return [f"self.{name}({given})"]
    d.nested_before += d.nested(name, given, body)
    return [f"{name}({given})"]


def hooks(d: Choices, source: Batches, body: Lines, index: str, after: Lines) -> str:
    """A class with the methods that a stub of a framework calls; the expression that runs it, over its object."""
    name, fit = d.pick("training_step", "validation_step"), d.pick("fit", "run", d.new("train"))
    batch, count = d.new("sample"), index or d.new("index")
    unpack = [] if source.each == batch else [f"{source.each} = {batch}"]
    head = [f"global {each}" for each in d.globals if each in "\n".join([*body, *after])]
    d.methods.append(function(name, f"self, {batch}, {count}", [*head, *unpack, *body]))
    d.methods.append(function("on_train_end", "self", after or ["pass"]))
    lines = block(mark("for i, batch in enumerate(batches):", STEP), [f"module.{name}(batch, i)"])
    called = d.placed(fit, function(fit, "module, batches", [*lines, "module.on_train_end()"]))
    return f"{called}(OBJECT, {source.iterable.replace('self.', 'OBJECT.')})"
