"""Following: what a method finds in its object that other methods, or runs of a network, have left there since."""

from __future__ import annotations

import pytest

from tests.kept import marked, program, reported

LEARNER = """
class Learner:
    def __init__(self, network, loader, optimizer):
        self.network, self.loader, self.optimizer = network, loader, optimizer
        self.teacher = {first}

    def after_task(self):
        {set}

    def train_epoch(self):
        total = 0.0
        for x, y in self.loader:
            out = self.network(x)
            loss = nn.functional.cross_entropy(out, y)
            if {test}:
                extra = nn.functional.mse_loss(out, y.float())
                total += extra{mark}
                loss = loss + extra
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return total
"""
SET_LATER = {
    "by another method": ("None", "self.teacher = self.network", "self.teacher is not None", True),
    "compared": ("None", "self.teacher = self.network", "self.teacher != None", True),
    "a switch": ("False", "self.teacher = True", "self.teacher", True),
    "by nobody": ("None", "self.student = self.network", "self.teacher is not None", False),
    "a switch that nobody turns": ("False", "pass", "self.teacher", False),
    "a number stays what it is": ("3", "self.teacher = 4", "self.teacher == 4", False),
}


@pytest.mark.parametrize("name", SET_LATER)
def test_what_another_method_sets_is_not_what_the_constructor_set(name: str) -> None:
    first, later, test, grows = SET_LATER[name]
    text = program(LEARNER.format(first=first, set=later, test=test, mark="  # TLK401" if grows else ""))
    assert reported(text) == marked(text)


def test_a_state_that_the_constructor_leaves_open_is_carried_on() -> None:
    text = program("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.state = None

    def forget(self):
        self.state = torch.zeros(1, 4)

    def forward(self, x):
        if self.state is None:
            self.state = torch.zeros(1, 4)
        state = self.cell(x, self.state.detach())
        self.state = state
        return state
""")
    assert reported(text) == []


RECONSTRUCTS = """
class Error(nn.Module):
    def forward(self, made, real):
        return torch.sum((real - made).pow(2)) / 2


class Solver:
    def __init__(self, make, loader, optimizer):
        self.loader, self.optimizer = loader, optimizer
        self.model = make.model()

    def train(self):
        criterion, self.error = nn.MSELoss(), {error}
        kept = []
        for x, y in self.loader:
            self.model.zero_grad()
            fit_loss = criterion(self.model(x), y)
            side_loss = self.side_loss()
            loss = fit_loss + {weight} * side_loss
            loss.backward()
            self.optimizer.step()
            kept.append({kept}){mark}
        return kept

    def side_loss(self):
        return self.error({made}, self.model.original) / 2
"""


@pytest.mark.parametrize(
    ("error", "weight", "made", "kept", "grows"),
    [
        ("Error()", "0.1", "self.model.decoded", "side_loss", True),
        ("nn.MSELoss()", "0.1", "self.model.decoded", "side_loss", True),
        ("nn.MSELoss()", "0.1", "self.model.decoded", "side_loss.item()", False),
        ("nn.MSELoss()", "0.1", "self.model.decoded.detach()", "self.model.count", False),
    ],
)
def test_what_a_network_keeps_of_its_last_run(error: str, weight: str, made: str, kept: str, grows: bool) -> None:
    """Of a network of which nothing is seen: what is computed of its attributes has a graph where it is a loss's."""
    mark = "  # TLK402" if grows else ""
    text = program(RECONSTRUCTS.format(error=error, weight=weight, made=made, kept=kept, mark=mark))
    assert reported(text) == marked(text)


def test_a_class_that_a_call_makes_stands_nowhere() -> None:
    text = program("""
def train(model, loader, optimizer):
    Row = collections.namedtuple("Row", ["a", "b"])
    kept = 0.0
    for x in loader:
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        row = Row(a=loss, b=x)
        last = row.other
        kept += row.a  # TLK401
    return kept, last
""")
    assert reported(text) == marked(text)
