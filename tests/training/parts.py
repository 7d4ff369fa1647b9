"""Pieces of every training program: data, models, optimizers, losses, loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.training.draft import Draft, Lines, block, function

IMPORTS = ("import torch", "from torch import nn")
FUNCTIONAL = "import torch.nn.functional as F"


@dataclass
class Batches:
    """What a loop draws from. each: the targets of a batch; x, y: what to write for inputs and targets in the body.

    opening: statements at the beginning of the body.
    """

    iterable: str
    each: str
    x: str
    y: str
    opening: Lines = field(default_factory=list)


def batches(d: Draft, shared: bool | None = None) -> Batches:
    """A list of pairs, a DataLoader, a generator function or a range with tensors made in the body."""
    d.need(*IMPORTS)
    x, y = d.new("input"), d.new("target")
    n = d.steps
    way = d.pick("list", "list", "loader", "loader", "dicts", "generator", "range", "tensor")
    d.cell["loop source"] = way
    if way == "list":
        at = d.bind("loader", f"[(torch.randn(4, 3), torch.randn(4, 2)) for _ in range({n})]", shared)
        return Batches(at, f"{x}, {y}", x, y)
    if way == "loader":
        d.need("from torch.utils.data import DataLoader, TensorDataset")
        workers = d.pick("", "", ", num_workers=2", ", shuffle=True")
        made = f"DataLoader(TensorDataset(torch.randn({4 * n}, 3), torch.randn({4 * n}, 2)), batch_size=4{workers})"
        at = d.bind("loader", made, shared)
        if d.chance(0.3):
            batch = d.new("sample")
            return Batches(at, batch, x, y, [f"{x}, {y} = {batch}"])
        return Batches(at, f"{x}, {y}", x, y)
    if way == "dicts":
        made = f"[{{'x': torch.randn(4, 3), 'y': torch.randn(4, 2)}} for _ in range({n})]"
        batch = d.new("sample")
        return Batches(d.bind("loader", made, shared), batch, f"{batch}['x']", f"{batch}['y']")
    if way == "generator":
        name = d.new("loader")
        text = function(name, "count", block("for _ in range(count):", ["yield torch.randn(4, 3), torch.randn(4, 2)"]))
        name = d.placed(name, text, IMPORTS)
        return Batches(f"{name}({n})", f"{x}, {y}", x, y)
    if way == "tensor":
        at = d.bind("loader", f"torch.randn({n}, 4, 3)", shared)
        return Batches(at, x, x, y, [f"{y} = torch.randn(4, 2)"])
    return Batches(f"range({n})", "_", x, y, [f"{x}, {y} = torch.randn(4, 3), torch.randn(4, 2)"])


def model(d: Draft, inputs: int = 3, outputs: int = 2, shared: bool | None = None, meaning: str = "model") -> str:
    """A network from `inputs` to `outputs`; it always saves tensors for backward."""
    d.need(*IMPORTS)
    way = d.pick("linear", "sequential", "class", "class")
    if way == "linear":
        return d.bind(meaning, f"nn.Linear({inputs}, {outputs})", shared)
    if way == "sequential":
        act = d.pick("nn.Tanh()", "nn.ReLU()", "nn.Sigmoid()")
        return d.bind(meaning, f"nn.Sequential(nn.Linear({inputs}, 5), {act}, nn.Linear(5, {outputs}))", shared)
    name = d.new("class")
    act = d.pick("torch.relu", "torch.tanh", "torch.sigmoid")
    text = "\n".join(
        block(
            f"class {name}(nn.Module):",
            [
                *block(
                    "def __init__(self):",
                    ["super().__init__()", f"self.a, self.b = nn.Linear({inputs}, 4), nn.Linear(4, {outputs})"],
                ),
                *block("def forward(self, x):", [f"return self.b({act}(self.a(x)))"]),
            ],
        )
    )
    return d.bind(meaning, f"{d.placed(name, text, IMPORTS)}()", shared)


def optimizer(d: Draft, *models: str, shared: bool | None = None) -> str:
    """An optimizer of all parameters of the models."""
    parameters = " + ".join(f"list({each}.parameters())" for each in models)
    if len(models) == 1:
        parameters = f"{models[0]}.parameters()"
    kind = d.pick("SGD({}, lr=0.05)", "SGD({}, 0.02, momentum=0.9)", "Adam({}, lr=0.01)")
    return d.bind("optimizer", f"torch.optim.{kind.format(parameters)}", shared)


def loss(d: Draft, out: str, y: str, shared: bool | None = None) -> str:
    """An expression: a scalar loss of outputs and targets, both (4, 2)."""
    way = d.pick("functional", "functional", "module", "arithmetic", "method", "helper", "sum", "class")
    if way == "functional":
        d.need(FUNCTIONAL)
        return d.pick(f"F.mse_loss({out}, {y})", f"F.l1_loss({out}, {y})", f"F.smooth_l1_loss({out}, {y})")
    if way == "module":
        criterion = d.bind("criterion", d.pick("nn.MSELoss()", "nn.L1Loss()", "nn.SmoothL1Loss()"), shared)
        return f"{criterion}({out}, {y})"
    if way == "arithmetic":
        return d.pick(f"(({out} - {y}) ** 2).mean()", f"torch.mean(({out} - {y}).pow(2))", f"({out} - {y}).abs().sum()")
    if way == "method":
        return d.pick(f"({out} * {y}).sum().pow(2)", f"{out}.sub({y}).square().mean()", f"({out} - {y}).norm()")
    if way == "class":
        d.need(FUNCTIONAL)
        return f"F.cross_entropy({out}, {y}.argmax(1))"
    name = d.new("criterion")
    body = d.pick("return ((a - b) ** 2).mean()", "return (a - b).abs().mean() + 0.1 * (a * a).mean()")
    called = d.placed(name, function(name, "a, b", [body]), ["import torch"])
    return f"{called}({out}, {y})"


def loop(d: Draft, source: Batches, body: Lines, index: str = "") -> Lines:
    """The body for every batch: for, while with next, enumerate, nested epochs. index: a name that counts steps."""
    body = [*source.opening, *body]
    way = d.pick("for", "for", "for", "enumerate", "while", "epochs", "zip", "try")
    if index and way not in ("enumerate", "zip"):
        way = d.pick("enumerate", "zip", "count")
    if d.construct == "loops" and not index:
        way = d.pick("enumerate", "while", "epochs", "zip", "try", "epochs", "for")
    d.cell["loop"] = way
    d.tag("loops")
    count = index or d.new("index")
    if way == "enumerate":
        target = f"({source.each})" if "," in source.each else source.each
        start = d.pick("", "", ", 1", ", start=1")
        return block(f"for {count}, {target} in enumerate({source.iterable}{start}):", body)
    if way == "zip":
        target = f"({source.each})" if "," in source.each else source.each
        return block(f"for {count}, {target} in zip(range(99), {source.iterable}):", body)
    if way == "count":
        return [f"{count} = 0", *block(f"for {source.each} in {source.iterable}:", [*body, f"{count} += 1"])]
    if way in ("while", "try"):
        it = d.new("temp")
        if way == "while":
            return [
                f"{it} = iter({source.iterable})",
                *block(f"while ({count} := next({it}, None)) is not None:", [f"{source.each} = {count}", *body]),
            ]
        drawn = [*block("try:", [f"{source.each} = next({it})"]), *block("except StopIteration:", ["break"])]
        return [f"{it} = iter({source.iterable})", *block("while True:", [*drawn, *body])]
    if way == "epochs":
        inner = block(f"for {source.each} in {source.iterable}:", body)
        return block(f"for {d.new('epoch')} in range(2):", inner)
    return block(f"for {source.each} in {source.iterable}:", body)
