"""TLK402: lists whose content is only detached when their loop is over."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint

CODE = """
import torch
from torch.utils.data import DataLoader


def predict(job, data, other):
    outs, rows = [], []
    for x, y in DataLoader(data):
        {body}
    {after}
"""
JOINED = "return torch.cat(outs).detach()"
BODIES = {
    "what nobody sees": ("outs.append(job.run(x))", JOINED, 1),
    "a part of it": ("outs.append(job.run(x)['logits'])", JOINED, 1),
    "several": ("outs += [job.run(x), job.run(y)]", JOINED, 1),
    "after methods": ("outs.append(job.run(x))", "return torch.stack(outs).squeeze(0).cpu().detach().numpy()", 1),
    "by its data": ("outs.append(job.run(x))", "return torch.vstack(outs).data", 1),
    "under a name": ("outs.append(job.run(x))", "all = torch.cat(outs, 0).squeeze(1)\n    return all.detach()", 1),
    "under a name that is bound anew": (
        "outs.append(job.run(x))", "all = torch.cat(outs)\n    all = other\n    return all.detach()", 0),
    "under a name that is not detached": (
        "outs.append(job.run(x))", "all = torch.cat(outs)\n    return all.mean().item()", 0),
    "not detached": ("outs.append(job.run(x))", "return torch.cat(outs)", 0),
    "something else is done first": ("outs.append(job.run(x))", "return torch.cat(outs).argmax(1).detach()", 0),
    "joined by something else": ("outs.append(job.run(x))", "return job.cat(outs).detach()", 0),
    "given as another argument": ("outs.append(job.run(x))", "return torch.cat(other, out=outs).detach()", 0),
    "stored in something": ("outs.append(job.run(x))", "job.all = torch.cat(outs)\n    return job.all.detach()", 0),
    "differentiated": (
        "outs.append(job.run(x))", "all = torch.cat(outs)\n    all.sum().backward()\n    return all.detach()", 0),
    "joined in the loop": ("outs.append(job.run(x)); print(torch.cat(outs).detach())", "return outs", 0),
    "detached before": ("outs.append(job.run(x).detach())", JOINED, 0),
    "numbers": ("outs.append(job.run(x).argmax(1))", JOINED, 0),
    "labels": ("outs.append(job.labels)", JOINED, 0),
    "an entry of labels": ("outs.append(x['target'])", JOINED, 0),
    "an entry by a name that says so": ("outs.append(job.run(x)[other.label_key])", JOINED, 0),
    "made of a batch alone": ("outs.append(x * 2)", JOINED, 0),
    "made of a batch and more": ("outs.append(x * other)", JOINED, 1),
    "a batch": ("outs.append(3)", JOINED, 0),
    "without gradients": ("with torch.no_grad():\n            outs.append(job.run(x))", JOINED, 0),
    "made longer": ("rows = rows + job.run(x)", "return torch.cat(rows).detach()", 1),
    "an attribute": ("job.outs.append(job.run(x))", "return torch.cat(job.outs).detach()", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_what_is_detached_behind_the_loop(name: str) -> None:
    body, after, expected = BODIES[name]
    found = [each for each in lint(CODE.format(body=body, after=after)) if each.code == "TLK402"]
    assert [each.severity for each in found] == [Severity.NOTE] * expected
    if found:
        assert found[0].reason == "the `.detach()` behind the loop is the only sign that it carries a graph"
        assert found[0].notes[-1].text == "it is detached only here"


def test_torch_under_another_name() -> None:
    text = CODE.format(body="outs.append(job.run(x))", after="return th.stack(outs).detach()")
    found = lint(text.replace("import torch\n", "import torch as th\n"), wanted=lambda code: code == "TLK402")
    assert [each.severity for each in found] == [Severity.NOTE]


def test_no_fix_for_what_is_no_tensor_for_sure() -> None:
    (told,) = (each for each in lint(CODE.format(body="outs.append(job.run(x))", after=JOINED), fixes=True))
    assert not told.fixes
    assert told.unfixed == "nothing proves that it is a tensor"


def test_who_calls_it_turns_gradients_off() -> None:
    text = CODE.format(body="outs.append(job.run(x))", after=JOINED)
    text += "\nwith torch.no_grad():\n    predict(1, 2, 3)\n"
    assert not [each for each in lint(text) if each.code == "TLK402"]


def test_where_nobody_wants_notes_or_decides() -> None:
    text = CODE.format(body="outs.append(job.run(x))", after=JOINED)
    assert not lint(text, least=Severity.WARNING)
    assert not [each for each in lint(text.replace("predict(", "forward(")) if each.code == "TLK402"]
    tested = "import pytest\n" + text.replace("predict(", "test_predict(")
    assert not [each for each in lint(tested) if each.code == "TLK402"]


def test_what_another_message_tells() -> None:
    text = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader


    def predict(data):
        net = nn.Linear(4, 4)
        net.eval()
        outs = []
        for x in DataLoader(data):
            outs.append(net(x))
        return torch.cat(outs).detach()
    """
    found = [each for each in lint(textwrap.dedent(text)) if each.code == "TLK402"]
    assert [each.severity for each in found] == [Severity.ERROR]
