"""What readers of a second sample found wrong, or missing: each with what must still be told, most run on torch."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.finding import Finding, gathered
from flake8_torchleak.lint import lint
from flake8_torchleak.model import alike, firstparty, importers, tops
from flake8_torchleak.model.program import TooMuch
from tests.kept import findings, grows, program
from tests.test_project import put

LOSS = """
    class Loss(nn.Module):
        def __init__(self, rows, threshold=1.0, gamma=0.9):
            super().__init__()
            self.mean, self.threshold, self.gamma = torch.zeros(rows, 1), threshold, gamma

        def forward(self, out, y, at):
            loss = capped(out - y, self.threshold) ** 2
            self.mean[at] = (1 - self.gamma) * self.mean[at] + self.gamma * loss{cut}
            return (loss / self.mean[at].detach()).mean()

    def capped(x, most): return torch.clamp(x, -most, most)
"""
OTHERS = """
    class Other{n}:
        def __init__(self): self.n = {n}
        def __call__(self, out, y): return ((out - y) ** 2).mean()
"""
CHOSEN = """
    def train(model, loader, criterion, optimizer, threshold=1.0):
        kind = os.environ.get("KIND", {kind})
        if kind == "plain":
            chosen = nn.MSELoss()
        elif kind == "rows":
            chosen = Loss(3, threshold)
    {others}
        fit(model, loader, chosen, optimizer, kind)

    def fit(model, loader, chosen, optimizer, kind):
        for x, y in loader:
            out = model(x)
            if kind == "rows":
                loss = chosen(out, y, torch.arange(3))
            else:
                loss = chosen(out, y)
            optimizer.zero_grad(); loss.backward(retain_graph=True); optimizer.step()
"""


def chosen(kind: str, cut: str = "", others: int = 0) -> str:
    """A loss that remembers what it gave for each row, as one of several that a name chooses."""
    made = "\n".join(OTHERS.format(n=n) for n in range(others))
    ways = "\n".join(f"    elif kind == 'other {n}':\n        chosen = Other{n}()" for n in range(others))
    return program(
        "import os\n"
        + dedent(LOSS.format(cut=cut))
        + dedent(made)
        + dedent(CHOSEN.format(kind=kind, others="{0}")).format(ways)
    )


@pytest.mark.parametrize("others", [0, 7, 12])
def test_a_loss_that_is_chosen_by_a_name(others: int) -> None:
    told = findings(chosen("'plain'", others=others))
    assert [(each.code, "chosen(out, y, " in each.message) for each in told] == [("TLK403", True)]
    assert findings(chosen("'plain'", ".detach()", others)) == []


def test_alternatives_of_a_call_that_spreads_what_it_hands_over() -> None:
    text = chosen("'plain'", others=2).replace("chosen(out, y, torch.arange(3))", "chosen(*(out, y, torch.arange(3)))")
    assert {each.code for each in findings(text)} == {"TLK403"}


def test_a_loss_that_is_chosen_grows() -> None:
    text = chosen("'rows'")
    assert grows(text)
    assert not grows(chosen("'rows'", ".detach()"))


TWICE = """
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.zeros(3, 1), torch.zeros(3, 1)

        def forward(self, out, y):
            loss = (out - y) ** 2
            self.first[:1] = self.first[:1] * 0.9 + loss[:1]
            self.second[:2] = self.second[:2] * 0.9 + loss[:2]
            return loss.mean()

    def train(model, loader, criterion, optimizer):
        criterion = Loss()
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            loss = loss + criterion(out, y * 2)
            optimizer.zero_grad(); loss.backward(retain_graph=True); optimizer.step()
"""


def test_a_call_that_keeps_twice_is_told_once_and_all_calls_under_the_first() -> None:
    text = program(TWICE)
    lines = text.splitlines()
    found = findings(text)
    assert [lines[each.span.line - 1].strip() for each in found] == [
        "loss = criterion(out, y)",
        "loss = loss + criterion(out, y * 2)",
    ]
    (first,) = gathered(found)
    assert len(first.members) == 1
    stored = [lines[each.span.line - 1].strip() for each in first.notes if each.text == "stored here"]
    assert sorted(stored) == [
        "self.first[:1] = self.first[:1] * 0.9 + loss[:1]",
        "self.second[:2] = self.second[:2] * 0.9 + loss[:2]",
    ]


def test_a_call_that_keeps_twice_in_another_file(tmp_path: Path) -> None:
    head, _, tail = dedent(TWICE).partition("def train")
    put(
        tmp_path,
        losses=f"import torch\nfrom torch import nn\n{head}",
        main=program(f"from losses import Loss\ndef train{tail}"),
    )
    (tmp_path / "pyproject.toml").touch()
    (first,) = gathered(findings((tmp_path / "main.py").read_text(), str(tmp_path / "main.py")))
    texts = [each.text for each in first.notes]
    assert {"stored in losses.py, line 11", "and in losses.py, line 12"} <= {*texts}


KEPT: dict[str, tuple[str, bool]] = {
    "rows of a leaf that is made in the step": (
        """
        def train(model, loader, criterion, optimizer):
            kept = []
            for x, y in loader:
                x.requires_grad_(True)
                STEP
                kept.append(x[:2])
        """,
        True,
    ),
    "what an index picks of a leaf": (
        """
        def train(model, loader, criterion, optimizer):
            kept, leaf, pick = [], torch.zeros(4, 2, requires_grad=True), torch.tensor([0, 1])
            for x, y in loader:
                STEP
                kept.append(leaf[pick])
        """,
        True,
    ),
    "a dict that is made anew of a variable's value": (
        """
        def train(model, loader, criterion, optimizer):
            last = None
            for x, y in loader:
                if len(x) > 1:
                    STEP
                    last = loss
                write({"loss": last})

        def write(shown):
            if type(shown) is dict:
                shown = {name: value for name, value in shown.items() if value is not None}
            print(len(shown))
        """,
        False,
    ),
    "a list that is made anew of itself": (
        """
        def train(model, loader, criterion, optimizer):
            kept = []
            for x, y in loader:
                STEP
                kept = list(kept)
                kept = [*kept, loss]
        """,
        True,
    ),
    "parts of a leaf": (
        """
        def train(model, loader, criterion, optimizer):
            kept, leaf = [], torch.zeros(4, 2, requires_grad=True)
            for x, y in loader:
                STEP
                kept.append(leaf[:2])
        """,
        False,
    ),
    "parts of what is made of a leaf": (
        """
        def train(model, loader, criterion, optimizer):
            kept, leaf = [], torch.zeros(3, 2, requires_grad=True)
            for x, y in loader:
                STEP
                kept.append((leaf * model(x))[:2])
        """,
        True,
    ),
    "under the names of arguments": (
        """
        class Meter:
            def __init__(self): self.last = {}
            def update(self, count=1, **values):
                for name in values:
                    self.last[name] = values[name] / count

        def train(model, loader, criterion, optimizer):
            meter = Meter()
            for x, y in loader:
                STEP
                parts = {"loss": loss, "double": loss * 2}
                shown = {}
                for name, value in parts.items():
                    shown[name] = value
                meter.update(**shown)
        """,
        False,
    ),
    "added up under the names of arguments": (
        """
        class Meter:
            def __init__(self): self.sums = {"loss": 0, "double": 0}
            def update(self, count=1, **values):
                for name in values:
                    self.sums[name] = self.sums[name] + values[name] / count

        def train(model, loader, criterion, optimizer):
            meter = Meter()
            for x, y in loader:
                STEP
                meter.update(loss=loss, double=loss * 2)
        """,
        True,
    ),
    "what is spread is no argument with a default": (
        """
        class Meter:
            def __init__(self): self.counts = []
            def update(self, count=1, **values):
                self.counts.append(count)

        def train(model, loader, criterion, optimizer):
            meter = Meter()
            for x, y in loader:
                STEP
                shown = {}
                for name, value in {"loss": loss}.items():
                    shown[name] = value
                meter.update(**shown)
        """,
        False,
    ),
    "what is spread is an argument without one": (
        """
        class Meter:
            def __init__(self): self.losses = []
            def update(self, loss):
                self.losses.append(loss)

        def train(model, loader, criterion, optimizer):
            meter = Meter()
            for x, y in loader:
                STEP
                shown = {}
                for name, value in {"loss": loss}.items():
                    shown[name] = value
                meter.update(**shown)
        """,
        True,
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_and_what_only_looks_so(name: str) -> None:
    text, leaks = program(KEPT[name][0]), KEPT[name][1]
    assert bool(findings(text)) is leaks
    if name != "parts of a leaf":  # a node each, which saves nothing
        assert grows(text) is leaks


TERMS = """
    def robust(net, x, y, layers, loss_of):
        losses = {{}}
        for layer in layers:
            {attack}
            {made}
            losses[layer] = {kept}
        {end}
"""
ATTACK = "noise = torch.zeros_like(x, requires_grad=True); loss_of(net(x + noise), y).backward()"


@pytest.mark.parametrize(
    ("made", "kept", "end", "leaks"),
    [
        ("out = net(x + noise.grad)", "loss_of(out, y)", "return losses", False),
        ("out = net(x + noise.grad)", "loss_of(out, y)", "return x, losses", False),
        ("out = net(x + noise.grad)", "loss_of(out, y)", "net.losses = losses", True),
        ("out = net(x); loss = loss_of(out, y); loss.backward(); opt.step()", "net(y)", "return losses", True),
    ],
)
def test_terms_that_a_function_gathers_beside_an_attack_are_its_callers(
    made: str, kept: str, end: str, leaks: bool
) -> None:
    text = program(TERMS.format(attack=ATTACK, made=made, kept=kept, end=end)).replace("loss_of)", "loss_of, opt)", 1)
    assert bool(findings(text)) is leaks


UPDATE = """
    class Scheduler:
        def __init__(self, net, opt): self.net, self.opt = net, opt

        def update(self, workers, x):
            losses = {{}}
            for worker in workers:
                loss = worker.loss(self.net(x))
                losses[worker.name] = loss
                self.differentiate(loss)
            self.opt.step()
            {end}

        def differentiate(self, loss): loss.backward()
"""


@pytest.mark.parametrize(
    ("end", "told"), [("return losses, x", ["note"]), ("self.losses = losses", ["warning"]), ("return x", ["note"])]
)
def test_losses_of_one_update_that_are_given_back(end: str, told: list[str]) -> None:
    assert [each.severity.value for each in findings(program(UPDATE.format(end=end)))] == told


EVALUATED: dict[str, tuple[str, bool]] = {
    "a step that trains in one of its stages, through code that is not seen": (
        """
        class Detector(nn.Module):
            def __init__(self, backbone, head):
                super().__init__()
                self.backbone, self.head = backbone, head
            def forward(self, images):
                if self.training:
                    self.backbone.train()
                with torch.set_grad_enabled(True):
                    return self.head.scores(self.backbone(images))

        def main(backbone, head, loader, opt):
            net = Detector(nn.Linear(2, 2), head)
            for epoch in range(9):
                step("train", net, loader, opt)
                step("eval", net, loader, opt)

        def step(stage, net, loader, opt):
            for x, y in loader:
                scores = []
                for row in x:
                    scores.append(net([row])["scores"])
                loss = nn.functional.mse_loss(torch.stack(scores), y)
                if stage == "train":
                    loss.backward()
                    opt.step()
            net.eval()

        main(build(), build(), DataLoader(rows), optimizer)
        """,
        False,
    ),
    "a part of a step, of a network that explains another one": (
        """
        def main(classifier, net, loader, opt):
            classifier.eval()
            for x, y in loader:
                opt.zero_grad()
                parts = []
                for row in range(9):
                    part, _ = explained(net, classifier, x[row])
                    parts += [part]
                loss = torch.stack(parts).mean()
                loss.backward()
                opt.step()

        def explained(net, classifier, x):
            return -classifier(net(x)).sum(), None
        """,
        False,
    ),
    "an evaluation now and then": (
        """
        def main(net, loader, others, opt):
            for i, (x, y) in enumerate(loader):
                opt.zero_grad()
                loss = nn.functional.mse_loss(net(x), y)
                loss.backward()
                opt.step()
                if i % 100 == 0:
                    net.eval()
                    for row in others:
                        print(net(row).argmax().item())
                    net.train()
        """,
        True,
    ),
    "a loss of what was made without gradients": (
        """
        def validate(net, val_loader, dice_loss: nn.Module):
            net.eval()
            for x, y in val_loader:
                with torch.no_grad():
                    out = net(x)
                print(dice_loss(out, y).item())
        """,
        False,
    ),
    "a loss of what was made with them": (
        """
        def validate(net, val_loader, dice_loss: nn.Module):
            net.eval()
            for x, y in val_loader:
                out = net(x)
                print(dice_loss(out, y).item())
        """,
        True,
    ),
    "a head on what was made without gradients": (
        """
        def validate(net, head: nn.Module, val_loader):
            net.eval(); head.eval()
            for x, y in val_loader:
                with torch.no_grad():
                    out = net(x)
                print(head(out).argmax().item())
        """,
        True,
    ),
    "a method in sight that runs layers on what was made without gradients": (
        """
        class Coder(nn.Module):
            def __init__(self):
                super().__init__()
                self.coder, self.decoder = nn.Linear(2, 2), nn.Linear(2, 2)
            def forward(self, x):
                return self.coder(x)
            def decode(self, code):
                return self.decoder(code)

        def validate(val_loader):
            net = Coder()
            net.eval()
            for x, y in val_loader:
                with torch.no_grad():
                    code = net(x)
                print(net.decode(code).argmax().item())
        """,
        True,
    ),
    "a loss of what no network made without gradients": (
        """
        def validate(net, val_loader):
            net.eval()
            for x, y in val_loader:
                with torch.no_grad():
                    x = x.to("cpu") / 255
                print(net.compute_loss(x, y).item())
        """,
        True,
    ),
    "a method of the network that gave it without gradients": (
        """
        def validate(net, val_loader):
            net.eval()
            for x, y in val_loader:
                with torch.no_grad():
                    out = net(x)
                mean, spread = out["mean"], out["spread"]
                print(net.forward_elbo(x, mean, spread).item())
        """,
        False,
    ),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_what_evaluates_and_what_only_looks_so(name: str) -> None:
    text, leaks = EVALUATED[name]
    told = [each for each in lint(program(text)) if each.code == "TLK501" and each.severity.value != "note"]
    assert bool([each for each in told if "does not train" not in each.message]) is leaks


TRAINS = """
    def main(net, train_loader, test_loader, opt, args):
        {before}
        for epoch in range(9):
            for x, y in train_loader:
                opt.zero_grad()
                loss = nn.functional.mse_loss(net(x), y)
                loss.backward()
                opt.step()
            net.eval()
            for x, y in test_loader:
                {inside}
            net.train()
"""


@pytest.mark.parametrize(
    ("before", "inside", "told"),
    [
        ("pass", "print(net(x).argmax().item())", ["warning"]),
        ("net.words.weight.requires_grad = args.learn", "print(net(x).argmax().item())", ["warning"]),  # a part
        ("net.requires_grad = args.learn", "print(net(x).argmax().item())", ["note"]),  # perhaps frozen
        ("pass", "x.requires_grad = True; print(torch.autograd.grad(net(x).sum(), x))", []),
    ],
)
def test_what_a_function_that_trains_sets_is_of_its_training(before: str, inside: str, told: list[str]) -> None:
    found = lint(program(TRAINS.format(before=before, inside=inside)))
    assert [each.severity.value for each in found if each.code == "TLK501"] == told


RETAINED: dict[str, tuple[str, bool]] = {
    "heads on one network": (
        """
        parts = [head(model(x)) for head in (torch.sin, torch.cos)]
        feature = model(x)
        heads = [head(feature) for head in (torch.sin, torch.cos)]
        for out, other in zip(heads, parts):
            loss = criterion(out, y)
            loss.backward(retain_graph=True)
        optimizer.step()
        """,
        False,
    ),
    "losses of one network, in a list": (
        """
        out, losses = model(x), []
        losses.append(criterion(out, y))
        losses.append(criterion(out, -y))
        for loss in losses:
            loss.backward(retain_graph=True)
        optimizer.step()
        """,
        False,
    ),
    "what is stacked and differentiated again": (
        """
        loss, many = criterion(model(x), y), []
        many.append(loss)
        loss.backward(retain_graph=True)
        whole = torch.stack(many).sum()
        whole.backward()
        optimizer.step()
        """,
        False,
    ),
    "a list that is filled from itself": (
        """
        states = [torch.zeros(1)]
        states.append(states[-1].detach())
        loss = criterion(model(x) + torch.stack(states).sum(), y)
        loss.backward(retain_graph=True)
        optimizer.step()
        """,
        True,
    ),
    "what is put under a key and differentiated again": (
        """
        loss, parts = criterion(model(x), y), {}
        parts["loss"] = loss
        loss.backward(retain_graph=True)
        (parts["loss"] * 2).backward()
        optimizer.step()
        """,
        False,
    ),
    "one loss": (
        """
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        optimizer.step()
        """,
        True,
    ),
    "a list of numbers beside it": (
        """
        shown = []
        for a, b in zip([x, -x], [y, -y]):
            loss = criterion(model(a), b)
            loss.backward(retain_graph=True)
            optimizer.step()
            shown.append(loss.item())
        """,
        True,
    ),
}


@pytest.mark.parametrize("name", RETAINED)
def test_a_graph_that_is_gone_through_again(name: str) -> None:
    body, told = RETAINED[name]
    lines = "\n".join(f"        {line}" for line in dedent(body).strip().splitlines())
    text = program(f"def train(model, loader, criterion, optimizer):\n    for x, y in loader:\n{lines}")
    assert ("TLK407" in [each.code for each in lint(text)]) is told
    without = text.replace("retain_graph=True", "")
    if told:
        grows(without)
    else:
        with pytest.raises(RuntimeError, match="second time"):
            grows(without)


SAMPLES = """
    import math
    from torch.utils.data import Dataset

    class Times(Dataset):
        def __init__(self, path):
            self.times = np.loadtxt(path)

        def __getitem__(self, i):
            return self.at(self.times[i])

        def at(self, end):
            end -= 5
            return {use}
"""


@pytest.mark.parametrize(
    ("use", "leaks"),
    [
        ("math.floor(end / 1000)", False),
        ("list(range(int(end)))", False),
        ("self.rows[: -end]", False),
        ("math.prod([1, 2]) * end", True),
        ("end / 1000", True),
    ],
)
def test_one_number_of_an_array_is_no_part_of_it(use: str, leaks: bool) -> None:
    assert ("TLK203" in [each.code for each in lint(program(SAMPLES.format(use=use)))]) is leaks


def test_a_number_of_a_tensor_is_a_part_of_it() -> None:
    text = program(SAMPLES.format(use="math.floor(end / 1000)"))
    assert "TLK203" in [each.code for each in lint(text.replace("np.loadtxt(path)", "torch.tensor(path)"))]


def test_another_value_of_that_name_that_is_one_number() -> None:
    text = SAMPLES.format(use="end / 1000").replace("return end", "end = end.copy()\n            return end")
    again = text.replace(
        "            return end",
        "            for end in range(3):\n                end = int(end)\n            return end",
    )
    assert "TLK203" in [each.code for each in lint(program(again))]


BATCHES = """
    def labels(data, model):
        loader = DataLoader(data, {size}num_workers=4)
        {kept}
"""


@pytest.mark.parametrize(
    ("size", "leaks"),
    [
        ("batch_size=len(data), ", False),
        ("batch_size=len(GPUS), ", True),
        ("8, ", True),
        ("len(data), ", False),
        ("", True),
    ],
)
@pytest.mark.parametrize("kept", ["return [batch for batch in loader]", "return list(loader)"])
def test_a_loader_of_one_batch(size: str, kept: str, leaks: bool) -> None:
    codes = [each.code for each in lint(program(BATCHES.format(size=size, kept=kept)))]
    assert bool({"TLK404", "TLK405"} & {*codes}) is leaks


def test_a_loop_over_one_batch_keeps_little() -> None:
    text = """
        def train(data, model, criterion, optimizer):
            kept = []
            for x, y in DataLoader(data, {}):
                STEP
                kept.append(loss)
    """
    assert findings(program(text.format("batch_size=8"))) != []
    assert findings(program(text.format("batch_size=len(data)"))) == []
    assert findings(program(text.format("len(data)"))) == []


def test_a_sum_that_starts_as_a_dict_is_not_told_to_detach_the_dict() -> None:
    text = program("""
        def train(model, loader, criterion, optimizer):
            for i, (x, y) in enumerate(loader):
                out = model(x)
                loss = {"whole": criterion(out, y), "size": out.mean()}
                loss["whole"].backward()
                optimizer.step()
                if i == 0:
                    sums = loss
                else:
                    for key in sums.keys():
                        sums[key] += loss[key]
            print(sums)
    """)
    messages = [each.message for each in findings(text) if each.code == "TLK401"]
    assert messages
    assert not any("loss.detach()" in each for each in messages)


PAPERS = ["README.md", "LICENSE", "requirements.txt"]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_of_a_project_mark_it(paper: str, tmp_path: Path) -> None:
    (tmp_path / "code" / "data").mkdir(parents=True)
    inside = str(tmp_path / "code" / "data" / "rows.py")
    assert not firstparty.Finder(inside).is_marked
    (tmp_path / paper).touch()
    firstparty.forget()
    importers.forget()
    finder = firstparty.Finder(inside)
    assert (finder.top, finder.is_marked) == (str(tmp_path), True)
    (tmp_path / "code" / "README.rst").touch()
    firstparty.forget()
    assert firstparty.Finder(inside).top == str(tmp_path / "code" if paper == "README.md" else tmp_path)
    (tmp_path / ".git").mkdir()
    firstparty.forget()
    assert firstparty.Finder(inside).top == str(tmp_path)


def test_a_package_with_papers_of_its_own_is_a_part_of_its_project(tmp_path: Path) -> None:
    put(tmp_path, package__init__="", package__third__init__="", package__third__train="x = 1")
    (tmp_path / "package" / "third" / "LICENSE").touch()
    (tmp_path / "README.md").touch()
    firstparty.forget()
    assert firstparty.Finder(str(tmp_path / "package" / "third" / "train.py")).top == str(tmp_path)


def test_the_papers_at_home_mark_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tops, "_HOME", str(tmp_path))
    (tmp_path / "README.md").touch()
    firstparty.forget()
    assert not firstparty.Finder(str(tmp_path / "rows.py")).is_marked


def test_a_call_that_keeps_more_than_the_first_stands_for_itself() -> None:
    text = program(TWICE).replace("def forward(self, out, y):", "def forward(self, out, y, more=None):")
    text = text.replace("self.second[:2] = ", "if more is not None: self.second[:2] = ")
    text = text.replace("criterion(out, y * 2)", "criterion(out, y * 2, 1)")
    assert len(gathered(findings(text))) == 2


def linted(folder: Path, **files: str) -> list[Finding]:
    """What is found in `main` of a project of these files."""
    put(folder, **files)
    (folder / "pyproject.toml").touch()
    importers.forget()
    firstparty.forget()
    return lint((folder / "main.py").read_text(), path=str(folder / "main.py"))


GUARDED = """
    from torch import nn

    class {name}(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

        def decode(self, x):
            {guard}
                return self.layer(x)
"""
DECODES = """
    import torch

    def evaluate(model, test_loader):
        model.eval()
        for x, y in test_loader:
            print(model.decode(x).argmax().item())
"""


@pytest.mark.parametrize(("guard", "severities"), [("with torch.no_grad():", {"note"}), ("if True:", {"warning"})])
def test_a_method_that_some_class_of_the_project_runs_without_gradients(
    guard: str, severities: set[str], tmp_path: Path
) -> None:
    nets = "import torch\n" + dedent(GUARDED.format(name="Net", guard=guard))
    use = "from main import evaluate\nfrom nets import Net\nevaluate(Net(), loader)\n"
    found = linted(tmp_path, nets=nets, main=DECODES, run=use)
    assert {each.severity.value for each in found if each.code == "TLK501"} == severities


TAUGHT = """
    import torch
    from students import prepared

    def evaluate(test_loader, {name}):
        {name}.eval()
        kept = []
        for x, y in test_loader:
            kept.append({name}(x))
        print(len(kept))
"""


@pytest.mark.parametrize(("name", "severity"), [("teacher", "note"), ("student_net", "error")])
def test_teachers_where_what_a_file_imports_freezes(name: str, severity: str, tmp_path: Path) -> None:
    students = (
        "def prepared(net):\n    for each in net.parameters():\n        each.requires_grad = False\n    return net\n"
    )
    run = f"from main import evaluate\nevaluate(loader, {name})\n"
    found = linted(tmp_path, students=students, main=TAUGHT.format(name=name), run=run)
    assert [each.severity.value for each in gathered(found)] == [severity]


TURNS = """
    def run(net, loader, measure, opt, phase):
        for x, y in loader:
            with torch.set_grad_enabled(phase == "train"):
                out = net(x)
            loss = {loss}
            if phase == "train":
                loss.backward()
                opt.step()
            print(loss.item())
        net.eval() if phase == "test" else net.train()
"""


@pytest.mark.parametrize(
    ("loss", "told"), [("measure.compute_loss(out, y)", False), ("nn.functional.mse_loss(net(x), y)", True)]
)
def test_a_loss_of_what_a_flag_decides(loss: str, told: bool) -> None:
    text = program(
        dedent(TURNS.format(loss=loss)) + '\n\nrun(net, loader, m, opt, "train")\nrun(net, loader, m, opt, "val")\n'
    )
    assert ("TLK501" in [each.code for each in lint(text)]) is told


KEYED = """
    from torch.utils.data import Dataset
    import json

    class Games(Dataset):
        def __init__(self, path):
            with open(path) as file:
                self.games = json.load(file)

        def __len__(self):
            return len(self.games)

        def __getitem__(self, idx):
            {key}
            return self.games[idx]["image"]

    loader = DataLoader(Games("games.json"), num_workers=4)
"""


@pytest.mark.parametrize(
    ("key", "packed"), [("idx = str(idx)", "PackedDict"), ("idx = f'{idx}'", "PackedDict"), ("pass", "PackedRecords")]
)
def test_a_dict_by_keys_that_are_made_texts(key: str, packed: str) -> None:
    (message,) = [each.message for each in lint(program(KEYED.format(key=key))) if each.code == "TLK101"]
    assert f"store `{packed}(...)`" in message


def test_a_project_that_is_too_large_says_nothing_of_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> None:
        raise TooMuch

    monkeypatch.setattr(alike, "Program", too_large)
    found = linted(tmp_path, main=DECODES, run="from main import evaluate\nevaluate(net, loader)\n")
    assert [each.severity.value for each in found if each.code == "TLK501"] == ["warning"]


EXPLAINED = """
    import torch
    from effects import joint

    def main(classifier, net, loader, opt):
        classifier.eval()
        for x, y in loader:
            opt.zero_grad()
            parts = []
            for row in {rows}:
                part, _ = joint(net, classifier, x[row])
                parts += [part]
            loss = torch.stack(parts).mean()
            loss.backward()
            opt.step()
"""
EFFECTS = """
    def joint(decoder: nn.Module, classifier: nn.Module, x):
        return -classifier(decoder(x)).sum(), None
"""


@pytest.mark.parametrize("rows", ["range(len(x))", "sample(range(0, len(x)), 9)"])
def test_a_part_of_a_step_in_another_file(rows: str, tmp_path: Path) -> None:
    loss = "torch.stack(parts).mean()"
    found = linted(
        tmp_path, effects="from torch import nn\n" + dedent(EFFECTS), main=EXPLAINED.format(rows=rows, loss=loss)
    )
    assert [each.code for each in found if each.code == "TLK501"] == []


def test_a_meter_that_stores_what_it_gets_twice_is_told_once() -> None:
    text = """
        class Meter:
            def __init__(self): self.first, self.second = [], []
            def update(self, loss):
                self.first.append(loss)
                self.second.append(loss)

        def train(model, loader, criterion, optimizer):
            meter = Meter()
            for x, y in loader:
                STEP
                meter.update(loss)
    """
    assert [each.code for each in findings(program(text))] == ["TLK403"]
