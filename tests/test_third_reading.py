"""What readers of a third sample, and a newcomer, found wrong or missing: each with what must still be told."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.finding import Finding, FixLevel, Severity
from flake8_torchleak.lifetime.passing import cut_parts
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty, gradless, importers
from flake8_torchleak.recorder.join import _BEGINNINGS
from flake8_torchleak.source import parse
from tests.kept import findings, grows, program
from tests.test_project import put


def told(text: str, code: str, path: str | None = None) -> list[str]:
    """The severities of what is found of one rule."""
    return [each.severity.value for each in lint(program(text), path=path) if each.code == code]


# -- evaluations beside training ----------------------------------------------------------------------------

FIT = """
    def fit(model, train_loader, valid_loader, criterion, opt, helper):
        {before}
        for epoch in range(9):
            for x, y in train_loader:
                opt.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                opt.step()
            model.eval()
            shown, measure = [], nn.MSELoss()
            for x, y in valid_loader:
                {inside}
            model.train()
            print(shown)
"""
INSIDE = "opt.zero_grad(); out = model(x); {}"


@pytest.mark.parametrize(
    ("before", "inside", "severities"),
    [
        ("pass", INSIDE.format("print(measure(out, y).item())"), ["warning"]),
        ("pass", INSIDE.format("print(criterion(out, y).item())"), []),  # nobody sees what that does
        ("pass", INSIDE.format("shown.append(out.argmax(1))"), ["warning"]),
        ("pass", INSIDE.format("helper(criterion(out, y))"), []),  # it may differentiate that
        ("pass", INSIDE.format("criterion(out, y).backward()"), []),
        ("pass", "model.zero_grad(); x.requires_grad_(); print(criterion(model(x), y).item())", []),
        ("x = torch.zeros(3, requires_grad=True); x.requires_grad_(True)", "print(model(x).item())", ["warning"]),
        ("for p in model.parameters(): p.requires_grad_(True)", "print(model(x).item())", ["warning"]),
        ("for p in model.parameters(): p.requires_grad_(False)", "print(model(x).item())", []),
        ("x = helper.attack(model)", "print(model(x).item())", ["warning"]),
        ("pass", "print([model(each).item() for each in x])", ["warning"]),
    ],
)
def test_what_a_loop_beside_training_asks_for(before: str, inside: str, severities: list[str]) -> None:
    """Who copied `zero_grad()` into an evaluation differentiates nothing; what learns is chosen before training."""
    assert told(FIT.format(before=before, inside=inside), "TLK501") == severities


ITSELF = """
    class Base:
        def __init__(self, model, opt, loader):
            self.model, self.opt, self.loader = model, opt, loader

        def fit(self, model, opt, shown):
            {before}
            self.model.eval(); model.eval()
            for x, y in self.loader:
                opt.zero_grad()
                {inside}

        def update(self):
            raise NotImplementedError
"""


@pytest.mark.parametrize(
    ("before", "inside", "is_told"),
    [
        ("pass", "print(model(x).item())", True),
        ("rows = []", "rows.append(model(x)); rows = rows[:3]", True),
        ("pass", "self.loss = model(x).mean(); print(self.loss.item())", False),
        ("pass", "print(model(x).item()); self.update()", False),
        ("pass", "print(model(x).item()); self('after_loss')", False),
        ("pass", "print(model(x).item()); model.update()", False),
        ("pass", "print(model(x).item()); model.train(False)", True),
        ("pass", "print(model(x).item()); opt.step()", False),
        ("pass", "yield model(x).mean()", False),
        ("pass", "shown.put(model(x).mean())", False),
    ],
)
def test_a_loop_that_sets_gradients_back_and_what_may_train_there(before: str, inside: str, is_told: bool) -> None:
    assert bool(told(ITSELF.format(before=before, inside=inside), "TLK501")) is is_told


PHASES = """
    def fit(model, loaders, criterion, opt):
        for p in model.features.parameters():
            p.requires_grad = {learns}
        for epoch in range(9):
            for phase in ["train", "val"]:
                model.train(phase == "train")
                for x, y in loaders[phase]:
                    loss = criterion(model(x), y)
                    if phase == "train":
                        opt.zero_grad(); loss.backward(); opt.step()
                    print(loss.item())
"""


@pytest.mark.parametrize(("learns", "severities"), [("False", ["warning"]), ("True", [])])
def test_a_loop_of_both_phases_and_what_learns(learns: str, severities: list[str]) -> None:
    """Frozen layers are a part of training; what is asked for in so many words may be asked for by both."""
    assert told(PHASES.format(learns=learns), "TLK501") == severities


BOUND = """
    def evaluate(net, loader, content_loss: nn.Module, others):
        net.eval()
        for x, y in loader:
            with {mode}:
                seen, extra = others(x)
            {again}
            print(content_loss(seen, y).item())
"""


@pytest.mark.parametrize(
    ("mode", "again", "is_told"),
    [
        ("torch.no_grad()", "pass", False),
        ("torch.no_grad()", "seen = net(x) if x.any() else seen", True),
        ("torch.no_grad()", "content_loss.eval()", True),  # a network: losses have no mode
        ("torch.no_grad()", "seen = net.encode(x).detach()", True),
    ],
)
def test_a_loss_of_what_was_bound_without_gradients(mode: str, again: str, is_told: bool) -> None:
    assert bool(told(BOUND.format(mode=mode, again=again), "TLK501")) is is_told


# -- how much is kept ---------------------------------------------------------------------------------------

ADDED = """
    def fit(net, opt, loader):
        total = 0.0
        for x, y in loader:
            {x}
            loss = (net(x) - y).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            total += loss
        return total
"""


@pytest.mark.parametrize("x", ["x.requires_grad_()", "x = x.detach_()", "x = x.clone()"])
def test_what_requires_grad_is_still_another_batch(x: str) -> None:
    assert [each.severity for each in findings(program(ADDED.format(x=x)))] == [Severity.WARNING]


MOVED = """
    def gather(loader: DataLoader):
        kept = []
        for x, y in DataLoader([], num_workers=2):
            x.requires_grad_()
            kept.append(x{cut})
        return kept
"""


@pytest.mark.parametrize(("cut", "codes"), [("", ["TLK404"]), (".detach().clone()", [])])
def test_what_requires_grad_is_still_memory_of_its_batch(cut: str, codes: list[str]) -> None:
    assert [each.code for each in findings(program(MOVED.format(cut=cut)))] == codes


SAME_DATA = """
    net = nn.Linear(1, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    x = torch.rand(4, 1)

    def fit(net: nn.Module, opt, x):
        total = 0.0
        for i in range({count}):
            loss = net(x).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            total += loss
        print(total.item())

    {run}
"""


@pytest.mark.parametrize(
    ("count", "run", "severity"),
    [
        ("50", "fit(net, opt, x)", Severity.WARNING),
        ("50", "for task in range(99): fit(net, opt, x)", Severity.NOTE),
        ("50", "pass", Severity.NOTE),
        ("999", "pass", Severity.NOTE),
        ("1000", "pass", Severity.WARNING),
        ("0, 5000, 1000", "pass", Severity.NOTE),
    ],
)
def test_a_loop_over_the_same_data_is_a_training_where_the_program_runs_it_once(
    count: str, run: str, severity: Severity
) -> None:
    """Else it may be a part of one step, an adaptation, unless it is long."""
    assert [each.severity for each in findings(program(SAME_DATA.format(count=count, run=run)))] == [severity]


BESIDE = """
    def fit(net, opt, loader):
        history = []
        for epoch in range(9):
            logs, total, other = [], 0, 0
            for x, y in loader:
                part = (net(x) - y).pow(2).mean()
                total += part * 2
                {kept}
            opt.zero_grad(); total.backward(); opt.step()
            print(logs, other)
        return history
"""


@pytest.mark.parametrize(
    ("kept", "severities"),
    [
        ("logs.append(part)", [Severity.NOTE]),
        ("other += part", [Severity.NOTE]),
        ("history.append(part)", [Severity.WARNING]),  # it outlives the update
        ("logs.append(part); history.append(logs)", [Severity.WARNING, Severity.WARNING]),
        ("logs.append(net(y).mean())", [Severity.ERROR]),  # a graph of its own
    ],
)
def test_what_is_gathered_beside_what_is_differentiated_behind_the_loop(kept: str, severities: list[Severity]) -> None:
    assert [each.severity for each in findings(program(BESIDE.format(kept=kept)))] == severities


ROWS = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.out = nn.Embedding(9, 4), nn.Linear(4, 9)

        def search(self, source, beams):
            seq = torch.full((3, 1), 1)
            {around}
                found = []
                for row in {rows}:
                    found.append(self.out(self.emb(row)))
                seq = self.choose(torch.stack(found))
            return seq

        def predict(self, source):
            self.eval()
            return self.search(source, 3)
"""


@pytest.mark.parametrize(
    ("around", "rows", "severities"),
    [
        ("for step in range(99):", "seq.transpose(0, 1)", ["note"]),
        ("for step in range(99):", "source", ["error"]),  # whatever that is
        ("if source:", "seq.transpose(0, 1)", ["error"]),
    ],
)
def test_rows_of_a_tensor_in_a_round(around: str, rows: str, severities: list[str]) -> None:
    assert told(ROWS.format(around=around, rows=rows), "TLK402") == severities


# -- parts of outputs ---------------------------------------------------------------------------------------

PASS = """
    def forward(self, x, given=None):
        {body}
        return {result}
"""


@pytest.mark.parametrize(
    ("body", "result", "cut"),
    [
        ("y = self.a(x)", "y, y.detach(), y.detach().mean(dim=1), y.item(), y.data, None", {1, 2, 3, 4, 5}),
        ("y = self.a(x)", "y, [y.detach(), y.item()], [v.detach() for v in y], (y,)", {1, 2}),
        ("y = self.a(x)", "{'loss': y, 'shown': y.detach(), **given}", {"shown"}),
        ("y = self.a(x); z = y.detach()", "y, z", {1}),
        ("y = self.a(x); z = y.detach(); z = y", "y, z", set()),
        ("y = self.a(x); z = y.detach(); z += y", "y, z", set()),
        ("y = self.a(x); z = []; z.append(y.detach())", "y, z", {1}),
        ("y = self.a(x); z = []; z.append(y)", "y, z", set()),
        ("y = self.encode(x); z = self.decode(y)", "self.encode(x), y, z", set()),
        ("z = []; y = self.a(x, z)", "y, z", set()),
        ("y = self.a(x); z = [[]]; z[0].append(y)", "y, z", set()),
        ("z = []; put = z.append; put(self.a(x))", "x, z", set()),
        ("z = self.acts = []; y = self.a(x)", "y, z", set()),
        ("z = []; y = self.a(x + z[0])", "y, z", {1}),
        ("z = x.detach(); z[:, 0] += x", "x, z", set()),
        ("z = x.detach(); z[:, 0] = x", "x, z", set()),
        ("z = x.detach(); z[:, 0] = x.detach()", "x, z", {1}),
        ("z = x.detach(); z.add_(x)", "x, z", set()),
        ("z = x.detach(); z.grad.add_(x)", "x, z", set()),
        ("z = x.detach(); z(x)", "x, z", set()),
        ("z = x.detach(); z.kept = x", "x, z", set()),
        ("z = x.detach(); print(z.mean())", "x, z", {1}),
        ("z = x.detach(); w = (w := z)", "x, z", set()),
        ("z = []\n        for each in z: each.add_(x)", "x, z", set()),
        ("y = self.a(x)", "y, y.detach().requires_grad_()", set()),
        ("y = self.a(x); z = {}; z['a'] = y.detach(); z['b'] = y", "y, z", set()),
        ("y = self.a(x); given = given.detach() if 0 else 1", "y, given", set()),
        ("for z in x: pass", "x, z", set()),
        ("y = self.a(x)", "y, y.detach().to(x), y.type(x), y.view(3), given", {1}),
        ("y = self.a(x)", "y, y.argmax(1), torch.multinomial(y, 1), y.long(), self.argmax(x)", {1, 2, 3}),
        ("y = self.a(x)", "y.max(1)[1], y.max(1)[0], y.topk(3)[x], y[1], f(y)[1]", {0}),
        (
            "y = self.a(x)",
            "torch.max(y, 1)[1], torch.max(y, x)[1], y.min(-1)[1], y.max()[1], y.min(dim=x)[1]",
            {0, 2, 4},
        ),
        ("y = self.a(x)", "y.sort()[1], self.sort(y)[1], self.a.topk(y, 2)[1], torch.topk(y, x)[1]", {0, 3}),
        ("y = self.a(x)", "torch.stack([y.argmax(1)]), self.stack(y.argmax(1)), ops.cat(y.argmax(1))", {0}),
        (
            "y = self.a(x)",
            "y.out.argmax(1), self.soft.argmax(y), ops.argmax(y), (x + y).argmax(1), given[0].argmax()",
            {0, 3, 4},
        ),
        ("y = self.soft; z = Soft(); w = self.a[0]", "y.argmax(x), z.argmax(x), w.argmax(x)", set()),
        ("for y in self.parts: pass", "y.argmax(x), [x].argmax(1)", set()),
        ("y, z = self.parts; v, w = x.split(2)", "y.argmax(x), v.argmax(1)", {1}),
        ("y = x.clone()\n        y += x", "y.argmax(1), x", {0}),
        ("y, z = self.a(x).max(1); a, b = self.b(x)", "y, z, a, b", {1}),
        ("a, (b, c) = self.a(x).max(1); d, e, f = x.max(1)", "a, b, c, d, e, f", set()),
        ("a = b, c = x.max(1)", "b, c", set()),
        ("z = []\n        for i in range(3): z.append(x.argmax(1))", "torch.stack(z, 1), torch.cat(x), cat()", {0}),
        ("z = x.argmax(1)", "z.view(x.shape).unsqueeze(-1).float(), x.view(z)", {0}),
        ("y = self.a(x)\n        if x: return y", "y, y.detach()", set()),
        ("a = x.detach(); b = a; c = b; d = c; e = d; f = e", "a, d, e, f", set()),
        ("y = x", "y.detach()", set()),
        ("pass", "x, self.data, self.detach(), self.kept.data", {3}),
        ("y = x", "*x, y.detach()", set()),
        ("pass", "", set()),
    ],
)
def test_parts_that_a_forward_pass_detaches(body: str, result: str, cut: set[object]) -> None:
    text = dedent(PASS.format(body=body, result=result))
    (function,) = parse(text).body
    assert cut_parts(function) == cut  # type: ignore[arg-type]


DECODER = """
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x, cache):
            kept = []
            for each in cache:
                kept.append(torch.cat([each, x]){cut})
            return self.layer(x + kept[0]), kept

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self._cache = Inner(), [torch.zeros(1, 2)]

        def forward(self, x):
            out = self.inner(x, self._cache)
            self._cache = out[1]
            return out[0]
"""


@pytest.mark.parametrize(("cut", "codes"), [("", ["TLK601"]), (".detach()", [])])
def test_a_cache_that_the_inner_network_cuts(cut: str, codes: list[str]) -> None:
    assert [each.code for each in lint(program(DECODER.format(cut=cut)))] == codes


# -- who calls it -------------------------------------------------------------------------------------------

CALLED = """
    class Trainer:
        def __init__(self, net, opt, loader):
            self.net, self.opt, self.loader, self.kept = net, opt, loader, []

        def accuracy(self):
            for x, y in self.loader:
                self.kept.append(self.net(x))

    def run(trainer, loader):
        for epoch in range(3):
            for x, y in loader:
                loss = (trainer.net(x) - y).pow(2).mean()
                trainer.opt.zero_grad(); loss.backward(); trainer.opt.step()
            with {mode}:
                trainer.accuracy()
        {more}
"""


@pytest.mark.parametrize(
    ("mode", "more", "is_told"),
    [
        ("torch.no_grad()", "pass", False),
        ("torch.enable_grad()", "pass", True),
        ("torch.no_grad()", "trainer.net.eval(); trainer.accuracy()", True),
        ("torch.no_grad()", "loader.callbacks.append(trainer.accuracy)", True),
    ],
)
def test_what_all_callers_run_without_gradients(mode: str, more: str, is_told: bool) -> None:
    found = lint(program(CALLED.format(mode=mode, more=more)))
    assert bool([each for each in found if each.code in ("TLK402", "TLK501")]) is is_told


# -- hooks, autograd functions, loaders, handles --------------------------------------------------------------

HOOKED = """
    def save(store, name="x"):
        def hook(module, given, output):
            {put}
        return hook

    def train(net, loader, opt, others):
        acts = {begin}
        net.register_forward_hook(save({handed}))
        for x in loader:
            loss = net(x).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            {each}
        {end}
"""


@pytest.mark.parametrize(
    ("put_", "begin", "handed", "each", "end", "leaks"),
    [
        ("store.append(output)", "[]", "acts", "pass", "pass", True),
        ("store.setdefault(name, []).append(output)", "{}", "acts", "pass", "pass", True),
        ("store.append(output)", "[]", "acts", "print(len(acts))", "pass", True),
        ("store.append(output)", "[]", "acts", "acts.clear()", "pass", False),
        ("store.append(output)", "[]", "acts", "pass", "return acts", True),
        ("store.append(output.detach())", "[]", "acts", "pass", "return acts", False),  # that is what they are for
        ("store.append(output)", "[]", "acts", "pass", "with torch.no_grad(): return acts", False),
        ("store.append(output)", "[]", "[]", "pass", "pass", True),
        ("store.append(output)", "{'a': []}", "acts['a']", "print(acts['a'][-1].mean())", "pass", True),
        ("store.append(output)", "[]", "others()", "pass", "pass", False),
        ("store.append(output)", "[]", "others.acts", "pass", "pass", True),
    ],
)
def test_a_hook_that_a_factory_makes(put_: str, begin: str, handed: str, each: str, end: str, leaks: bool) -> None:
    text = program(HOOKED.format(put=put_, begin=begin, handed=handed, each=each, end=end))
    assert bool([found for found in lint(text) if found.code == "TLK604"]) is leaks


def test_a_hook_whose_factory_nobody_calls_here() -> None:
    text = HOOKED.format(put="store.append(output)", begin="[]", handed="acts", each="pass", end="pass")
    assert told(text.replace("save(acts)", "others(save)"), "TLK604") == []


CONTEXT = """
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            kept = {made}
            {early}
            return x ** 3, kept

        @staticmethod
        def setup_context(ctx, inputs, output):
            {unpack}
            ctx.kept = kept

        @staticmethod
        def backward(ctx, grad, _):
            return grad * torch.as_tensor(ctx.kept)
"""


@pytest.mark.parametrize(
    ("made", "early", "unpack", "is_told"),
    [
        ("3 * x ** 2", "pass", "_, kept = output", True),
        ("x.detach().cpu().numpy()", "pass", "_, kept = output", False),
        ("x.tolist()", "pass", "_, kept = output", False),
        ("x.detach().cpu().numpy()", "if x is None: return x, x", "_, kept = output", True),
        ("x.detach().cpu().numpy()", "if x is None: return x", "_, kept = output", True),
        ("x.detach().cpu().numpy()", "pass", "kept = output", True),
    ],
)
def test_an_output_that_is_no_tensor_is_no_circle(made: str, early: str, unpack: str, is_told: bool) -> None:
    text = CONTEXT.format(made=made, early=early, unpack=unpack)
    assert bool(told(text, "TLK603")) is is_told


CYCLED = """
    from torch.utils.data import TensorDataset

    def batches(rows):
        data = TensorDataset(rows)
        return itertools.cycle(DataLoader(data, 8{more}))
"""


@pytest.mark.parametrize(
    ("more", "severities"), [("", ["note"]), (", num_workers=0", ["note"]), (", num_workers=2", ["warning"])]
)
def test_batches_of_workers_are_new_memory(more: str, severities: list[str]) -> None:
    """Measured with a limit of 1,024 files: "Too many open files" after 1,000 batches of two workers, none without."""
    assert told(CYCLED.format(more=more), "TLK405") == severities


SLIDES = """
    import openslide
    from torch.utils.data import Dataset

    class Slides(Dataset):
        def __init__(self, path):
            self.slide = openslide.OpenSlide(path)

        def __len__(self):
            return 99

        def __getitem__(self, i):
            return np.asarray(self.slide.read_region((i, 0), 0, (9, 9)))

    def run(path):
        {start}
        return DataLoader(Slides(path), num_workers=2)
"""


@pytest.mark.parametrize(
    ("start", "severities"), [("pass", ["note"]), ("torch.multiprocessing.set_start_method('spawn')", ["error"])]
)
def test_a_slide_is_opened_for_each_read(start: str, severities: list[str]) -> None:
    """Forked workers read it rightly: 9,000 reads in six of them, none wrong. Spawned ones cannot be sent it."""
    assert told(SLIDES.format(start=start), "TLK105") == severities


# -- what is said -------------------------------------------------------------------------------------------

SUMS = """
    def step(model, opt, batch):
        loss = model(batch).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        return loss

    def fit(model: nn.Module, opt, loader):
        it = iter(loader)
        {statement}
        print(total)
"""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "total = sum(step(model, opt, b) for b in loader)",
            "`sum(...)` keeps the nodes of each step's graph; in it write",
        ),
        ("total = [step(model, opt, b) for b in loader]", "`total` keeps the nodes of each step's graph; in it write"),
        (
            "total = len([step(model, opt, b) for b in loader])",
            "`total` keeps the nodes of each step's graph; in it write",
        ),
        (
            "print([step(model, opt, b) for b in loader]); total = 0",
            "this comprehension keeps the nodes of each step's graph",
        ),
        (
            "total = [step(model, opt, {'first': b, 'second': b, 'third': b, 'fourth': b, 'fifth': b}) for b in it]",
            "`total` keeps the nodes of each step's graph; use `.detach()`",
        ),
    ],
)
def test_where_to_detach_what_one_expression_gathers(statement: str, said: str) -> None:
    (found,) = findings(program(SUMS.format(statement=statement)))
    assert said in found.message


def test_notes_of_where_holders_begin_are_those_that_a_run_leaves_out() -> None:
    """They say so in words that the recorder knows: it reads findings, and imports no rules."""
    texts = [
        note.text
        for text in (BESIDE.format(kept="history.append(part)"), CALLED.format(mode="open(__file__)", more="pass"))
        for each in lint(program(text))
        for note in each.notes
    ]
    assert all(any(words in text for text in texts) for words in _BEGINNINGS)


def test_no_note_is_told_twice() -> None:
    text = program(BESIDE.format(kept="history.append(part)"))
    (found,) = findings(text)
    assert len({each.span.line for each in found.notes}) == len(found.notes)


NAMED = """
    def step(net, x, mean):
        out = net(x).mean()
        mean = 0.9 * mean + 0.1 * out{cut}
        return out, out * 2, mean

    def fit(net, opt, loader):
        mean = torch.zeros(1)
        for x in loader:
            loss, shown, mean = step(net, x, mean)
            opt.zero_grad(); loss.backward(); opt.step()
            print(shown.item())
"""


def test_which_of_several_names_keeps_it() -> None:
    (found,) = findings(program(NAMED.format(cut="")))
    assert "`mean`" in found.message
    assert "(loss" not in found.message
    assert findings(program(NAMED.format(cut=".detach()"))) == []


# -- fixes --------------------------------------------------------------------------------------------------

HANDED = """
    def train({parameter}model, loader, optimizer):
        {begin}
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            history.append(loss)
        print(history)
"""


@pytest.mark.parametrize(
    ("parameter", "begin", "levels"),
    [
        ("", "history = []", [FixLevel.UNSAFE, FixLevel.SAFE]),
        ("history, ", "pass", [FixLevel.SAFE]),  # who handed it over may ask its content for more than numbers have
    ],
)
def test_a_number_for_who_handed_nothing_over(parameter: str, begin: str, levels: list[FixLevel]) -> None:
    text = program(HANDED.format(parameter=parameter, begin=begin)).replace("model, ", "model: nn.Module, ")
    (found,) = (each for each in lint(text, fixes=True) if each.code == "TLK402")
    assert [each.level for each in found.fixes] == levels


# -- texts and projects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("loss.backward()", True),
        ("backward(loss)", True),
        ("def backward(self): pass", False),
        ("self.manual_backward(loss)", True),
        ("def manual_backward(self): pass", False),
        ("my_backward(x)", False),
        ("torch.autograd.grad(y, x)", True),
        ("with torch.no_grad(): pass", False),
        ("x.grad = None", True),
        ("x.gradient", False),
        ("from torch.autograd import grad", True),
        ("import gradient", False),
        ("x.requires_grad_()", True),
        ("f(requires_grad = True)", True),
        ("f(requires_grad=False)", False),
        ("y.grad_fn", True),
        ("my_grad_fn", False),
        ("gradcheck(f)", True),
        ("make_dot(y)", True),
        ("torch.enable_grad()", True),
        ("def my_hessian_like(x): pass", False),
        ("trainer.train_step(x)", True),
        ("Trainer", True),
        ("MyTrainers", False),
        ("attacks.fgsm(x)", True),
        ("counterattack", False),
        ("exec(code)", True),
        ("self._exec(command)", False),
        ("_set_grad_enabled(True)", True),
        ("import accelerate", True),
        ("print(model(x))", False),
    ],
)
def test_texts_that_may_differentiate(text: str, may: bool) -> None:
    assert gradless._may_differentiate(text) is may


LIGHTNING = """
    import lightning.pytorch as pl
    import torch
    from torch import nn

    class Lit(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.outs = nn.Linear(3, 1), []

        def training_step(self, batch, i):
            loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
            self.outs.append(loss)
            return loss
"""


@pytest.mark.parametrize(
    ("run", "severity"),
    [("LightningCLI(subclass_mode_model=True)", Severity.WARNING), ("print(1)", Severity.NOTE)],
)
def test_a_module_that_a_command_line_loads(run: str, severity: Severity, tmp_path: Path) -> None:
    put(tmp_path, **{"models/lit": dedent(LIGHTNING), "train": f"if __name__ == '__main__':\n    {run}\n"})
    (tmp_path / ".git").mkdir()
    importers.forget()
    firstparty.forget()
    path = tmp_path / "models/lit.py"
    found: list[Finding] = lint(path.read_text(), path=str(path))
    assert [each.severity for each in found if each.code == "TLK402"] == [severity]


def test_what_these_programs_keep() -> None:
    """On torch: sums of what requires grad grow, detached parts do not."""
    assert grows(program(ADDED.format(x="x = x.clone().requires_grad_()")).replace("def fit(net, opt, loader)", RUN))


RUN = "def train(net, loader, criterion, opt)"
