"""What is done with a batch, construct by construct, and what could be kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.training.draft import Draft, Lines, block, function
from tests.training.parts import IMPORTS, Batches, batches, loss, model, optimizer


@dataclass
class Step:
    """body: the statements for one batch; values: expressions that may be kept at its end, scalar tensors.

    others: tensors of more elements, and what is no tensor. live: whether `values` are differentiated by nobody yet.
    tail: statements after what is kept. opt: the optimizer whose parameters `values` depend on. source: what the loop
    draws from. index: the name that counts steps, if the body reads one.
    """

    source: Batches
    body: Lines
    values: list[str]
    opt: str
    live: bool
    others: list[str] = field(default_factory=list)
    tail: Lines = field(default_factory=list)
    index: str = ""


Maker = Callable[[Draft, bool], Step]
"""From a draft, and whether values are to be live."""


def _learn(opt: str, value: str) -> Lines:
    return [f"{opt}.zero_grad()", f"{value}.backward()", f"{opt}.step()"]


def _shuffled_learn(d: Draft, opt: str, value: str) -> Lines:
    return d.pick(
        _learn(opt, value),
        [f"{value}.backward()", f"{opt}.step()", f"{opt}.zero_grad()"],
        [f"{opt}.zero_grad(set_to_none=True)", f"{value}.backward()", f"{opt}.step()"],
    )


def plain(d: Draft, live: bool) -> Step:
    """Forward, loss, and backward unless it is to stay live; then perhaps another network learns in the loop."""
    shared = True if d.stage == "script" else None
    source, net = batches(d, shared), model(d, shared=shared)
    opt = optimizer(d, net, shared=shared)
    out, value = d.new("output"), d.new("loss")
    body = [f"{out} = {net}({source.x})", f"{value} = {loss(d, out, source.y, shared)}"]
    values = [value, value, value, f"{value} * {d.pick('2', '0.5', 'len(' + source.x + ')')}", f"{out}.mean()"]
    if d.chance(0.3):
        extra = d.new("loss")
        body.append(
            f"{extra} = {d.pick(f'{value} + 0.01 * {out}.pow(2).sum()', f'{out}.abs().mean()', f'{value} / 4')}"
        )
        if not live:
            body += _shuffled_learn(d, opt, d.pick(f"({value} + {extra})", f"({value} * {extra})"))
            return Step(source, body, [value, extra], opt, False, [out])
        values = [value, extra, f"{value} + {extra}"]
    if not live:
        body += _shuffled_learn(d, opt, value)
    elif d.chance(0.5):
        other = model(d, meaning="model")
        other_opt, aux = optimizer(d, other), d.new("loss")
        body += [f"{aux} = {other}({source.x}).pow(2).mean()", *_learn(other_opt, aux)]
    elif d.chance(0.3):
        body += [f"{value}.backward(retain_graph=True)"]
    return Step(source, body, values, opt, live, [out, f"{out}.relu()", f"{out}[0]"])


def functions(d: Draft, live: bool) -> Step:
    """The loss is computed by a function or method of the program, here or in another file."""
    d.tag("helpers")
    source, net = batches(d), model(d)
    opt = optimizer(d, net)
    value = d.new("loss")
    name, m, a, b, o = d.new("helper"), d.new("model"), d.new("input"), d.new("target"), d.new("output")
    way = d.pick("loss", "pair", "dict", "whole", "optional")
    inner = [f"{o} = {m}({a})", f"{d.pick('r', 'res')} = (({o} - {b}) ** 2).mean()"]
    r = inner[1].partition(" ")[0]
    other: list[str] = []
    if way == "pair":
        text, call = [*inner, f"return {r}, {o}"], f"{name}({net}, {source.x}, {source.y})"
        out = d.new("output")
        body, other = [f"{value}, {out} = CALL"], [out]
    elif way == "dict":
        text, call = [*inner, f"return {{'loss': {r}, 'out': {o}}}"], f"{name}({net}, {source.x}, {source.y})"
        result = d.new("output")
        body, other = [f"{result} = CALL", f"{value} = {result}['loss']"], [f"{result}['out']", result]
    elif way == "optional":
        text, call = [*inner, f"return {r} if train else float({r})"], f"{name}({net}, {source.x}, {source.y})"
        called = d.placed(name, function(name, f"{m}, {a}, {b}, train=True", text))
        body = [f"{value} = {called}{call.removeprefix(name)}"]
        text = []
    elif way == "whole" and not live:
        text = [*inner, *_learn("opt", r), f"return {r}"]
        called = d.placed(name, function(name, f"{m}, opt, {a}, {b}", text))
        return Step(source, [f"{value} = {called}({net}, {opt}, {source.x}, {source.y})"], [value], opt, False)
    else:
        text, call = [*inner, f"return {r}"], f"{name}({net}, {source.x}, {source.y})"
        body = [f"{value} = CALL"]
    if text:
        called = d.placed(name, function(name, f"{m}, {a}, {b}", text))
        body = [line.replace("CALL", called + call.removeprefix(name)) for line in body]
    if not live:
        body += _shuffled_learn(d, opt, value)
    return Step(source, body, [value, value, f"{value} * 1.5"], opt, live, other)


def accumulation(d: Draft, live: bool) -> Step:
    """Gradients over k batches: of each loss, or of their sum."""
    source, net = batches(d), model(d)
    opt, k = optimizer(d, net), d.pick(2, 3, 4)
    value, i = d.new("loss"), d.new("index")
    body = [f"{value} = {loss(d, f'{net}({source.x})', source.y)} / {k}"]
    if live:
        return Step(source, body, [value, f"{value} * {k}"], opt, True, index=i)
    if d.chance(0.5):
        body += [f"{value}.backward()", *block(f"if ({i} + 1) % {k} == 0:", [f"{opt}.step()", f"{opt}.zero_grad()"])]
        return Step(source, body, [value, f"{value} * {k}"], opt, False, index=i)
    total = d.bind("total", "0")
    tail = block(f"if ({i} + 1) % {k} == 0:", [*_learn(opt, total), f"{total} = 0"])
    return Step(
        source, [*body, f"{total} = {total} + {value}"], [value, f"{value}.sqrt()"], opt, True, tail=tail, index=i
    )


def truncation(d: Draft, live: bool) -> Step:
    """A recurrent cell over time: the loss of k steps is differentiated, then the state is cut."""
    d.need(*IMPORTS)
    source = batches(d)
    cell = d.bind("model", "nn.RNNCell(3, 4)")
    head = d.bind("model", "nn.Linear(4, 2)")
    opt, k = optimizer(d, cell, head), d.pick(2, 3)
    h, value, i = d.bind("output", "torch.zeros(4, 4)"), d.new("loss"), d.new("index")
    body = [f"{h} = {cell}({source.x}, {h})", f"{value} = {loss(d, f'{head}({h})', source.y)}"]
    if live:
        tail = block(f"if {i} % {k} == {k - 1}:", [f"{h} = {h}.detach()"])
        return Step(source, body, [value], opt, True, [h], tail=tail, index=i)
    window = d.bind("total", "0")
    cut = d.pick(f"{h} = {h}.detach()", f"{h}.detach_()", f"{h} = torch.zeros(4, 4)", f"{h} = {h}.data")
    tail = block(f"if {i} % {k} == {k - 1}:", [*_learn(opt, window), f"{window} = 0", cut])
    return Step(
        source, [*body, f"{window} = {window} + {value}"], [value], opt, True, [h, f"{h}[0]"], tail=tail, index=i
    )


def gan(d: Draft, live: bool) -> Step:
    """Two networks and two losses."""
    source = batches(d)
    maker, critic = model(d, 3, 2), model(d, 2, 1)
    first, second = optimizer(d, maker), optimizer(d, critic)
    fake, d_loss, g_loss = d.new("output"), d.new("loss"), d.new("loss")
    detached = d.pick(f"{fake}.detach()", f"{fake}.data")
    body = [f"{fake} = {maker}({source.x})"]
    body += [f"{d_loss} = ({critic}({detached}) ** 2).mean() + ({critic}({source.y}) - 1).pow(2).mean()"]
    body += _learn(second, d_loss)
    body += [f"{g_loss} = ({critic}({fake}) - 1).pow(2).mean()"]
    if live:
        # What the critic's step changes must not be part of the graph that stays.
        g_loss2 = d.new("loss")
        body += [f"{g_loss2} = {fake}.pow(2).mean() + ({fake} - {source.y}).abs().mean()"]
        return Step(source, body, [g_loss2], first, True, [fake])
    body += _learn(first, g_loss)
    return Step(source, body, [d_loss, g_loss, f"{d_loss} + {g_loss}"], first, False, [fake])


def reinforcement(d: Draft, live: bool) -> Step:
    """Policy gradients: log probabilities of actions, rewards, a value head."""
    d.need("import torch.nn.functional as F")
    source, policy = batches(d), model(d, 3, 2)
    opt = optimizer(d, policy)
    dist, action, log_prob, reward, entropy = (
        d.new("output"),
        d.new("temp"),
        d.new("loss"),
        d.new("target"),
        d.new("loss"),
    )
    form = d.pick("categorical", "softmax")
    if form == "categorical":
        body = [f"{dist} = torch.distributions.Categorical(logits={policy}({source.x}))", f"{action} = {dist}.sample()"]
        body += [f"{log_prob} = {dist}.log_prob({action})", f"{entropy} = {dist}.entropy().mean()"]
    else:
        body = [f"{dist} = F.log_softmax({policy}({source.x}), dim=1)", f"{action} = {dist}.exp().multinomial(1)"]
        body += [
            f"{log_prob} = {dist}.gather(1, {action}).squeeze(1)",
            f"{entropy} = -({dist}.exp() * {dist}).sum(1).mean()",
        ]
    body += [f"{reward} = {source.y}[:, 0]"]
    if live:
        return Step(
            source, body, [f"(-{log_prob} * {reward}).mean()", f"-{log_prob}.mean()", entropy], opt, True, [log_prob]
        )
    value = d.new("loss")
    body += [f"{value} = -({log_prob} * {reward}).mean() - 0.01 * {entropy}", *_learn(opt, value)]
    return Step(source, body, [value, entropy, f"{log_prob}.mean()"], opt, False, [log_prob])


def lbfgs(d: Draft, live: bool) -> Step:
    """An optimizer that calls a closure, several times a step."""
    d.tag("closures")
    source, net = batches(d), model(d)
    opt = d.bind("optimizer", f"torch.optim.LBFGS({net}.parameters(), lr=0.1, max_iter=2)")
    name, value = d.new("finish"), d.new("loss")
    expression = loss(d, f"{net}({source.x})", source.y)
    inner = [f"{opt}.zero_grad()", f"v = {expression}", "v.backward()", "return v"]
    body = block(f"def {name}():", inner)
    if live:
        other = model(d)
        slow = optimizer(d, other)
        return Step(
            source,
            [*body, f"{opt}.step({name})", f"{value} = {loss(d, f'{other}({source.x})', source.y)}"],
            [value],
            slow,
            True,
        )
    way = d.pick("result", "result", "before", "after", "called")
    if way == "before":
        # It is computed once more in the closure; this one nobody differentiates.
        return Step(source, [f"{value} = {expression}", *body, f"{opt}.step({name})"], [value], opt, True)
    if way == "after":
        return Step(source, [*body, f"{opt}.step({name})", f"{value} = {expression}"], [value], opt, True)
    if way == "called":
        return Step(source, [*body, f"{opt}.step({name})", f"{value} = {name}()"], [value], opt, False)
    return Step(source, [*body, f"{value} = {opt}.step({name})"], [value], opt, False)


def average(d: Draft, live: bool) -> Step:
    """A moving average of losses, of outputs or of parameters, kept by hand."""
    s = plain(d, live)
    value = s.values[0]
    kind = d.pick("loss", "loss", "parameters", "copy")
    d.holders += 1
    if kind == "loss":
        start = d.pick("0.0", "None", "0")
        ema = d.bind("total", start)
        mean = d.pick(f"0.9 * {ema} + 0.1 * {value}", f"{ema} * 0.9 + {value} * 0.1")
        s.body.append(f"{ema} = {value} if {ema} is None else {mean}" if start == "None" else f"{ema} = {mean}")
        s.values.append(ema)
        if not live:
            s.values = [value, ema]
    elif kind == "parameters":
        d.need("import copy")
        rows, i, p = d.bind("losses", "{}"), d.new("index"), d.new("temp")
        group = f"enumerate([w for g in {s.opt}.param_groups for w in g['params']])"
        mean = d.pick(
            f"{rows}[{i}] = 0.9 * {rows}.get({i}, 0) + 0.1 * {p}",
            f"{rows}[{i}] = {rows}.get({i}, {p}) * 0.9 + 0.1 * {p}",
        )
        s.tail += block(f"for {i}, {p} in {group}:", [mean])
    else:
        rows, p = d.bind("losses", "[]"), d.new("temp")
        s.tail += [f"{rows}[:] = [{p}.clone() for g in {s.opt}.param_groups for {p} in g['params']]"]
    return s


def scheduler(d: Draft, live: bool) -> Step:
    """A scheduler that reads losses: torch's, or one of the program's own."""
    s = plain(d, live)
    value = s.values[0]
    way = d.pick("plateau", "own", "step", "by hand")
    d.holders += way in ("own", "by hand")
    if way == "plateau":
        made = d.bind("total", f"torch.optim.lr_scheduler.ReduceLROnPlateau({s.opt}, patience=1, factor=0.7)")
        s.tail += [f"{made}.step({d.pick(value, f'{value}.item()', f'{value}.detach()')})"]
    elif way == "own":
        name, method, rows = d.new("class"), d.pick("step", "update", "watch"), d.new("losses")
        body = [
            f"self.{rows}.append(v)",
            f"if len(self.{rows}) > 2 and self.{rows}[-1] > self.{rows}[-2]: self.lower()",
        ]
        lines = [f"def __init__(self, opt): self.opt, self.{rows} = opt, []", *block(f"def {method}(self, v):", body)]
        lines += block("def lower(self):", block("for group in self.opt.param_groups:", ["group['lr'] *= 0.8"]))
        called = d.placed(name, "\n".join(block(f"class {name}:", lines)))
        made = d.bind("meter", f"{called}({s.opt})")
        s.tail += [f"{made}.{method}({value})"]
    elif way == "by hand":
        rows = d.bind("losses", "[]")
        s.tail += [f"{rows}.append({value})"]
        s.tail += block(f"if len({rows}) > 1 and {rows}[-1] > {rows}[-2]:", [f"{s.opt}.param_groups[0]['lr'] *= 0.9"])
    else:
        made = d.bind("total", f"torch.optim.lr_scheduler.StepLR({s.opt}, 3)")
        s.tail += [f"{made}.step()"]
    if live and way == "step":
        s.tail = []
    return s


MAKERS: dict[str, Maker] = {
    "plain": plain,
    "helpers": functions,
    "accumulation": accumulation,
    "truncation": truncation,
    "gan": gan,
    "reinforcement": reinforcement,
    "lbfgs": lbfgs,
    "averages": average,
    "schedulers": scheduler,
}
