"""Values that are not what their name or their use suggests, and tensors of which more is asked than their elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.training.draft import Draft, Lines, block, function
from tests.training.steps import Step


@dataclass
class Odd:
    """before: statements in the body ahead of what is kept; value: what is kept; after: statements after the loop.

    following: statements in the body after it was kept; `KEPT` stands for the last that was kept.
    """

    value: str
    before: Lines = field(default_factory=list)
    following: Lines = field(default_factory=list)
    after: Lines = field(default_factory=list)


Maker = Callable[[Draft, Step, str], Odd]


def array(d: Draft, step: Step, value: str) -> Odd:
    """A criterion of this or another file that gives a NumPy array or number."""
    name, result = d.new("criterion"), d.new("loss")
    a, b = d.new("output"), d.new("target")
    text = function(
        name,
        f"{a}, {b}",
        [
            d.pick(
                f"return np.abs({a}.detach().numpy() - {b}.numpy()).mean()",
                f"return ({a}.detach().numpy() - {b}.numpy()) ** 2",
                f"return np.asarray({a}.detach()).mean(axis=1)",
            )
        ],
    )
    called = d.placed(name, text, ["import numpy as np"])
    out = step.others[0] if step.others else f"{step.source.y} * 1.0"
    return Odd(d.pick(result, f"{result}.mean()"), [f"{result} = {called}({out}, {step.source.y})"])


def number(d: Draft, step: Step, value: str) -> Odd:
    """A helper that gives a float, whatever its name says."""
    name, result, a = d.new("criterion"), d.new("loss"), d.new("temp")
    body = d.pick(
        f"return {a}.item()",
        f"return float({a}.detach())",
        f"return {a}.detach().numpy().item()",
        f"return round({a}.item(), 4)",
    )
    called = d.placed(name, function(name, a, [body]))
    return Odd(result, [f"{result} = {called}({value})"])


def branch(d: Draft, step: Step, value: str) -> Odd:
    """A tensor in one branch, something else in the other."""
    result, step.index = d.new("loss"), step.index or d.new("index")
    other = d.pick("0.0", "float(V.detach())", "V.detach().numpy()", "V.item()").replace("V", f"({value})")
    return d.pick(
        Odd(result, block(f"if {step.index} % 2:", [f"{result} = {value}"]) + block("else:", [f"{result} = {other}"])),
        Odd(result, [f"{result} = ({value}) if {step.index} % 3 else {other}"]),
        Odd(result, [f"{result} = {value}", *block(f"if {step.index} > 4:", [f"{result} = {other}"])]),
    )


def none(d: Draft, step: Step, value: str) -> Odd:
    """A tensor, or None."""
    result, step.index = d.new("loss"), step.index or d.new("index")
    way = d.pick(
        [f"{result} = ({value}) if {step.index} % 2 else None"],
        [f"{result} = None", *block(f"if {step.index} % 3 == 0:", [f"{result} = {value}"])],
    )
    return Odd(result, way)


def thing(d: Draft, step: Step, value: str) -> Odd:
    """An object of the program that can be added, differentiated and printed, and has no `detach`."""
    name, result = d.new("class"), d.new("loss")
    lines = [
        "def __init__(self, t): self.t = t",
        "def __add__(self, other): return type(self)(self.t + getattr(other, 't', other))",
        "__radd__ = __add__",
        "def __mul__(self, k): return type(self)(self.t * k)",
        "def __float__(self): return float(self.t.detach())",
        "def backward(self): self.t.backward()",
        "def mean(self): return self",
        "def sum(self): return self.t.detach().sum()",
        "def item(self): return float(self)",
        "def max(self): return self.t.detach()",
        "shape = ()",
        "requires_grad = True",
    ]
    called = d.placed(name, "\n".join(block(f"class {name}:", lines)))
    return Odd(d.pick(result, f"{result} * 2"), [f"{result} = {called}({value})"])


def bound_anew(d: Draft, step: Step, value: str) -> Odd:
    """The name of a tensor is bound to something else: by except, match, for, with, an import, a walrus."""
    result = d.new("loss")
    first = f"{result} = {value}"
    way = d.pick("except", "match", "for", "walrus", "star", "with", "comprehension")
    if way == "except":
        raised = d.pick("OSError('x')", "ValueError(1)")
        return (
            Odd(result, [first], [], [])
            if d.chance(0.0)
            else Odd(
                "KEEP-INSIDE",
                [
                    first,
                    "try:",
                    f"    raise {raised}",
                    f"except (OSError, ValueError) as {result}:",
                    f"    KEEP({result})",
                ],
            )
        )
    if way == "match":
        return Odd(result, [first, *block("match ('text', 1):", block(f"case ({result}, _):", ["pass"]))])
    if way == "for":
        return Odd(result, [first, *block(f"for {result} in (1.5, 2.5):", ["pass"])])
    if way == "walrus":
        return Odd(result, [first, *block(f"if ({result} := len('abc')) > 9:", ["pass"])])
    if way == "star":
        return Odd(result, [first, f"{result}, *_ = (3, 4)"])
    if way == "with":
        d.need("import contextlib")
        return Odd(result, [first, *block(f"with contextlib.nullcontext(7) as {result}:", ["pass"])])
    return Odd(f"[{result} for {result} in (1, 2)][0]", [first])


def attribute(d: Draft, step: Step, value: str) -> Odd:
    """An attribute that the program put on the tensor."""
    result, name = d.new("loss"), d.new("temp")
    return Odd(result, [f"{result} = {value}", f"{result}.{name} = 3"], [], [f"print(LAST.{name})"])


def gradient(d: Draft, step: Step, value: str) -> Odd:
    """The gradient of what is kept is read later: it belongs to the tensor that was differentiated, no other."""
    result, total = d.new("output"), d.new("loss")
    lines = [
        f"{result} = ({value}) * 1.0",
        f"{result}.retain_grad()",
        f"{total} = {result} * {result}",
        f"{total}.backward(retain_graph=True)",
    ]
    return Odd(result, lines, [], ["print(LAST.grad)"])


def identity(d: Draft, step: Step, value: str) -> Odd:
    """Whether what is kept is the very tensor."""
    result = d.new("loss")
    look = d.pick(f"print(KEPT is {result})", f"assert KEPT is {result}", f"print(id(KEPT) == id({result}))")
    return Odd(result, [f"{result} = {value}"], [look])


def written(d: Draft, step: Step, value: str) -> Odd:
    """What is kept is changed in place, or what it shares memory with."""
    result = d.new("loss")
    change = d.pick(
        f"{result}.data.mul_(2)", "KEPT.data.add_(1)", f"{result}.detach().zero_()", "KEPT.detach().mul_(3)"
    )
    return Odd(result, [f"{result} = {value}"], [change, f"print({result}.sum().item())"])


def subclass(d: Draft, step: Step, value: str) -> Odd:
    """A subclass of torch.Tensor with attributes of its own."""
    name, result = d.new("class"), d.new("loss")
    called = d.placed(
        name,
        "\n".join(
            block(f"class {name}(torch.Tensor):", ["unit = 'dB'", "def shown(self): return f'{self.item():.3f}'"])
        ),
        ["import torch"],
    )
    return Odd(
        result,
        [f"{result} = ({value}).as_subclass({called})"],
        [],
        ["print(LAST.shown(), LAST.unit, type(LAST).__name__)"],
    )


def caught(d: Draft, step: Step, value: str) -> Odd:
    """Something that a tensor with history refuses, caught."""
    result = d.new("loss")
    look = d.pick("LAST.numpy()", "copy.deepcopy(LAST)", "LAST.requires_grad_(False)", "LAST.register_hook(print)")
    if "copy" in look:
        d.need("import copy")
    caught = d.pick("RuntimeError", "Exception")
    return Odd(
        result,
        [f"{result} = {value}"],
        [],
        [*block("try:", [look, "print('free')"]), *block(f"except {caught}:", ["print('has history')"])],
    )


MAKERS: dict[str, Maker] = {
    "array": array,
    "number": number,
    "branch": branch,
    "none": none,
    "object": thing,
    "bound anew": bound_anew,
    "attribute": attribute,
    "gradient": gradient,
    "identity": identity,
    "written": written,
    "subclass": subclass,
    "caught": caught,
}
LAST = frozenset({"attribute", "gradient", "identity", "written", "subclass", "caught"})
"""Those that read what was kept: they need a holder of which one entry can be read."""
