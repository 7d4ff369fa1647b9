"""Following a program: what the annotations of parameters say where no caller is seen."""

from __future__ import annotations

import pytest

from tests.kept import findings, marked, program, reported

METER = """
class Meter:
    def __init__(self, size: int = 0):
        self.rows, self.last = [], None
    def push(self, value):
        self.rows.append(value)
    def put(self, value):
        self.last = value
class Tree:
    def __init__(self, above: "Tree | None" = None):
        self.above, self.rows = above, []
    def push(self, value):
        self.rows.append(value)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x):
        return self.layer(x)
    def outcome(self, x):
        return self(x).item()
class Squared(nn.MSELoss):
    pass
class Wide(nn.Sequential):
    pass
class Shaped(nn.Flatten):
    pass
"""
STEP = """
    for x, y in b:
        v = a(x).mean()
        v.backward()
        {}
"""


def stepped(parameters: str, *body: str, before: str = "kept = []") -> str:
    """A step of a network `a` over a loader `b`, whose names say nothing, in a function with further parameters."""
    text = f"def run(a: nn.Module, b: DataLoader{parameters}):\n    {before}" + STEP.format("\n        ".join(body))
    return program(METER + text)


PROGRAMS: dict[str, str] = {
    "a network and a loader": stepped("", "kept.append(v)  # TLK402"),
    "a number": stepped(", c: float", "kept.append(c * 2)"),
    "text or nothing": stepped(", c: Optional[str]", "kept.append(c)"),
    "an array": stepped(", c: np.ndarray", "kept.append(c)"),
    "a tensor": stepped(", c: torch.Tensor", "kept.append(c * 2)"),
    "a parameter": stepped(", c: nn.Parameter", "kept.append(c * 2)  # TLK402"),
    "an optimizer": stepped(", c: torch.optim.Optimizer", "c.step()", "kept.append(c)"),
    "a schedule": stepped(", c: torch.optim.lr_scheduler.LRScheduler", "c.step()", "kept.append(c)"),
    "what torch does not have": stepped(", c: torch.Nothing", "kept.append(c)"),
    "an object": stepped(", c: Meter", "c.push(v)  # TLK403"),
    "an object, quoted": stepped(", c: 'Meter'", "c.push(v)  # TLK403"),
    "an object or nothing": stepped(", c: Optional[Meter]", "c.push(v)  # TLK403"),
    "an object or None": stepped(", c: 'Meter | None' = None", "c.push(v)  # TLK403"),
    "an object or None, in the old way": stepped(", c: Union[Meter, None]", "c.push(v)  # TLK403"),
    "an object of two classes": stepped(", c: Union[Meter, Net]", "c.push(v)"),
    "an object of a class without a name": stepped(", c: 'not Python'", "c.push(v)"),
    "a list of objects": stepped(", c: list[Meter]", "c[0].push(v)"),
    "an object that keeps the last": stepped(", c: Meter", "c.put(v)"),
    "an object that is given numbers": stepped(", c: Meter", "c.push(v.item())"),
    "an object that may hold its like": stepped(", c: Tree", "c.push(v)  # TLK403"),
    "two objects": stepped(", c: Meter, d: Meter", "c.put(v)", "kept.append(d.last)"),
    "a network of the file": stepped(", c: Net", "kept.append(c(x))  # TLK402", before="kept, w = [], a.eval()"),
    "a method of a network of the file": stepped(", c: Net", "kept.append(c.outcome(x))"),
    "a loss that is a network": stepped(", criterion: nn.Module", "kept.append(criterion(v, y))  # TLK402"),
    "a layer": stepped(", c: nn.Linear", "kept.append(c(x))  # TLK402", before="kept, w = [], a.eval()"),
    "a class below a loss, of plain values": stepped("", "kept.append(Squared()(x, y))"),
    "a class below a loss, of a network's": stepped("", "kept.append(Squared()(v, y))  # TLK402"),
    "a class below a container of layers": stepped(
        "", "kept.append(c(x))  # TLK402", before="kept, c, w = [], Wide(nn.Linear(2, 1)), a.eval()"
    ),
    "a class below a layer without parameters": stepped("", "kept.append(Shaped()(x))"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_annotations(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


def test_what_is_said_is_no_convention() -> None:
    (found,) = findings(stepped("", "kept.append(v)"))
    assert not found.conventions
