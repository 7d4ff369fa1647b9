"""Following a program: functions of other libraries that give tensors with the history of what they are given."""

from __future__ import annotations

import pytest

from tests.kept import marked, program, reported


def trained(made: str, above: str) -> str:
    body = f"""
    {above}

    def train(model, loader, criterion, optimizer):
        kept, total = [], 0
        for x, y in loader:
            out = model(x)
            part = {made}
            loss = criterion(part, y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            kept.append(part)  # TLK402
    """
    return program(body)


GIVEN = {
    "einops": ("rearrange(out, 'b (h w) -> b h w', h=2)", "from einops import rearrange"),
    "einops, a list": ("einops.rearrange([out, out], 'n b w -> b (n w)')", "import einops"),
    "einops, reduced": ("einops.reduce(out, 'b w -> b', 'mean')", "import einops"),
    "scatter": ("scatter_mean(out, y, dim=0)", "from torch_scatter import scatter_mean"),
    "pooled": ("global_mean_pool(out, y)", "from torch_geometric.nn import global_mean_pool"),
    "boxes": ("box_convert(out, 'xyxy', 'xywh')", "from torchvision.ops import box_convert"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_carries_history(name: str) -> None:
    text = trained(*GIVEN[name])
    assert reported(text) == marked(text)


NOT_GIVEN = {
    "of the batch": ("rearrange(x, 'b (h w) -> b h w', h=2).clone()", "from einops import rearrange"),
    "detached": ("rearrange(out.detach(), 'b (h w) -> b h w', h=2)", "from einops import rearrange"),
    "shapes": ("parse_shape(out, 'b w')", "from einops import parse_shape"),
    "indices": ("nms(out, y, 0.5)", "from torchvision.ops import nms"),
}


@pytest.mark.parametrize("name", NOT_GIVEN)
def test_what_carries_none(name: str) -> None:
    text = trained(*NOT_GIVEN[name]).replace("criterion(part, y)", "criterion(out, y)").replace("  # TLK402", "")
    assert reported(text) == []


def test_a_loss_of_another_file_that_is_made_of_them() -> None:
    """The terms of the loss are returned beside it, and summed up by the caller."""
    text = program("""
    from einops import rearrange

    class Parts:
        def __call__(self, out, y):
            rows = rearrange(out, 'b (h w) -> b h w', h=2)
            terms = {"box": (rows - y).abs().mean(), "class": (rows * y).mean()}
            return sum(terms.values()), terms

    class Trainer:
        def __init__(self, model, optimizer):
            self.model, self.optimizer, self.criterion = model, optimizer, Parts()

        def step(self, x, y):
            loss, terms = self.criterion(self.model(x), y)
            self.optimizer.zero_grad(); loss.backward(); self.optimizer.step()
            return terms

        def epoch(self, loader):
            total = collections.defaultdict(float)
            for x, y in loader:
                for name, value in self.step(x, y).items():
                    total[name] += value  # TLK401
            return total
    """)
    assert reported(text) == marked(text)


CLOSURE = """
def fit(model, x, y, steps):
    optimizer = torch.optim.LBFGS(model.parameters())
    kept = []
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return {given}
    for _ in range(steps):
        loss = optimizer.step({handed})
        kept.append(loss){mark}
"""


@pytest.mark.parametrize("handed", ["closure", "closure=closure"])
@pytest.mark.parametrize(("given", "mark"), [("loss", "  # TLK402"), ("loss.item()", "")])
def test_what_the_step_of_an_optimizer_gives(handed: str, given: str, mark: str) -> None:
    """It is what its closure gave: the loss, with what is left of its graph."""
    text = program(CLOSURE.format(given=given, handed=handed, mark=mark))
    assert reported(text) == marked(text)


JOINED = """
def train(model, loader, criterion, optimizer):
    kept = None
    for x, y in loader:
        STEP
        {first}
        if kept is None:
            kept = loss[None]
        else:
            kept = torch.cat([kept, loss[None]]){mark}
"""


@pytest.mark.parametrize(("first", "mark"), [("pass", "  # TLK402"), ("loss = loss.detach()", "")])
def test_a_part_of_what_was_differentiated_is_one_of_a_tensor(first: str, mark: str) -> None:
    text = program(JOINED.format(first=first, mark=mark))
    assert reported(text) == marked(text)


def test_a_default_of_another_library_says_little_of_what_is_given() -> None:
    text = program("""
    from graphs import Sage, combined

    class Both:
        def __init__(self, gnn=Sage):
            self.gnn = gnn

        def fit(self, loader, optimizer):
            self.gnn.train()
            kept = []
            for x, y in loader:
                out = self.gnn(x)[:3]
                kept.append(out)  # TLK402
                loss = combined(out, y)
                loss.backward()
                optimizer.step()
    """)
    assert reported(text) == marked(text)
