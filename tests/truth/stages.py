"""The loop in its place: a function, a class or the module itself; and what calls it."""

from __future__ import annotations

from tests.training.draft import Lines, block, function
from tests.truth.draft import Choices
from tests.truth.forms import Placed
from tests.truth.loops import hooks, loop
from tests.truth.steps import Step


def possible(d: Choices, ending: str, at: Placed) -> str:
    """The ending, or what is left of it where nobody can read the holder."""
    reads = ending in ("differentiated", "returned")
    begins = ending in ("anew in step", "anew in epoch")
    if (reads and not at.items) or (begins and not (at.make or at.empty)) or (ending == "emptied" and not at.empty):
        ending = "dropped"
    if ending == "returned" and (d.stage == "script" or d.cell["loop"] == "hooks"):
        ending = "shown"
    d.cell["ending"] = ending
    return ending


def moded(mode: str, lines: Lines) -> Lines:
    if mode == "keep":
        return block("with torch.no_grad():", lines)
    return block(mode, lines) if mode else lines


def finished(d: Choices, step: Step, body: Lines, index: str, epoch: Lines, after: Lines) -> None:
    """The loop around the body, in its place."""
    if d.cell["loop"] == "hooks":
        d.inits += d.opening if all("self." in each for each in d.opening) else []
        call = hooks(d, step.source, body, index, after)
        _class(d, "", [], call)
        return
    lines = loop(d, step.source, body, index, epoch)
    stage(d, [*d.opening, *d.nested_before, *lines], after)


def stage(d: Choices, lines: Lines, after: Lines) -> None:
    """Into a function, a class or the module itself; and what calls it."""
    main = d.new("train")
    ending = [f"return {d.result}"] if d.result else []
    if d.stage == "script":
        d.main.statements += [*d.before, *lines, *after]
        return
    if d.stage == "function":
        given, arguments = d.given
        d.define("\n".join([*d.decorators, d.top(main, given, [*d.before, *lines, *after, *ending])]))
        _called(d, f"{main}({arguments})")
        return
    head = [f"global {each}" for each in d.globals if each in "\n".join(lines)]
    _class(d, main, [*head, *d.before, *lines, *after, *ending], "")


def _class(d: Choices, main: str, lines: Lines, call: str) -> None:
    """A class whose method has the loop, or whose methods a stub calls."""
    name, obj = d.new("trainer"), d.new("trainer").lower() + "_"
    given, arguments = d.given
    inits = [*d.inits, *(d.before if call else [])]
    if d.form == "base class":
        base = d.new("class")
        own = block("def __init__(self):", d.base_inits or ["pass"])
        text = "\n".join(block(f"class {base}:", [*own, *"\n".join(d.base_methods or ["pass"]).split("\n")]))
        movable = d.cell["holder"] in ("name", "list", "dict", "dict of lists", "deque")
        own = [each for each in d.main.imports if not any(_module(path) in each for path in d.others)]
        called = d.placed(base, text, own) if movable else here(d, base, text)
        d.bases.append(called)
        inits = ["super().__init__()", *inits]
    methods = [function("__init__", ", ".join(["self", *([given] if given else [])]), inits or ["pass"]), *d.methods]
    if main:
        methods.insert(d.pick(1, len(methods)), function(main, "self", lines))
    bases = f"({', '.join(d.bases)})" if d.bases else ""
    d.define("\n".join(block(f"class {name}{bases}:", "\n".join(methods).split("\n"))))
    if call:
        d.main.statements += [f"{obj} = {name}({arguments})"]
        _called(d, call.replace("OBJECT", obj))
    else:
        _called(d, f"{name}({arguments}).{main}()")


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _called(d: Choices, call: str) -> None:
    caller = [each.replace("CALL", call) for each in d.caller] or [call]
    if d.chance(0.3):
        caller = block("if __name__ == '__main__':", caller)
    d.main.statements += caller


def here(d: Choices, name: str, text: str) -> str:
    d.define(text)
    return name
