"""Fixes of the graph rules and of retained batches: what is released, how it is written, and what is left alone."""

from __future__ import annotations

import pytest

from tests.fixer import fixed, left, reasons
from tests.model import step

METER = """
class Meter:
    def __init__(self):
        self.total = 0
    def update(self, value, n=1):
        self.total += value * n
meter = Meter()
"""

RELEASED = {
    "a name": ("total += loss", "total += loss.detach()"),
    "an attribute": ("device.total += loss", "device.total += loss.detach()"),
    "a subscript": ("total += (loss * x)[0]", "total += (loss * x)[0].detach()"),
    "a call": ("total += loss.sum()", "total += loss.sum().detach()"),
    "a call of a torch function": ("total += torch.stack([loss]).sum()", "total += torch.stack([loss]).sum().detach()"),
    "behind the sum": ("total = total + loss", "total = total + loss.detach()"),
    "before the sum": ("total = loss + total", "total = loss.detach() + total"),
    "one of two targets": ("total, n = total + loss, 1", "total, n = total + loss.detach(), 1"),
    "a sum": ("total += loss + x.mean()", "total += (loss + x.mean()).detach()"),
    "a product": ("total += loss * 2", "total += (loss * 2).detach()"),
    "a quotient": ("total += loss / len(loader)", "total += (loss / len(loader)).detach()"),
    "a negation": ("total += -loss", "total += (-loss).detach()"),
    "a ternary": ("total += loss if n else loss * 2", "total += (loss if n else loss * 2).detach()"),
    "one parenthesis": ("total += (loss)", "total += (loss.detach())"),
    "one parenthesis around a sum": ("total += (loss + 1)", "total += (loss + 1).detach()"),
    "two around a sum": ("total += ((loss + 1))", "total += ((loss + 1).detach())"),
    "parentheses in parentheses": ("total += ((loss) + (1))", "total += ((loss) + (1)).detach()"),
    "an argument": ("kept.append(loss)", "kept.append(loss.detach())"),
    "a sum as an argument": ("kept.append(loss + 1)", "kept.append((loss + 1).detach())"),
    "an argument in parentheses": ("kept.append((loss))", "kept.append((loss.detach()))"),
    "... in two": ("kept.append(((loss)))", "kept.append(((loss.detach())))"),
    "... before a comma": ("kept.append((loss),)", "kept.append((loss.detach()),)"),
    "... around a sum": ("kept.append((loss + 1))", "kept.append((loss + 1).detach())"),
    "... around a sum before a comma": ("kept.append((loss + 1),)", "kept.append(((loss + 1).detach()),)"),
    "... of several": ("kept.append((loss) + (1))", "kept.append(((loss) + (1)).detach())"),
    "... with blanks": ("kept.append( ( loss + 1 ) )", "kept.append( ( loss + 1 ).detach() )"),
    "the second argument": ("kept.insert(0, (loss + 1))", "kept.insert(0, (loss + 1).detach())"),
    "a tuple": ("kept.append((loss, 1))", "kept.append((loss.detach(), 1))"),
    "a tuple of one": ("kept.append((loss,))", "kept.append((loss.detach(),))"),
    "a bare tuple": ("kept += loss,", "kept += loss.detach(),"),
    "a list": ("kept += [loss, loss * 2]", "kept += [loss.detach(), (loss * 2).detach()]"),
    "a spread list": ("kept.extend([loss])", "kept.extend([loss.detach()])"),
    "a dict": ("kept.append({'a': loss, 'b': 1})", "kept.append({'a': loss.detach(), 'b': 1})"),
    "a nest": (
        "kept.append((loss, [loss, {'a': (loss + 1)}]))",
        "kept.append((loss.detach(), [loss.detach(), {'a': (loss + 1).detach()}]))",
    ),
    "a slot": ("kept[x] = loss", "kept[x] = loss.detach()"),
    "two on a line": ("kept.append(loss); total += loss", "kept.append(loss.detach()); total += loss.detach()"),
    "the same twice on a line": (
        "kept.append(loss); kept.append(loss)",
        "kept.append(loss.detach()); kept.append(loss.detach())",
    ),
    "two in a tuple": (
        "kept.append(loss), meter.update(loss)",
        "kept.append(loss.detach()), meter.update(loss.detach())",
    ),
    "a one-line suite": ("if n: kept.append(loss)", "if n: kept.append(loss.detach())"),
    "a one-line suite of two": (
        "if n: kept.append(loss); total += loss",
        "if n: kept.append(loss.detach()); total += loss.detach()",
    ),
    "a backslash": ("total += loss \\\n    + 1", "total += (loss \\\n    + 1).detach()"),
    "a backslash before it": ("total += \\\n    loss", "total += \\\n    loss.detach()"),
    "lines": ("kept.append(\n    loss\n)", "kept.append(\n    loss.detach()\n)"),
    "lines with comments": (
        "total += (  # a\n    loss  # b\n    + 1  # c\n)  # d",
        "total += (  # a\n    (loss  # b\n    + 1).detach()  # c\n)  # d",
    ),
    "a comment above it": ("total += (\n    # why\n    loss\n)", "total += (\n    # why\n    loss.detach()\n)"),
    "a comment behind the comma": (
        "kept.append(\n    loss,  # the loss\n)",
        "kept.append(\n    loss.detach(),  # the loss\n)",
    ),
    "parentheses on lines of their own": (
        "kept.append((\n    loss + 1\n))",
        "kept.append((\n    (loss + 1).detach()\n))",
    ),
    "a sum that ends in parentheses on its line": (
        "total += (loss +\n    1)",
        "total += (loss +\n    1).detach()",
    ),
    "a meter": ("meter.update(loss)", "meter.update(loss.detach())"),
    "a meter's keyword": ("meter.update(value=loss, n=2)", "meter.update(value=loss.detach(), n=2)"),
    "a meter's product": ("meter.update(loss * 2)", "meter.update((loss * 2).detach())"),
    "another code in the comment": ("total += loss  # noqa: E501", "total += loss.detach()  # noqa: E501"),
}


@pytest.mark.parametrize(("before", "after"), RELEASED.values(), ids=RELEASED)
def test_graphs_are_released(before: str, after: str) -> None:
    rest = "return total, kept"
    assert fixed(step(before, METER, rest)) == step(after, METER, rest)
    assert fixed(step(after, METER, rest)) == step(after, METER, rest)


NOT_PROVEN = {
    "what model() gives": ("kept.append(model(x))", "`model(x)`"),
    "what criterion() gives": ("total += criterion(model(x), y)", "`criterion(model(x), y)`"),
    "a variable of it": ("out = model(x)\nkept.append(out)", "`out`"),
    "perhaps None": ("kept.append(loss if n else None)", "`loss if n else None`"),
    "perhaps a number": ("meter.update(loss if n else 0)", "`loss if n else 0`"),
    "what sum() gives": ("total += sum([loss])", "`sum([loss])`"),
    "unpacked": ("kept.append(*[loss])", "`*[loss]`"),
    "one of several": ("kept.append((loss, model(x)))", "`model(x)`"),
}


@pytest.mark.parametrize(("statement", "shown"), NOT_PROVEN.values(), ids=NOT_PROVEN)
def test_what_is_not_proven_a_tensor_is_left(statement: str, shown: str) -> None:
    text = step(statement, METER, "return total, kept")
    for unsafe in (False, True):
        (reason,) = reasons(text, unsafe, ("TLK401", "TLK402", "TLK403"))
        assert reason.startswith(f"{shown} is not proven to be a tensor")


SILENT = ["kept.append(loss.item())", "kept.append(f'{loss}')", "kept.append(lambda: loss)", "total += float(loss)"]


@pytest.mark.parametrize("statement", SILENT)
def test_what_is_no_leak_is_no_fix(statement: str) -> None:
    assert left(step(statement, "", "return total, kept")) == []


def test_a_sum_that_is_read_as_a_tensor_proves_what_is_added() -> None:
    rest = "return total.item()"
    assert fixed(step("total += criterion(model(x), y)", after=rest), codes="TLK401") == step(
        "total += criterion(model(x), y).detach()", after=rest
    )


LIVE = {
    "an output used as a tensor": (
        "out = model(x)\nout.sigmoid()\nkept.append(out)",
        "out = model(x)\nout.sigmoid()\nkept.append(out.detach())",
    ),
    "an output in a torch function": (
        "kept.append(torch.sigmoid(model(x)))",
        "kept.append(torch.sigmoid(model(x)).detach())",
    ),
}


@pytest.mark.parametrize(("before", "after"), LIVE.values(), ids=LIVE)
def test_what_is_not_differentiated_is_released_where_it_is_only_read(before: str, after: str) -> None:
    shown = "print(len(kept), [float(each.mean()) for each in kept])"
    assert fixed(step(before, METER, shown)) == step(after, METER, shown)
    for unsafe in (False, True):
        (reason,) = reasons(step(before, METER, "return kept"), unsafe)
        assert reason.endswith("may be differentiated later: it is returned")


def test_an_entry_that_is_differentiated_keeps_its_graph() -> None:
    text = """
        def train(loader):
            kept = []
            for x in loader:
                kept.append(F.mse_loss(x, x))
                kept[-1].backward()
    """
    assert reasons(text, unsafe=True) == ["an entry of `kept` is differentiated"]


SHOWN = [
    "print(total)",
    "print(f'{total:.3f}')",
    "print(float(total))",
    "print(-total if total else 1)",
    "print(round(total / len(loader), 2))",
    "print(max(total, 1), np.mean(total), math.sqrt(total))",
    "logger.info('%s', total)",
    "writer.add_scalar('a', total, 1)",
    "wandb.log({'a': total})",
    "bar.set_postfix(loss=total)",
    "if total > 3: pass",
    "mean = total / 2\nprint(mean)",
    "mean = total / 2\nmean = mean / 2\nprint(mean)",
    "best = [total]\nprint(best[0])",
    "def show():\n    print(total)",
    "total\n",
    "del total",
]


@pytest.mark.parametrize("after", SHOWN)
def test_a_sum_that_is_only_shown_may_become_a_number(after: str) -> None:
    assert fixed(step("total += loss", after=after), unsafe=True) == step("total += loss.item()", after=after)
    assert fixed(step("total += loss", after=after)) == step("total += loss.detach()", after=after)


USED = [
    "return total",
    "yield total",
    "return {'a': total}",
    "print(total.shape)",
    "print(total[0])",
    "print(*total)",
    "print(total and 1)",
    "print(torch.isnan(total), torch.log(total))",
    "print([total for _ in loader])",
    "print((lambda: total)())",
    "kept.append(total)",
    "use(total)",
    "total(1)",
    "self.total = total",
    "first, second = total, 1",
    "mean: float = total",
    "mean = total / 2\nreturn mean",
    "kept[0] = total",
    "kept[total] = 0",
    "assert total",
    "with total: pass",
    "def give():\n    return total",
    "\n".join(f"a{n + 1} = a{n}" for n in range(12)).replace("a0", "total") + "\nprint(a12)",
]


@pytest.mark.parametrize("after", USED)
def test_a_sum_that_is_used_otherwise_stays_a_tensor(after: str) -> None:
    for unsafe in (False, True):
        assert fixed(step("total += loss", after=after), unsafe) == step("total += loss.detach()", after=after)


def test_only_one_element_becomes_a_number() -> None:
    for statement, unsafe in {
        "total += loss * 2": "total += (loss * 2).item()",
        "total += loss + 1": "total += (loss + 1).item()",
        "total += loss * x.mean()": "total += (loss * x.mean()).detach()",
        "total += loss.exp().mean()": "total += loss.exp().mean().item()",
        "total += loss.exp().sum(0)": "total += loss.exp().sum(0).detach()",
        "total += F.mse_loss(model(x), y)": "total += F.mse_loss(model(x), y).item()",
        "total += F.mse_loss(model(x), y, reduction='none')": (
            "total += F.mse_loss(model(x), y, reduction='none').detach()"
        ),
        "mean = loss / 2\ntotal += mean": "mean = loss / 2\ntotal += mean.item()",
        "total += loss.exp()": "total += loss.exp().detach()",
        "kept.append(loss)": "kept.append(loss.item())",
        "kept.append([loss])": "kept.append([loss.detach()])",
    }.items():
        shown = "print(total, sum(kept) / len(kept))"
        assert fixed(step(statement, after=shown), unsafe=True) == step(unsafe, after=shown)


def test_a_variable_of_another_scope_is_followed_there() -> None:
    before, after = ("total = 0\ndef train():\n    global total\n    for x in loader:\n        loss = f(x)\n"
                     "        loss.backward()\n        total += loss", "\ndef report():\n    {}\n")  # fmt: skip
    shown, kept = after.format("print(total)"), after.format("torch.save(total, 'a')")
    assert fixed(before + shown, unsafe=True) == before + ".item()" + shown
    assert fixed(before + kept, unsafe=True) == before + ".detach()" + kept
    other = "\ndef report(total):\n    return total\n"
    assert fixed(before + other, unsafe=True) == before + ".item()" + other


LOOP = """\
def collect(data):
    loader = DataLoader(data, num_workers=2)
    kept, names = [], {{}}
    for x, y in loader:
        {}
    return kept, names
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kept.append(y.numpy())", "kept.append(y.numpy().copy())"),
        ("kept.append(np.asarray(x))", "kept.append(np.asarray(x).copy())"),
        ("kept.append(y.detach())", "kept.append(y.detach().clone())"),
        ("kept.append(y.detach()[0])", "kept.append(y.detach()[0].clone())"),
        ("kept.append(y.view(-1).numpy()[:2])", "kept.append(y.view(-1).numpy()[:2].copy())"),
        ("kept.append((y.detach(), y.numpy()))", "kept.append((y.detach().clone(), y.numpy().copy()))"),
        ("kept.append({'a': y.numpy(), 'b': 1})", "kept.append({'a': y.numpy().copy(), 'b': 1})"),
        ("kept += [y.numpy()]", "kept += [y.numpy().copy()]"),
        ("kept.append((y.numpy()))", "kept.append((y.numpy().copy()))"),
        (
            "kept.append(y.numpy()); kept.append(y.detach())",
            "kept.append(y.numpy().copy()); kept.append(y.detach().clone())",
        ),
    ],
)
def test_batches_are_copied(before: str, after: str) -> None:
    assert fixed(LOOP.format(before)) == LOOP.format(after)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("kept.append(x)", "`x`"),
        ("kept.append(x.cpu())", "`x.cpu()`"),
        ("kept.append({'a': x[0]})", "`x[0]`"),
        ("kept.append((y.numpy(), x))", "`x`"),
    ],
)
def test_batches_that_are_not_proven_tensors_are_left(statement: str, shown: str) -> None:
    (reason,) = reasons(LOOP.format(statement), unsafe=True)
    assert reason.startswith(f"{shown} is not proven to be a tensor")


def test_a_sum_that_starts_with_a_graph_is_released_there_too() -> None:
    before = step("total = total + loss * 0.1 if total else loss", after="return total")
    after = step("total = total + (loss * 0.1).detach() if total else loss.detach()", after="return total")
    assert fixed(before, codes="TLK401") == after
    unproven = step("total = total + loss * 0.1 if total else criterion(model(x), y)", after="return total")
    (reason,) = reasons(unproven, codes="TLK401")
    assert reason == ("`total` starts with the graph of `criterion(model(x), y)`, which is not proven to be a tensor")
