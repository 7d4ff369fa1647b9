"""The rules about loops and autograd state: turns that the fixtures do not take."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import gathered
from flake8_torchleak.following import FOLLOWED
from flake8_torchleak.lint import lint
from tests.fixer import reasons
from tests.model import codes, step


def of(code: str, text: str) -> int:
    """How many findings of one rule a text has."""
    return codes(text).count(code)


CARRIED = """
{before}
def train(loader, optimizer, h, shared):
    {made}
    for x in loader:
        out, h = {called}(x, h)
        loss = out.mean()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "called", "count"),
    [
        ("rnn = nn.GRU(4, 4)", "rnn", 1),
        ("rnn = nn.GRU(4, 4).to('cpu').train()", "rnn", 1),
        ("rnn = shared", "rnn", 0),
        ("rnn = shared['rnn']", "rnn", 0),
        ("rnn = nn.Transformer(4)", "rnn", 0),
        ("rnn = len", "print", 0),
        ("rnn = nn.GRU(4, 4)", "print", 0),
        ("model = shared", "model", 0),
        ("model = shared.model", "model", 0),
    ],
)
def test_carried_state_is_that_of_a_recurrent_layer(made: str, called: str, count: int) -> None:
    assert of("TLK406", CARRIED.format(before="", made=made, called=called)) == count


def test_a_network_of_the_file_without_a_recurrent_layer_is_not_known() -> None:
    plain = "class Plain(nn.Module):\n    def forward(self, x, h):\n        return x, h\n"
    assert of("TLK406", CARRIED.format(before=plain, made="rnn = Plain()", called="rnn")) == 0


def test_cells_may_carry_one_variable_in_and_out() -> None:
    text = """
    def score(loader, state):
        lstm = nn.LSTM(4, 4)
        for x in DataLoader(loader):
            lstm.flatten_parameters()
            kept = lstm(x)
            (out, extra), state = lstm(x, state)
    """
    assert of("TLK406", text) == 1


RETAINED = """
def train(model, loader, criterion, optimizer, extra):
    {above}
    for x, y in loader:
        loss = {loss}
        loss.backward(retain_graph=True)
        {below}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("above", "loss", "below", "count"),
    [
        ("pass", "criterion(model(x), y)", "pass", 1),
        ("weight = 0.5", "weight * criterion(model(x), y)", "print(loss)", 1),
        ("weights = extra.compute(model)", "(model(x) * weights).sum()", "pass", 0),
        ("weights = model(extra)", "(model(x) * weights).sum()", "pass", 0),
        ("pass", "criterion(model(x), extra)", "pass", 0),
        ("pass", "criterion(model(x), y)", "extra.step([loss])", 0),
        ("pass", "criterion(model(x), y)", "extra.step(value=loss)", 0),
        ("pass", "criterion(model(x), y)", "extra.step(loss.item(), 1)", 1),
        ("pass", "criterion(model(x), y)", "criterion.gradient_penalty()", 0),
        ("pass", "1", "pass", 1),
        ("pass", "criterion(*model(x))", "pass", 1),
    ],
)
def test_only_the_only_backward_of_a_graph_of_the_step(above: str, loss: str, below: str, count: int) -> None:
    assert of("TLK407", RETAINED.format(above=above, loss=loss, below=below)) == count


def test_a_script_may_retain_its_graph() -> None:
    text = """
    model, loader = nn.Linear(2, 1), DataLoader([])
    for x in loader:
        loss = model(x).mean()
        loss.backward(retain_graph=True)
    """
    assert of("TLK407", text) == 1
    assert of("TLK407", "def f(engine):\n    for x in DataLoader([]):\n        engine.run(x, retain_graph=True)") == 0


def test_exceptions_are_looked_at_where_there_are_handlers() -> None:
    assert of("TLK408", step("print('all except the last')")) == 0
    retried = """
    def fit(model, loader, optimizer, build):
        for x in loader:
            try:
                model(x).mean().backward()
            except RuntimeError as error:
                if "out of memory" in str(error):
                    other = model(x[:1])
                    model.half()
                    build.Net(x)
    """
    assert of("TLK408", retried) == 1
    assert of("TLK408", retried.replace("other = model(x[:1])", "other = build.model(x[:1])")) == 0
    freed = "error = error.with_traceback(None); other = model(x[:1])"
    assert of("TLK408", retried.replace("other = model(x[:1])", freed)) == 0


def test_outputs_of_steps() -> None:
    text = """
    from lightning import LightningModule
    class Net(LightningModule):
        def __init__(self):
            self.kept = []
        def validation_step(self, batch, index):
            self.kept.append(self(batch))
        def on_validation_epoch_end(self):
            {end}
    """
    assert of("TLK502", text.format(end="print(self.kept)")) == 1
    assert of("TLK502", text.format(end="self.kept = []")) == 0
    assert of("TLK502", text.format(end="self.kept.pop()")) == 0
    assert of("TLK502", text.replace("self.kept = []", "self.kept = None").format(end="pass")) == 0


UPDATED = """
class Net(nn.Module):
    def __init__(self, momentum=0.1):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer(name="other", tensor=torch.zeros(2))
    def forward(self, x, kept):
        h = self.layer(x)
        {update}
        return h
"""


@pytest.mark.parametrize(
    ("update", "count"),
    [
        ("self.mean = self.mean * 0.9 + h.mean(0)", 1),
        ("self.mean = self.mean * 0.9 + x.mean(0)", 0),
        ("self.mean = h.mean(0)", 0),
        ("self.mean, h = self.mean + h.mean(0), h", 1),
        ("kept += h", 0),
        ("kept[0] = h", 0),
        ("kept.add_(h)", 0),
        ("self.mean.add_(x)", 0),
        ("self.mean.lerp_(h.mean(0), 0.1)", 1),
        ("print(self.mean)", 0),
        ("self.helper(h); print(len(kept))", 0),
    ],
)
def test_buffers_that_chain(update: str, count: int) -> None:
    assert of("TLK601", UPDATED.format(update=update)) == count


def test_a_buffer_may_be_declared() -> None:
    text = UPDATED.format(update="self.mean = self.mean + h.mean(0)")
    assert of("TLK601", text.replace("    def __init__", "    mean: torch.Tensor = None\n    def __init__")) == 1
    assert of("TLK601", text.replace("    def __init__", "    mean: torch.Tensor\n    def __init__")) == 1
    without = text.partition("    def __init__")[0] + "    def forward" + text.partition("    def forward")[2]
    assert of("TLK601", without.replace("self.layer(x)", "nn.functional.linear(x, self.momentum)")) == 0


SCALE = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.mean = torch.zeros(2)

    def forward(self, x):
        y = x * self.weight
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return y - self.mean
"""
PLAIN = SCALE.replace("nn.Parameter(torch.ones(2))", "torch.ones(2)")
NORM = PLAIN.replace("nn.Module", "nn.BatchNorm1d")
RESET = "    def reset(self):\n        {}\n"
ENTRY = (
    PLAIN.replace("nn.Module", "nn.BatchNorm1d")
    .replace("self.mean", "self.of['mean']")
    .replace("self.of['mean'] = torch.zeros(2)", "self.of = {'mean': torch.zeros(2)}")
)
ALIAS = (
    NORM.replace("        y =", "        old = self.seen\n        old.append(x)\n        y =")
    .replace("self.mean = torch.zeros(2)", "self.mean, self.seen = torch.zeros(2), []")
    .replace("0.1 * x.mean(0)", "0.1")
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # A layer with parameters of its own stands behind others: its input has history.
        (SCALE, 1),
        (NORM, 1),
        (PLAIN, 0),
        (
            SCALE.replace("nn.Parameter(torch.ones(2))", "nn.Linear(2, 2)").replace(
                "x * self.weight", "self.weight(x)"
            ),
            0,
        ),
        (SCALE + RESET.format("self.mean = torch.zeros(2)"), 0),
        (SCALE + RESET.format("self.mean.zero_()"), 0),
        (SCALE + RESET.format("print(self.mean.shape, self.weight)"), 1),
        (SCALE + "\nclass Other:\n" + RESET.format("self.mean = 0"), 1),
        (SCALE + "\ndef reset(net):\n    net.mean = 0\n", 0),
        (ENTRY, 1),
        (ENTRY + RESET.format("self.of = {}"), 0),
        (ALIAS, 1),
    ],
)
def test_states_of_layers_that_chain_what_they_are_given(text: str, count: int) -> None:
    assert of("TLK601", text) == count


HANDED_ON = """
def run(net, x, h):
    return net(x, h)
def train(loader, criterion, optimizer):
    net, h = nn.GRU(2, 2), None
    for x, y in loader:
        out, h = run(net, x, h)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
ANNOTATED = """
def train(model, loader, optimizer):
    kept = []
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        loss.note = 1
        loss.backward()
        optimizer.step()
        kept.append(loss)
"""


@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        ("TLK601", SCALE, FOLLOWED),
        ("TLK406", HANDED_ON, FOLLOWED),
        ("TLK402", ANNOTATED, "attributes are set on `loss`, and `.detach()` gives a tensor without them"),
    ],
)
def test_why_nothing_is_detached(code: str, text: str, reason: str) -> None:
    assert reasons(text, True, (code,)) == [reason]


ON_CTX = """
class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = {made}
        ctx.y = y
        return y
    @staticmethod
    def backward(ctx, grad):
        {used}
        return grad
"""


@pytest.mark.parametrize(
    ("made", "used", "count"),
    [
        ("x.exp()", "grad = grad * ctx.y", 1),
        ("x.exp()", "ctx.other = None", 1),
        ("x.exp()", "ctx.y = None", 0),
        ("x.exp()", "ctx.y.clear()", 0),
        ("[]", "pass", 0),
        ("x.size(0)", "pass", 0),
    ],
)
def test_outputs_on_ctx(made: str, used: str, count: int) -> None:
    assert of("TLK603", ON_CTX.format(made=made, used=used)) == count


HOOKED = """
class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.kept, self.inner = [], inner
        inner.register_forward_hook(self.keep)
    def keep(self, module, args, output):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("self.kept.append(output)", 1),
        ("self.kept.append(output[0].cpu())", 1),
        ("self.kept.append([args, 1])", 1),
        ("self.kept += [*args]", 0),
        ("self.kept.extend(list(args))", 1),
        ("self.kept.append(output.shape)", 0),
        ("self.kept.append(output.argmax(1))", 0),
        ("self.kept.append(len(args))", 0),
        ("self.kept.append(1)", 0),
        ("self.kept.append()", 0),
        ("self.kept.append(other(output))", 0),
        ("copied = output; self.kept.append(copied)", 1),
        ("self.kept.append(output); self.kept.pop(0)", 0),
    ],
)
def test_hooks_that_collect(body: str, count: int) -> None:
    assert of("TLK604", HOOKED.format(body=body)) == count


@pytest.mark.parametrize(
    ("argument", "count"),
    [
        ("lambda m, a, out: kept.append(out)", 1),
        ("make(kept)", 1),
        ("make_lambda(kept)", 1),
        ("unknown(kept)", 0),
        ("functools.partial()", 0),
        ("make_nothing()", 0),
    ],
)
def test_hooks_by_their_argument(argument: str, count: int) -> None:
    text = f"""
    kept = []
    def make(target):
        def hook(m, a, out):
            kept.append(out)
        return hook
    def make_lambda(target):
        return lambda m, a, out: kept.append(out)
    def make_nothing():
        return
    def attach(model):
        model.register_forward_hook({argument})
    """
    assert of("TLK604", text) == count


def test_figures_in_two_blocks_are_not_closed() -> None:
    text = """
    import matplotlib.pyplot as plt
    def draw(loader):
        for x in loader:
            fig, ax = plt.subplots()
            {saved}
    """
    assert of("TLK910", text.format(saved="fig.savefig('x.png')")) == 1
    assert of("TLK910", text.format(saved="pass")) == 1


@pytest.mark.parametrize(
    ("stored", "count"),
    [
        ("model(x.to(device)).logits", 1),
        ("torch.sigmoid(model(x.to(device)))", 1),
        ("model(x.to(device)).names", 0),
        ("[model(x.to(device))]", 0),
    ],
)
def test_what_is_stored_on_the_device(stored: str, count: int) -> None:
    text = f"""
    @torch.no_grad()
    def predict(model, loader, device):
        kept = []
        for x in loader:
            kept.append({stored})
        return kept
    """
    assert of("TLK905", text) == count


def test_long_terms_are_not_followed_to_their_end() -> None:
    assert of("TLK907", f"DataLoader([], num_workers={'1 + ' * 30}1)") == 0
    assert of("TLK604", HOOKED.format(body=f"self.kept.append(output{'[0]' * 40})")) == 0


def test_a_list_of_batches_that_is_handed_on() -> None:
    text = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(rows)\nshow(list(loader))\n"
    (finding,) = lint(text, wanted=lambda code: code == "TLK405")
    assert finding.message.endswith("; go over the loader, store what is used (numbers, `.clone()` of a field)")


def test_a_hook_that_makes_a_hook_keeps_nothing() -> None:
    hook = "lambda: (lambda m, a, out: kept.append(out))"
    assert of("TLK604", f"kept = shared\nlayer.register_forward_hook({hook})\n") == 0


@pytest.mark.parametrize(
    ("collected", "count"),
    [
        ("[b for b in loader]", 1),
        ("{b for b in loader}", 1),
        ("[[x, y] for x, y in loader]", 1),
        ("[b for i, b in enumerate(loader)]", 1),
        ("sorted((b for b in loader), key=len)", 1),
        ("[0, *loader]", 1),
        ("sorted(loader, reverse=True)", 1),
        ("deque(loader, 3)", 0),
        ("deque(loader, maxlen=3)", 0),
        ("[b for b in loader if len(b)]", 0),
        ("[x for x, y in loader]", 0),
        ("[b.mean() for b in loader]", 0),
        ("[(b, c) for b in loader for c in loader]", 0),
        ("[c[0] for c[0] in loader]", 0),
        ("(b for b in loader)", 0),
        ("next(b for b in loader)", 0),
        ("[b for _, b in zip(range(4), loader)]", 0),
        ("print(*loader)", 0),
        ("[*rows]", 0),
    ],
)
def test_ways_to_collect_all_batches(collected: str, count: int) -> None:
    """A loader without workers: its batches hold no descriptors, so that TLK404 says nothing of them."""
    text = f"""
    from collections import deque

    def use(dataset, rows):
        loader = DataLoader(dataset, batch_size=8)
        return {collected}
    """
    assert of("TLK405", text) == count


def test_batches_that_hold_descriptors_and_are_all_kept_are_one_finding() -> None:
    text = """
    from torch.utils.data import DataLoader

    def use(dataset):
        loader = DataLoader(dataset, batch_size=8, num_workers=2)
        return [batch for batch in loader], tuple((x, y) for x, y in loader)
    """
    told = gathered(lint(textwrap.dedent(text)))
    assert [(each.code, [member.code for member in each.members]) for each in told] == [("TLK404", ["TLK405"])] * 2


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ("new = lstm(x, h); h = new", 1),
        ("new = lstm(x, h); again = new; h = again", 1),
        ("out, (a, b) = lstm(x, (h, c)); h, c = a, b", 1),
        ("out, (a, b) = lstm(x, (h, c)); h = a; c = b", 1),
        ("out, new = lstm(x, hx=h); h = new", 1),
        ("out, pair = lstm(x, (h, c)); h, c = pair", 1),
        ("out, (a, b) = lstm(x, (h, c)); h = a", 1),
        ("new = lstm(x, h); h = new.detach()", 0),
        ("new = lstm(x, h); new.detach_(); h = new", 0),
        ("new = lstm(x, h); new = repackage(new); h = new", 0),
        ("new = lstm(x, h); h = new; h = repackage(h)", 0),
        ("new = lstm(x, h); h = other", 0),
        ("new = lstm(x, h); a = new; b = a; d = b; e = d; f = e; g = f; h = g", 1),  # by following
        ("new = lstm(x, h); h += 1", 0),
    ],
)
def test_a_state_that_is_carried_under_another_name(steps: str, count: int) -> None:
    lines = [f"    {each}" for each in ("lstm = nn.LSTM(4, 4)", "for x in DataLoader(loader):")]
    lines += [f"        {each}" for each in steps.split("; ")]
    text = "\n".join(["def score(loader, h, c, other, repackage):", *lines, ""])
    assert of("TLK406", text) == count


@pytest.mark.parametrize(("first", "count"), [("import torch\n", 1), ("", 0), ("# loss.backward()\n", 1)])
def test_what_is_called_a_loader_is_one_where_there_is_pytorch(first: str, count: int) -> None:
    text = f"{first}batches = list(train_loader)\nfor x, y in batches:\n    show(x)\n"
    assert [each.code for each in lint(text)].count("TLK405") == count


@pytest.mark.parametrize("again", ["", "last = evaluate(model, x)\n"])
def test_an_evaluation_of_everything_that_a_step_and_the_module_call(again: str) -> None:
    text = """
        def evaluate(model, data):
            return model(data)
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            loss.backward()
            evaluate(model, x)
    """
    assert of("TLK501", textwrap.dedent(text) + again) == 1
    assert of("TLK501", textwrap.dedent(text).replace("    evaluate(", "    seen = evaluate(") + again) == 0


def test_what_an_evaluation_of_the_module_keeps_is_told_with_it() -> None:
    text = "import torch\nmodel.eval()\nkept = []\nfor x, y in test_loader:\n    kept.append(model(x))\nprint(kept)\n"
    found = [each for each in lint(text) if each.code < "TLK9"]
    assert [each.code for each in found] == ["TLK402", "TLK501"]
    assert [(each.code, len(each.members)) for each in gathered(found)] == [("TLK501", 1)]


@pytest.mark.parametrize("sign", ["+=", "-="])
def test_a_sum_is_written_with_its_own_sign(sign: str) -> None:
    text = "import torch\ndef train(model, loader, opt, criterion):\n    total = 0\n    for x, y in loader:\n"
    text += "        loss = criterion(model(x), y)\n        loss.backward()\n        opt.step()\n"
    text += f"        total {sign} loss\n"
    (found,) = [each for each in lint(text) if each.code == "TLK401"]
    assert found.message.endswith(f"write `total {sign} loss.detach()`")
