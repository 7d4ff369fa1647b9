"""What a step does with its batch: the graph side. Forward and loss, and backward unless nobody differentiates."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.training.draft import Lines, block, function
from tests.training.parts import Batches, batches, loss, model, optimizer
from tests.truth.draft import STEPS, Choices, renamed


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


def shuffled(d: Choices, net: str, opt: str, value: str) -> Lines:
    """Backward and the optimizer's step, in one of their usual orders."""
    clip = [f"torch.nn.utils.clip_grad_norm_({net}.parameters(), 1.0)"] if d.chance(0.2) else []
    if d.chance(0.3):
        return [f"{value}.backward()", *clip, f"{opt}.step()", f"{opt}.zero_grad()"]
    return [f"{opt}.zero_grad()", f"{value}.backward()", *clip, f"{opt}.step()"]


def graph(d: Choices, kind: str, live: bool) -> Step:
    """A network's loss, output or a metric of it. live: nothing of it is differentiated in the step."""
    drawn, net = source(d), model(d)
    opt = optimizer(d, net)
    mode_of(d, net, not live)
    out, value = d.new("output"), d.new("loss")
    forward = [*drawn.opening, f"{out} = {net}({drawn.x})"]
    way = d.pick("inline", "inline", "helper", "pair", "dict")
    if way == "inline":
        forward.append(f"{value} = {loss(d, out, drawn.y)}")
    else:
        name, a, b, r = d.new("helper"), d.new("output"), d.new("target"), d.new("loss")
        made = d.pick(f"(({a} - {b}) ** 2).mean()", f"torch.nn.functional.mse_loss({a}, {b})")
        lines = {
            "helper": [f"return {made}"],
            "pair": [f"{r} = {made}", f"return {r}, {a}"],
            "dict": [f"{r} = {made}", f"return {{'loss': {r}, 'l1': ({a} - {b}).abs().mean()}}"],
        }[way]
        called = d.placed(name, function(name, f"{a}, {b}", lines), ["import torch"])
        call = f"{called}({out}, {drawn.y})"
        if way == "pair":
            forward.append(f"{value}, {out} = {call}")
        elif way == "dict":
            losses = d.new("losses")
            read = d.pick(f"{losses}['loss']", f"sum({losses}.values())")
            forward += [f"{losses} = {call}", f"{value} = {read}"]
        else:
            forward.append(f"{value} = {call}")
    learn = [] if live else shuffled(d, net, opt, value)
    if kind == "metric":
        return _metric(d, Step(drawn, forward, learn, value, "scalar", opt, net, live), out)
    if kind == "output":
        kept = d.pick(out, out, f"{out}.sigmoid()", f"torch.softmax({out}, dim=1)", f"{out}[:2]")
        return Step(drawn, forward, learn, kept, "tensor", opt, net, live)
    return Step(drawn, forward, learn, value, "scalar", opt, net, live)


def _metric(d: Choices, step: Step, out: str) -> Step:
    """A number that tells how good it is: of the graph as a rule, of labels sometimes."""
    y, name = step.source.y, d.new("metric")
    made = d.pick(
        f"({out} - {y}).abs().mean()",
        f"({out} - {y}).abs().mean()",
        f"torch.cosine_similarity({out}, {y}).mean()",
        f"-10 * torch.log10((({out} - {y}) ** 2).mean())",
        f"{out}.norm()",
    )
    if d.cell["ending"] != "differentiated" and d.chance(0.2):
        made = d.pick(
            f"({out}.argmax(1) == {y}.argmax(1)).float().mean()", f"(({out} > 0) == ({y} > 0)).float().mean()"
        )
    if d.chance(0.4):
        helper, a, b = d.new("helper"), d.new("output"), d.new("target")
        body = [f"return {renamed(renamed(made, out, a), y, b)}"]
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
    """Large temporary arrays or images, read from files as a rule, for each step."""
    d.need("import torch", "import numpy as np")
    big, path = d.new("image"), d.new("path")
    of = d.pick("array", "array", "image")
    if d.chance(0.75):
        d.need("import glob")
        paths = d.bind("paths", "sorted(glob.glob('images/*.npy'))")
        drawn = Batches(paths, path, path, path)
        expression = d.pick(f"np.load({path})", f"np.load({path})", f"np.load({path}).reshape(64, 64)")
        if of == "image":
            expression = d.pick(f"torch.from_numpy(np.load({path}))", f"torch.load({path}.replace('npy', 'pt'))")
    else:
        drawn = Batches(d.pick(f"range({STEPS})", f"np.arange({STEPS})"), path, path, path)
        arrays = (f"np.zeros((64, 64)) + {path}", "np.random.rand(64, 64)", f"np.full((64, 64), {path} / 2)")
        images = ("torch.zeros(64, 64)", "torch.rand(64, 64)", f"torch.full((64, 64), {path} / 2)")
        expression = d.pick(*(arrays if of == "array" else images))
    if d.chance(0.4):
        name = d.new("helper")
        called = d.placed(name, function(name, path, [f"return {expression}"]), ["import torch", "import numpy as np"])
        expression = f"{called}({path})"
    return Step(drawn, [f"{big} = {expression}"], [], big, of, live=True)


def source(d: Choices) -> Batches:
    """What a training loop draws from: a loader as a rule; lists, generators and made-up batches now and then."""
    if d.chance(0.35):
        return batches(d)
    d.need("import torch", "from torch import nn", "from torch.utils.data import DataLoader, TensorDataset")
    x, y, n = d.new("input"), d.new("target"), 4 * STEPS
    workers = d.pick("", "", ", num_workers=2", ", shuffle=True", ", num_workers=2, shuffle=True, drop_last=True")
    made = f"DataLoader(TensorDataset(torch.randn({n}, 3), torch.randn({n}, 2)), batch_size=4{workers})"
    at = d.bind("loader", made)
    if d.chance(0.3):
        whole = d.new("sample")
        opening = d.pick([f"{x}, {y} = {whole}"], [f"{x} = {whole}[0].to('cpu')", f"{y} = {whole}[1].to('cpu')"])
        return Batches(at, whole, x, y, opening)
    moved = [f"{x}, {y} = {x}.to('cpu'), {y}.to('cpu')"] if d.chance(0.3) else []
    return Batches(at, f"{x}, {y}", x, y, moved)


def mode_of(d: Choices, net: str, learns: bool) -> None:
    """`train()` or `eval()` before the loop, as is usual."""
    if learns and d.chance(0.3):
        d.opening.append(f"{net}.train()")
    elif not learns and d.chance(0.7):
        d.opening.append(f"{net}.eval()")
