"""What becomes of what was kept: it is shown, returned, differentiated, emptied, or nobody asks for it."""

from __future__ import annotations

from tests.training.draft import Lines, function
from tests.truth.draft import Choices

ENDINGS = (
    "dropped", "dropped", "shown", "shown", "shown", "returned", "returned", "differentiated", "differentiated",
    "emptied", "anew in step", "anew in epoch", "bounded",
)  # fmt: skip


def differentiated(d: Choices, items: str, opt: str) -> Lines:
    """An optimizer's step on all that is kept."""
    t, v = d.new("total"), d.new("temp")
    form = d.pick("sum(VAR.sum() for VAR in ITEMS)", "torch.stack([VAR.mean() for VAR in ITEMS]).sum()").replace(
        "VAR", v
    )
    total = form.replace("ITEMS", items)
    if d.chance(0.4):
        name, o, values = d.new("finish"), d.new("optimizer"), d.new("losses")
        lines = [f"{t} = {form.replace('ITEMS', values)}", f"{o}.zero_grad()", f"{t}.backward()", f"{o}.step()"]
        called = d.placed(name, function(name, f"{o}, {values}", lines), ["import torch"])
        return [f"{called}({opt}, {items})"]
    return [f"{t} = {total}", f"{opt}.zero_grad()", f"{t}.backward()", f"{opt}.step()"]


def shown(d: Choices, items: str) -> Lines:
    """It is printed, counted or looked at."""
    if not items:
        return ["print('done')"]
    v = d.new("temp")
    return d.pick(
        [f"print(len(list({items})))"],
        [f"print({items})"],
        [f"print([str({v})[:8] for {v} in {items}])"],
        [f"print(type({items}))"],
    )


def after_loop(d: Choices, ending: str, items: str, opt: str) -> Lines:
    """The statements after the loop."""
    if ending == "differentiated":
        return differentiated(d, items, opt)
    if ending == "returned":
        d.result = d.pick(items, items, f"{{'history': {items}}}", f"({items}, 1)", f"list({items})")
        given = d.new("losses")
        d.caller = d.pick(["CALL"], [f"{given} = CALL"], [f"{given} = CALL", f"print(len({given}))"])
        return []
    if ending == "dropped":
        return d.pick([], [], ["print('done')"])
    return shown(d, items)
