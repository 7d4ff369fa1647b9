"""What unsafe fixes are about: evaluation, cycled loaders, carried states, retained graphs, buffers, arrays, images."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.training.draft import Draft, Lines, block, function
from tests.training.parts import IMPORTS, batches, loop, loss, model, optimizer
from tests.training.program import Program


def other(rng: random.Random, construct: str, escape: bool) -> Program:
    """A program of one of these constructs."""
    d = Draft(rng, construct)
    d.need(*IMPORTS)
    d.stage = d.pick("function", "function", "script")
    lines = MAKERS[construct](d, escape)
    if escape:
        d.escape = d.escape or construct
    if d.stage == "script":
        d.main.statements += [*d.before, *lines]
    else:
        name = d.new("train")
        d.define(function(name, "", [*d.before, *lines]))
        d.main.statements.append(f"{name}()")
    return d.program()


def _learn(opt: str, value: str, how: str = "") -> Lines:
    return [f"{opt}.zero_grad()", f"{value}.backward({how})", f"{opt}.step()"]


def _evaluation(d: Draft, escape: bool) -> Lines:
    """A function that evaluates, called after training; or one that only looks so, and is differentiated."""
    source, net = batches(d), model(d)
    opt = optimizer(d, net)
    name, m, data, kept = d.new("train"), d.new("model"), d.new("loader"), d.new("losses")
    out, x, y = d.new("output"), d.new("input"), d.new("target")
    pairs = "[(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(5)]"
    value = d.pick(f"(({out} - {y}) ** 2).mean()", f"{out}.softmax(1)[:, 0].mean()", f"({out} * {y}).sum()")
    sums = d.chance(0.5)
    keep = f"{kept} += {value}" if sums else f"{kept}.append({value})"
    body = block(f"for {x}, {y} in {data}:", [f"{out} = {m}({x})", keep])
    start = [f"{m}.eval()", f"{kept} = {'0' if sums else '[]'}"]
    ending = (
        [f"return {kept}"]
        if sums
        else d.pick([f"return {kept}"], [f"return torch.stack({kept}).mean()"], [f"return sum({kept})"])
    )
    called = d.placed(name, function(name, f"{m}, {data}", [*start, *body, *ending]), IMPORTS)
    result, total = d.new("total"), d.new("loss")
    train = loop(d, source, [f"{total} = {loss(d, f'{net}({source.x})', source.y)}", *_learn(opt, total)])
    after = [f"{result} = {called}({net}, {pairs})"]
    listed = ending == [f"return {kept}"] and not sums
    if escape:
        d.escape = "evaluation: differentiated"
        whole = f"sum({result})" if listed else result
        after += [f"{opt}.zero_grad()", f"({whole}).backward()", f"{opt}.step()"]
    else:
        after.append(f"print({f'float(sum({result}))' if listed else f'float({result})'})")
    return [*train, *after]


def _cycles(d: Draft, escape: bool) -> Lines:
    """Two loaders, the shorter one over and over."""
    d.need("import itertools", "from torch.utils.data import DataLoader, TensorDataset")
    net = model(d)
    opt = optimizer(d, net)
    shuffle = ", shuffle=True" if escape or d.chance(0.3) else ""
    long = d.bind("loader", "DataLoader(TensorDataset(torch.randn(36, 3), torch.randn(36, 2)), batch_size=4)")
    short = d.bind("loader", f"DataLoader(TensorDataset(torch.randn(12, 3)), batch_size=4{shuffle})")
    x, y, u, total = d.new("input"), d.new("target"), d.new("input"), d.new("loss")
    cycled = d.pick(
        f"itertools.cycle({short})",
        f"itertools.cycle({short})",
        f"itertools.chain.from_iterable(itertools.repeat({short}))",
    )
    body = [
        f"{total} = (({net}({x}) - {y}) ** 2).mean() + {net}({u}).abs().mean()",
        *_learn(opt, total),
        f"print({u}.sum())",
    ]
    d.escape = "cycle: shuffled" if escape else ""
    return block(f"for ({x}, {y}), ({u},) in zip({long}, {cycled}):", body)


def _states(d: Draft, escape: bool) -> Lines:
    """The state of a recurrent network goes from batch to batch."""
    source = batches(d)
    kind = d.pick("LSTM", "GRU", "RNN")
    cell, head = d.bind("model", f"nn.{kind}(3, 4)"), d.bind("model", "nn.Linear(4, 2)")
    opt = optimizer(d, head) if not escape else d.bind("optimizer", f"torch.optim.SGD({head}.parameters(), 0.05)")
    state, out, total = d.bind("output", "None"), d.new("output"), d.new("loss")
    body = [f"{out}, {state} = {cell}({source.x}, {state})", f"{total} = {loss(d, f'{head}({out})', source.y)}"]
    # Only the head's parameters change: the older graphs may be gone through again.
    body += [f"{opt}.zero_grad()", f"{total}.backward({d.pick('retain_graph=True', 'retain_graph=True', '')})"]
    if escape:
        d.escape = "state: gradients through time"
        body += [f"print({cell}.weight_hh_l0.grad.sum())"]
    return [*loop(d, source, body)]


def _retained(d: Draft, escape: bool) -> Lines:
    """A graph that is retained, and needed once more or not."""
    source, net = batches(d), model(d)
    opt, total, extra = optimizer(d, net), d.new("loss"), d.new("loss")
    how = d.pick("retain_graph=True", "None, True", "gradient=None, retain_graph=True")
    body = [f"{total} = {loss(d, f'{net}({source.x})', source.y)}", f"{opt}.zero_grad()", f"{total}.backward({how})"]
    if escape:
        way = d.pick("grad", "second", "helper")
        d.escape = f"retained: {way}"
        if way == "grad":
            body += [f"{extra} = torch.autograd.grad({total}, list({net}.parameters()))", f"print({extra}[0].sum())"]
        elif way == "second":
            body += [f"{extra} = {total} * {total}", f"{extra}.backward()"]
        else:
            name = d.new("finish")
            called = d.exported(name, function(name, "v", ["(v + v * v).backward()"]))
            body += [f"{called}({total})"]
    body += [f"{opt}.step()", f"print({total}.item())"]
    return loop(d, source, body)


def _buffers(d: Draft, escape: bool) -> Lines:
    """A module that carries a running mean through its forward, with its history."""
    name, state = d.new("class"), d.new("total")
    keep = d.pick(
        f"self.{state} = 0.9 * self.{state} + 0.1 * h.mean(0)", f"self.{state} = self.{state} * 0.5 + h.mean(0) * 0.5"
    )
    start = d.pick(f"self.{state} = torch.zeros(4)", f"self.register_buffer('{state}', torch.zeros(4))")
    init = ["super().__init__()", "self.inner, self.outer = nn.Linear(3, 4), nn.Linear(4, 2)", start]
    forward = ["h = torch.tanh(self.inner(x))", keep, f"return self.outer(h - self.{state})"]
    text = "\n".join(
        block(
            f"class {name}(nn.Module):", [*block("def __init__(self):", init), *block("def forward(self, x):", forward)]
        )
    )
    net = d.bind("model", f"{d.placed(name, text, IMPORTS)}()")
    source = batches(d)
    # Only what does not save for the older graphs changes, or a second time through them would raise.
    opt = d.bind("optimizer", f"torch.optim.SGD([{net}.outer.bias], 0.05)")
    total = d.new("loss")
    body = [f"{total} = {loss(d, f'{net}({source.x})', source.y)}", *_learn(opt, total, "retain_graph=True")]
    if escape:
        d.escape = "buffer: gradients through time"
        body += [f"print({net}.inner.weight.grad.sum())"]
    return loop(d, source, body)


def _arrays(d: Draft, escape: bool) -> Lines:
    """A tensor of a list of arrays; where there is an escape, the list may be empty or uneven."""
    d.need("import numpy as np")
    rows, i, t = d.new("rows"), d.new("index"), d.new("output")
    made = f"[np.random.rand(3) for _ in range({i})]" if escape else f"[np.random.rand(3) for _ in range(2 + {i})]"
    d.escape = "arrays: none" if escape else ""
    more = d.pick("", ", dtype=torch.float32")
    body = [f"{rows} = {made}", f"{t} = torch.tensor({rows}{more})", f"print({t}.sum(), {t}.shape)"]
    return block(f"for {i} in range(4):", body)


def _images(d: Draft, escape: bool) -> Lines:
    """OpenCV in a Dataset whose loader has workers."""
    d.need("import cv2", "import numpy as np", "from torch.utils.data import DataLoader, Dataset")
    name, rows, i = d.new("dataset"), d.new("rows"), d.new("index")
    made = d.pick(
        f"cv2.resize(self.{rows}[{i}], (8, 8))", f"cv2.pyrDown(self.{rows}[{i}])", f"cv2.flip(self.{rows}[{i}], 1)"
    )
    lines = block("def __init__(self):", [f"self.{rows} = np.random.rand(6, 16, 16).astype(np.float32)"])
    lines += [*block("def __len__(self):", ["return 6"]), *block(f"def __getitem__(self, {i}):", [f"return {made}"])]
    d.define("\n".join(block(f"class {name}(Dataset):", lines)))
    loader, batch = d.bind("loader", f"DataLoader({name}(), batch_size=2, num_workers=2)"), d.new("sample")
    d.escape = "images: threads" if escape else ""
    return [
        *block(f"for {batch} in {loader}:", [f"print({batch}.sum())"]),
        *(["print(cv2.getNumThreads())"] if escape else []),
    ]


MAKERS: dict[str, Callable[[Draft, bool], Lines]] = {
    "evaluation": _evaluation,
    "cycles": _cycles,
    "states": _states,
    "retained": _retained,
    "buffers": _buffers,
    "arrays": _arrays,
    "images": _images,
}
CONSTRUCTS = tuple(MAKERS)
