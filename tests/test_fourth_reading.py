"""What readers of a fourth sample found wrong: each with what must still be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from tests.kept import findings, program
from tests.test_project import put

# -- evaluations --------------------------------------------------------------------------------------------

ADAPTED = """
    import sys

    class Lora(nn.Module):
        def __init__(self, body):
            super().__init__()
            self.body = body
            for name, child in body.named_children():
                setattr(self, name, nn.Sequential(child, nn.Linear(2, 2)))
        def choose(self, task):
            for each in self.{modules}():
                each.task = task
        def forward(self, x): return self.body(x)

    def evaluate(net, task, loader):
        net.choose(task)
        net.eval()
        {under}:
            for x in loader:
                print(net(x).argmax(1))

    def main(loader):
        net = Lora(nn.Sequential(nn.Linear(2, 2)))
        for task in sys.argv:
            evaluate(net, task, loader)

    main(torch.utils.data.DataLoader(sys.argv))
"""


@pytest.mark.parametrize("modules", ["modules", "children", "named_modules"])
def test_layers_that_are_set_by_any_name_are_none_of_a_modules_own_methods(modules: str) -> None:
    text = program(ADAPTED.format(modules=modules, under="with torch.no_grad()"))
    assert not [each for each in lint(text) if each.code == "TLK501"]
    text = program(ADAPTED.format(modules=modules, under="if True"))
    assert [each for each in lint(text) if each.code == "TLK501"]


SAVED = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
        def forward(self, x): return self.layer(x)
        def save(self, path): torch.save(self.forward(torch.ones(2)), path)

    class Job:
        def __init__(self, rows):
            self.net, self.rows = Net(), rows
            self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
        def valid(self):
            {valid}
        def fit(self):
            for epoch in range(9):
                for x in self.rows:
                    self.net(x).sum().backward()
                    self.opt.step()
                self.valid()
"""


@pytest.mark.parametrize(
    ("valid", "expected"),
    [("self.net.save('net.pt')", 0), ("shown = self.net(self.rows); print(shown.argmax())", 1)],
)
def test_a_method_whose_result_nobody_takes_is_no_evaluation(valid: str, expected: int) -> None:
    found = [each for each in lint(program(SAVED.format(valid=valid))) if each.code == "TLK501"]
    assert len(found) == expected


# -- what is kept of a graph --------------------------------------------------------------------------------

TRAIN = """
    def fit(model: nn.Module, loader, criterion, opt):
        total, kept = 0, []
        for x, y in loader:
            loss = criterion(model(x), y)
            {step}
            {keep}
        return float(total), [each.item() for each in kept]
"""


WHOLE, NODES = "`total` keeps each step's autograd graph; ", "`total` keeps the nodes of each step's graph; "


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("loss.backward(None, True)", WHOLE),
        ("loss.backward(None, False, False)", NODES),
        ("loss.backward(create_graph=True)", WHOLE),
        ("loss.backward(retain_graph=y.flag)", WHOLE),
        ("torch.autograd.backward(loss, retain_graph=True)", WHOLE),
        ("torch.autograd.backward(loss, None, True)", WHOLE),
        ("torch.autograd.backward(loss)", NODES),
        ("torch.autograd.grad(loss, x, None, True)", WHOLE),
        ("torch.autograd.grad(loss, x)", NODES),
        ("if y.flag: loss.backward()", WHOLE),
        ("back(loss, y.flag)", WHOLE),
        ("back(loss, True)", NODES),
        ("always(loss)", NODES),
    ],
)
def test_backward_leaves_the_nodes_alone_where_it_is_run_for_certain(step: str, said: str) -> None:
    helpers = """
    def back(loss, flag):
        if flag:
            loss.backward()

    def always(loss):
        loss.backward()
"""
    found = findings(program(helpers + TRAIN.format(step=step, keep="total += loss")))
    assert [said in each.message for each in found if each.code == "TLK401"] == [True]


def test_a_loop_under_a_condition() -> None:
    text = TRAIN.format(step="loss.backward()", keep="total += loss").replace(
        "        for x, y", "        if opt:\n         for x, y"
    )
    found = findings(program(text))
    assert [NODES in each.message for each in found if each.code == "TLK401"] == [True]


def test_a_value_that_is_kept_under_a_condition() -> None:
    text = TRAIN.format(step="loss.backward()", keep="if y.flag: total += loss")
    found = findings(program(text))
    assert [WHOLE in each.message for each in found if each.code == "TLK401"] == [True]


@pytest.mark.parametrize(
    ("step", "keep", "said"),
    [
        ("loss.backward()", "total += loss", "`total` keeps the nodes of each step's graph; "),
        ("pass", "total += loss", "`total` keeps each step's autograd graph; "),
        ("loss.backward(retain_graph=True)", "total += loss", "`total` keeps each step's autograd graph; "),
        ("loss.backward()", "kept.append(loss)", "`kept` keeps `loss` with the nodes of its graph; "),
        ("pass", "kept.append(loss)", "`kept` keeps `loss` with its autograd graph; "),
    ],
)
def test_the_message_says_what_backward_leaves(step: str, keep: str, said: str) -> None:
    found = findings(program(TRAIN.format(step=step, keep=keep)))
    assert [said in each.message for each in found if each.code in ("TLK401", "TLK402")] == [True]


# -- networks without parameters ----------------------------------------------------------------------------

AVERAGED = """
    from swag import SWAG

    def evaluate(net: nn.Module, loader):
        net.eval()
        for x in loader:
            print(net(x).argmax(1))
"""


@pytest.mark.parametrize(
    ("swag", "expected"),
    [
        ("def SWAG(net):\n    for each in net.modules(): each._parameters.pop('weight')\n", "note"),
        ("def SWAG(net):\n    del net.body._parameters['weight']\n", "warning"),  # as spectral norm does
        ("class SWAG:\n    def clear(self): self._parameters.clear()\n", "warning"),
        ("def SWAG(net):\n    return len(net._parameters)\n", "warning"),
    ],
)
def test_a_network_whose_parameters_are_taken_out(tmp_path: Path, swag: str, expected: str) -> None:
    put(tmp_path, swag=swag, run=program(AVERAGED))
    (tmp_path / ".git").mkdir()
    path = tmp_path / "run.py"
    found = [each for each in lint(path.read_text(encoding="utf-8"), path=str(path)) if each.code == "TLK501"]
    assert [each.severity.value for each in found] == [expected]
    text = program(AVERAGED.replace("from swag import SWAG", "def take(net): net._parameters.clear()"))
    assert [each.severity.value for each in lint(text) if each.code == "TLK501"] == ["note"]
    kept = program(AVERAGED.replace("from swag import SWAG", "def take(net): net._parameters.clear()"))
    kept = kept.replace("for x in loader:", "kept = []\n    for x in loader:").replace(
        "print(net(x).argmax(1))", "kept.append(net(x))"
    )
    kept += "    return [each.tolist() for each in kept]\n"
    assert {each.severity.value for each in lint(kept) if each.code in ("TLK402", "TLK501")} == {"note"}
