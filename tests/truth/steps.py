"""What a step does with its batch: the graph side. Forward and loss, and backward unless nobody differentiates."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.training.draft import Lines, block, function
from tests.training.parts import Batches, batches, loss, model, optimizer
from tests.truth.draft import STEPS, Choices


@dataclass
class Step:
    """forward: statements that make the values; learn: those after it. value: what is kept, of sort `of`.

    names: what the forward reads of the loop. opt: the optimizer; net: the network. live: nobody differentiates it.
    """

    source: Batches
    forward: Lines
    learn: Lines
    value: str
    of: str
    opt: str = ""
    net: str = ""
    live: bool = False
    tail: Lines = field(default_factory=list)


def learning(opt: str, value: str) -> Lines:
    return [f"{opt}.zero_grad()", f"{value}.backward()", f"{opt}.step()"]


def graph(d: Choices, kind: str, live: bool) -> Step:
    """A network's loss, output or a metric of it. live: nothing of it is differentiated in the step."""
    source, net = batches(d), model(d)
    opt = optimizer(d, net)
    out, value = d.new("output"), d.new("loss")
    forward = [*source.opening, f"{out} = {net}({source.x})"]
    way = d.pick("inline", "inline", "helper", "pair", "dict")
    if way == "inline":
        forward.append(f"{value} = {loss(d, out, source.y)}")
    else:
        name, a, b, r = d.new("helper"), d.new("output"), d.new("target"), d.new("loss")
        made = d.pick(f"(({a} - {b}) ** 2).mean()", f"torch.nn.functional.mse_loss({a}, {b})")
        lines = {
            "helper": [f"return {made}"],
            "pair": [f"{r} = {made}", f"return {r}, {a}"],
            "dict": [f"{r} = {made}", f"return {{'loss': {r}, 'l1': ({a} - {b}).abs().mean()}}"],
        }[way]
        called = d.placed(name, function(name, f"{a}, {b}", lines), ["import torch"])
        call = f"{called}({out}, {source.y})"
        if way == "pair":
            forward.append(f"{value}, {out} = {call}")
        elif way == "dict":
            losses = d.new("losses")
            read = d.pick(f"{losses}['loss']", f"sum({losses}.values())")
            forward += [f"{losses} = {call}", f"{value} = {read}"]
        else:
            forward.append(f"{value} = {call}")
    learn = [] if live else learning(opt, value)
    if kind == "metric":
        return _metric(d, Step(source, forward, learn, value, "scalar", opt, net, live), out)
    if kind == "output":
        kept = d.pick(out, out, f"{out}.sigmoid()", f"torch.softmax({out}, dim=1)", f"{out}[:2]")
        return Step(source, forward, learn, kept, "tensor", opt, net, live)
    return Step(source, forward, learn, value, "scalar", opt, net, live)


def _metric(d: Choices, step: Step, out: str) -> Step:
    """A number that tells how good it is: of the graph as a rule, of labels sometimes."""
    y, name = step.source.y, d.new("metric")
    made = d.pick(
        f"({out} - {y}).abs().mean()",
        f"({out} - {y}).abs().mean()",
        f"torch.cosine_similarity({out}, {y}).mean()",
        f"-10 * torch.log10((({out} - {y}) ** 2).mean())",
        f"({out}.argmax(1) == {y}.argmax(1)).float().mean()",
        f"(({out} > 0) == ({y} > 0)).float().mean()",
        f"{out}.norm()",
    )
    if d.chance(0.4):
        helper, a, b = d.new("helper"), d.new("output"), d.new("target")
        body = [f"return {made.replace(out, a).replace(y, b)}"] if y.isidentifier() and out.isidentifier() else []
        if body and a not in (out, y) and b not in (out, y):
            called = d.placed(helper, function(helper, f"{a}, {b}", body), ["import torch"])
            made = f"{called}({out}, {y})"
    step.forward.append(f"{name} = {made}")
    step.value = name
    return step


def batch(d: Choices, kind: str) -> Step:
    """A loader with workers (mostly), and inputs or labels of its batches."""
    d.need("import torch", "import numpy as np", "from torch.utils.data import DataLoader, TensorDataset")
    workers = d.pick("num_workers=2", "num_workers=2", "num_workers=4, pin_memory=False", "num_workers=1, shuffle=True")
    n = 4 * STEPS
    x, y = d.new("input"), d.new("target")
    made = f"DataLoader(TensorDataset(torch.randn({n}, 3), torch.randn({n}, 2)), batch_size=4, {workers})"
    at = d.bind("loader", made)
    net = model(d)
    source = Batches(at, f"{x}, {y}", x, y)
    if d.chance(0.3):
        whole = d.new("sample")
        source = Batches(at, whole, x, y, [f"{x}, {y} = {whole}"])
    out = d.new("output")
    forward = [*source.opening]
    if d.chance(0.7):
        forward += block("with torch.no_grad():", [f"{out} = {net}({x})"])
    value = d.pick(y, y, x) if kind == "batch" else y
    return Step(source, forward, [], value, "batch", net=net, live=True)


def view(d: Choices, kind: str) -> Step:
    """Large temporary arrays or images, made for each step."""
    d.need("import torch", "import numpy as np")
    big, i = d.new("image"), d.new("index")
    source = Batches(f"range({STEPS})", i, i, i)
    of = d.pick("array", "array", "image")
    made = {
        "array": (f"np.zeros((64, 64)) + {i}", "np.random.rand(64, 64)", f"np.full((64, 64), {i} / 2)", "np.ones((80, 64))"),
        "image": ("torch.zeros(64, 64)", "torch.rand(64, 64)", f"torch.full((64, 64), {i} / 2)", "torch.ones(80, 64)"),
    }[of]
    expression = d.rng.choice(made)
    if d.chance(0.4):
        name = d.new("helper")
        called = d.placed(name, function(name, i, [f"return {expression}"]), ["import torch", "import numpy as np"])
        expression = f"{called}({i})"
    return Step(source, [f"{big} = {expression}"], [], big, of, live=True)
