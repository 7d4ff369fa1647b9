"""TLK501: what an evaluation gives its caller is a part of training only if it may hold a graph."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lint import lint

PROGRAM = """
import torch
from elsewhere import gathered, report, metric, parse


class Scores:
    def of(self, model, x):
        return model(x)

    def run(self, model, val_loader):
        model.eval()
        for x in val_loader:
            self.out = model(x)
        return self.out


def counted(out):
    return (out > 0).sum().item()


def squeezed(out):
    return out.squeeze(1)


def constant(out):
    return 1


def outputs(x):
    return net(x)


def repeated(n):
    return repeated(n - 1)


net = torch.nn.Linear(2, 1)


def validate(model, val_loader, names):
    model.eval()
    right, total, rows = 0, 0, []
    size: int = 0
    for x, y in val_loader:
        out = model(x)
        {body}
    return {given}


def fit(model, train_loader, val_loader, optimizer):
    for x, y in train_loader:
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {use}
"""
CALL = "validate(model, val_loader, names)"
HANDED = f"report(model, {CALL})"
NUMBERS = {
    "numbers": ("right += out.sum().item()", "{'right': right / 3}"),
    "a number that other processes give theirs for": ("right += out.sum().item()", "sum(gathered(right))"),
    "counts of a helper": ("right += counted(out)", "right"),
    "a helper's constant": ("right += constant(out)", "right"),
    "decisions": ("right += 1 if out[0] > 0 else 0", "right if right else None"),
    "a comparison": ("right = out[0] > 0", "right"),
    "a length": ("rows.append(len(out))", "rows"),
    "what a metric was fed classes": ("metric.update(out.argmax(1), y)", "metric.compute()"),
    "what was only printed beside outputs": ("print(right, out)", "right"),
    "a shape": ("right = out.shape[0]", "right"),
    "a declared number": ("size: int = out.size(0)", "size"),
    "a name bound in place": ("print(right := out.size(0))", "right"),
    "text": ("rows = [f'{each}' for each in out]", "rows"),
    "an opened file": ("with open('f') as rows:\n            rows.write(str(out))", "rows"),
    "code that nobody sees, of rows of the data": ("rows.extend(parse(y))", "rows[0]"),
    "nothing": ("out.sum().item()", "None"),
}
GRAPHS = {
    "outputs": ("pass", "out"),
    "a part of them": ("pass", "out.logits[0]"),
    "a sum": ("right = right + out.sum()", "right"),
    "a helper's result that is made of them": ("right = squeezed(out)", "right"),
    "what a helper's network gives": ("right = outputs(y)", "right"),
    "what a network in sight gives": ("right = net(y)", "right"),
    "what is put into a container": ("rows.append(out)", "rows"),
    "what is put into an entry": ("rows[0] = out", "rows"),
    "what a container is handed with": ("gathered(rows, out)", "rows"),
    "what code gives that is handed the network": ("right = parse(net, y)", "right"),
    "one of two": ("pass", "out if right else right"),
    "a helper without an end": ("right = repeated(total)", "right"),
}


def found(text: str) -> list[int]:
    wanted = text.splitlines().index("def validate(model, val_loader, names):")
    return [
        f.span.line
        for f in lint(text, wanted=lambda code: code == "TLK501")
        if wanted < f.span.line < text.splitlines().index("def fit(model, train_loader, val_loader, optimizer):")
    ]


def program(body: str, given: str, use: str = HANDED) -> str:
    return textwrap.dedent(PROGRAM).format(body=body, given=given, use=use)


@pytest.mark.parametrize(("body", "given"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_no_part_of_training(body: str, given: str) -> None:
    assert len(found(program(body, given))) == 1


@pytest.mark.parametrize(("body", "given"), GRAPHS.values(), ids=GRAPHS)
def test_graphs_may_be(body: str, given: str) -> None:
    assert not found(program(body, given))


def test_what_is_seen_to_be_differentiated_is() -> None:
    assert not found(program("right += out.sum().item()", "right", f"{CALL}.backward()"))


def test_what_shares_its_name_with_what_is_differentiated_is_not() -> None:
    use = f"loss = {CALL}\n        loss, right = {CALL}, 1"
    assert len(found(program("right += out.sum().item()", "right", use))) == 1
    assert not found(program("right = right + out.sum()", "right", use))


def test_a_generator_may_give_anything() -> None:
    text = program("total += 1\n        yield total", "None", f"report(list({CALL}))")
    assert not found(text)


def test_an_object_may_hold_anything() -> None:
    text = program("pass", "None").replace(
        "report(model, validate(", "report(model, Scores().run(model, val_loader), ("
    )
    assert "Scores().run" in text
    assert not [f for f in lint(text, wanted=lambda code: code == "TLK501") if f.span.line < 16]
