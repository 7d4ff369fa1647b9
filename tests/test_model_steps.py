"""Steps: what runs once per batch, what outlives it, where gradients are off. Each case is a fact about code."""

from __future__ import annotations

import pytest

from flake8_torchleak.config import DEFAULT, Config
from tests.model import codes, step

GROWS = ["TLK401"]
STORES = ["TLK402"]

SUMS = {
    "a sum that is emptied now and then": (step("total += loss\nif y:\n    total.clear()"), GROWS),
    "a sum of a step made of several updates": (
        "def f(model, loader, criterion, optimizer):\n    for x in loader:\n        total = 0\n        for z in x:\n"
        "            loss = criterion(model(z), z)\n            loss.backward()\n            optimizer.step()\n            total += loss\n", []),
    "a sum of several updates in every step": (
        "def f(model, loader, criterion, optimizer):\n    total = 0\n    for x in loader:\n        for z in x:\n"
        "            loss = criterion(model(z), z)\n            loss.backward()\n            optimizer.step()\n            total += loss\n", GROWS),
    "a sum that flows into the objective by its data alone": (
        step("total += loss\n(loss + total.data + f().x + total.item()).backward()"), GROWS),
    "a sum that flows into the objective": (step("total += loss\n(loss + f(total).x).backward()"), []),
    "a sum that starts before the loop": (step("total += loss"), GROWS),
    "a sum that starts anew in every step": (step("total = 0\ntotal += loss"), []),
    "a sum that is emptied by the loop's target": (step("for total in y:\n    total += loss"), []),
    "a sum of a number": (step("total += loss.item()"), []),
    "a sum under no_grad": (step("with torch.no_grad():\n    total += loss"), []),
    "a sum after a branch that detached one way": (step("if y:\n    loss = loss.detach()\ntotal += loss"), GROWS),
    "a sum after both branches detached": (
        step("if y:\n    loss = loss.detach()\nelse:\n    loss = loss.item()\ntotal += loss"), []),
    "a sum after nested branches that all detached": (
        step("if y:\n    if x:\n        loss = loss.detach()\n    else:\n        loss = loss.item()\nelse:\n    loss = 0\ntotal += loss"), []),
    "a sum after a branch inside a loop detached": (
        step("for z in y:\n    if z:\n        loss = loss.detach()\n    else:\n        loss = 0\ntotal += loss"), GROWS),
    "a sum after a detach in a with block": (step("with x:\n    loss = loss.detach()\ntotal += loss"), []),
    "a sum after a detach under isinstance(Tensor)": (
        step("if isinstance(loss, torch.Tensor):\n    loss = loss.detach()\ntotal += loss"), []),
    "a sum after a detach in a finally": (
        step("try:\n    f()\nfinally:\n    loss = loss.detach()\ntotal += loss"), []),
    "a sum beside a detach in the other branch": (
        step("if y:\n    loss = loss.detach()\nelse:\n    total += loss"), GROWS),
    "a sum past a branch that left": (
        step("if y:\n    loss = loss.detach()\n    raise SystemExit\ntotal += loss"), GROWS),
    "a sum that is differentiated after the loop": (step("total += loss", after="total.backward()"), []),
    "a sum in a loop inside the step that is the objective": (
        "def f(model, loader, criterion, optimizer):\n    for x in loader:\n        total = 0\n"
        "        for z in x:\n            total += criterion(model(z), z)\n        total.backward()\n", []),
    "a sum that a caller differentiates": (
        "def losses(model, loader, criterion):\n    total = 0\n    for x, y in loader:\n        total += criterion(model(x), y)\n"
        "    return total\ndef f(model, loader, criterion):\n    losses(model, loader, criterion).backward()\n", []),
    "a sum that a caller differentiates by a name": (
        "def losses(model, loader, criterion):\n    total = 0\n    for x, y in loader:\n        total += criterion(model(x), y)\n"
        "    return total\ndef f(model, loader, criterion):\n    z = losses(model, loader, criterion)\n    z.backward()\n", []),
    "a sum that a caller prints": (
        step("total += loss", after="return total") + "def f(*a):\n    print(train(*a))\n", GROWS),
    "a global that collects": (
        "total = 0\ndef f(model, loader, criterion):\n    global total\n    for x, y in loader:\n        loss = criterion(model(x), y)\n"
        "        loss.backward()\n        total += loss\n", GROWS),
    "a sum where gradients are on again": (step("with torch.enable_grad():\n    total += loss"), GROWS),
    "an attribute in a framework's step": (
        "class M(nn.Module):\n    def training_step(self, batch):\n        loss = self(batch)\n        self.total += loss\n        return loss\n", GROWS),
    "an attribute that the framework's step sets anew": (
        "class M(nn.Module):\n    def training_step(self, batch):\n        loss = self(batch)\n        self.total = 0\n"
        "        self.total += loss\n        return loss\n", []),
    "a sum in a loop of gradient accumulation": (
        "def f(model, loader, criterion, optimizer):\n    for x, y in loader:\n        total = 0\n        for z in range(4):\n"
        "            loss = criterion(model(x), y)\n            loss.backward()\n            total += loss\n        optimizer.step()\n", []),
    "a sum in a while loop that draws batches": (
        "def f(model, loader, criterion):\n    total, batches = 0, iter(loader)\n    while True:\n        x, y = next(batches)\n"
        "        loss = criterion(model(x), y)\n        loss.backward()\n        total += loss\n", GROWS),
    "an entry of a display is no running sum, and keeps": (step("total = [total, loss]"), STORES),
    "a sum of a list": (step("kept = []\nkept += [loss]"), []),
    "a weighted running sum": (step("total = 0.9 * total + loss"), GROWS),
    "an entry of a dict, looked up with a default": (
        step("sums['a'] = sums.get('a', 0) + loss", "sums = {}"), GROWS),
    "an entry of another dict, looked up with a default": (step("sums['a'] = other.get('a', 0) + loss", "sums = {}"), []),
    "an entry under a number": (step("sums[0] = sums[0] + loss", "sums = {}"), GROWS),
    "an entry under another number": (step("sums[0] = sums[1] + loss", "sums = {}"), []),
    "one of two assigned at once": (step("total, z = total + loss, 0"), GROWS),
    "a sum that numpy reads": (step("total += loss\nloss.numpy()"), []),
    "a sum by the sum of a list that grew": (step("kept.append(loss)", after="sum(kept).backward()"), []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), SUMS.values(), ids=SUMS)
def test_sums(text: str, found: list[str]) -> None:
    assert codes(text) == found


STORED = {
    "a list that lives on": (step("kept.append(loss)"), STORES),
    "a list that is cut to its last entries": (step("kept.append(loss)\nkept = kept[-3:]"), []),
    "a list that is emptied in every step": (step("kept.append(loss)\nkept.clear()"), []),
    "a list that is emptied now and then": (step("kept.append(loss)\nif y:\n    kept.clear()"), []),
    "a list that a nested function would empty": (step("def g():\n    kept.clear()\nkept.append(loss)"), STORES),
    "a list whose entries are taken out": (step("kept.append(loss)\nif y:\n    kept.pop()"), []),
    "a list of a loop that is cut short": (
        "def f(model, loader, criterion):\n    kept = []\n    for i, (x, y) in enumerate(loader):\n        if i >= 3:\n            break\n"
        "        loss = criterion(model(x), y)\n        loss.backward()\n        kept.append(loss)\n", []),
    "a list of a loop that breaks off for another reason": (
        "def f(model, loader, criterion):\n    kept = []\n    for i, (x, y) in enumerate(loader):\n        if enough > 3:\n            break\n"
        "        loss = criterion(model(x), y)\n        loss.backward()\n        kept.append(loss)\n", STORES),
    "a list that numpy averages": (
        step("kept.append(model(x))", after="np.mean(kept)"), []),
    "a list that another library averages": (step("kept.append(model(x))", after="other.mean(kept)"), STORES),
    "a global list": (
        "kept = []\ndef f(model, loader, criterion):\n    for x, y in loader:\n        loss = criterion(model(x), y)\n"
        "        loss.backward()\n        kept.append(loss)\n", STORES),
    "a global list that another function differentiates": (
        "kept = []\ndef f(model, loader, criterion):\n    for x, y in loader:\n        loss = criterion(model(x), y)\n"
        "        loss.backward()\n        kept.append(loss)\ndef g():\n    sum(kept).backward()\n", []),
    "a deque without a bound": (step("kept.append(loss)", "kept = 0").replace("total, kept = 0, []", "total, kept = 0, collections.deque()"), STORES),
    "a deque with a bound": (step("kept.append(loss)").replace("total, kept = 0, []", "total, kept = 0, collections.deque(maxlen=3)"), []),
    "a list of which one entry is differentiated": (
        "def f(model, loader, g):\n    kept = []\n    for x in loader:\n        kept.append(g(x))\n        kept[-1].backward()\n", STORES),
    "a subscript that is differentiated is no list of them": (
        "def f(model, loader, g):\n    kept = []\n    for x in loader:\n        kept.append(g(x))\n        other[x].backward()\n", []),
    "a dict by the step's number": (
        step("kept[n] = loss\nn += 1", "n = 0").replace("total, kept = 0, []", "total, kept, n = 0, {}, 0"), STORES),
    "a dict by a name that does not change": (
        step("kept['a'] = loss").replace("total, kept = 0, []", "total, kept = 0, {}"), []),
    "a dict by an attribute": (
        step("kept[y.name] = loss").replace("total, kept = 0, []", "total, kept = 0, {}"), STORES),
    "a dict by the names of a loop in the step": (
        step("for name in ('a', 'b'):\n    kept[name] = loss").replace("total, kept = 0, []", "total, kept = 0, {}"), []),
    "an attribute that is a list, set up elsewhere": (
        "class T:\n    def __init__(self):\n        self.kept = []\n    def f(self, model, loader, criterion):\n        for x, y in loader:\n"
        "            loss = criterion(model(x), y)\n            loss.backward()\n            self.kept.append(loss)\n", STORES),
    "an attribute of losses that another method differentiates": (
        "class T:\n    def __init__(self):\n        self.kept = []\n    def f(self, model, loader, criterion):\n        for x, y in loader:\n"
        "            loss = criterion(model(x), y)\n            loss.backward()\n            self.kept.append(loss)\n"
        "    def g(self):\n        sum(self.kept).backward()\n", []),
    "a tensor by index": (
        step("kept[n] = loss\nn += 1").replace("total, kept = 0, []", "total, kept, n = 0, torch.zeros(3), 0"), STORES),
    "what a loop that neither trains nor evaluates returns": (
        "def f(model, loader, criterion):\n    kept = []\n    for x, y in loader:\n        kept.append(criterion(model(x), y))\n    return kept\n", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), STORED.values(), ids=STORED)
def test_stores(text: str, found: list[str]) -> None:
    assert [code for code in codes(text) if code != "TLK404"] == found


METERS = {
    "a method that sums": ("self.sum += value", GROWS),
    "a method that sums by an assignment": ("self.sum = self.sum + value", GROWS),
    "a method that sums without gradients": ("with torch.no_grad():\n            self.sum += value", []),
    "a method that stores": ("self.all.append(value)", GROWS),
    "a method that stores under a fixed name": ("self.all['a'] = value", []),
    "a method that stores under a new name": ("self.n += 1; self.all[self.n] = value", GROWS),
    "a method that stores under a name that stays": ("self.all[self.n] = value", []),
    "a method that adds to an entry": ("self.all['a'] += value", GROWS),
    "a method that deletes an entry": ("del self.all[value]", []),
    "a method that takes a number": ("self.sum += value.item()", []),
}  # fmt: skip
METER = "class Meter:\n    def __init__(self):\n        self.sum, self.all, self.n = 0, {init}, 0\n    def update(self, value, **rest):\n        {body}\n"


@pytest.mark.parametrize(("body", "found"), METERS.values(), ids=METERS)
@pytest.mark.parametrize("call", ["meter.update(loss)", "meter.update(value=loss)"])
def test_meters(body: str, found: list[str], call: str) -> None:
    text = METER.format(body=body, init="[]" if "append" in body else "{}") + step(call).replace(
        "total, kept = 0, []", "meter = Meter()"
    )
    assert codes(text) == ["TLK403" for _ in found]


OF_METERS = {
    "what `**rest` takes is kept": ("self.all.append(rest['a'])", "meter.update(0, a=loss)", DEFAULT, True),
    "a keyword that no parameter takes is not kept": (
        "self.sum += value", "meter.other(a=loss)", DEFAULT, False),
    "a method that the class lacks keeps nothing": ("self.sum += value", "meter.frobnicate(loss)", DEFAULT, False),
    "a star is no argument": ("self.sum += value", "meter.update(*y)", DEFAULT, False),
    "a meter that the configuration trusts": ("self.sum += value", "meter.update(loss)", Config(safe_meters=("Meter",)), False),
    "a meter by the name that the configuration trusts": ("self.sum += value", "meter.update(loss)", Config(safe_meters=("meter",)), False),
    "a meter made anew in every step": ("self.sum += value", "meter = Meter()\nmeter.update(loss)", DEFAULT, False),
    "a number": ("self.sum += value", "meter.update(0)", DEFAULT, False),
    "a sum that is the objective": ("self.sum += value", "meter.update(loss)\nmeter.backward()", DEFAULT, False),
}  # fmt: skip


@pytest.mark.parametrize(("body", "call", "config", "kept"), OF_METERS.values(), ids=OF_METERS)
def test_what_meters_are_given(body: str, call: str, config: Config, kept: bool) -> None:
    text = METER.format(body=body, init="[]") + "    def other(self, value=0): self.sum += value\n"
    assert codes(text + step(call).replace("total, kept = 0, []", "meter = Meter()"), config) == ["TLK403"] * kept


def evaluation(body: str = "out = model(x)", before: str = "model.eval()", around: str = "") -> str:
    """A function that evaluates, with these statements."""
    indent = "    " * (1 + bool(around))
    lines = [f"    {each}" for each in before.splitlines()] + ([f"    {around}"] if around else [])
    lines += [f"{indent}for x, y in loader:", *(f"{indent}    {each}" for each in body.splitlines())]
    return "def validate(model, loader, device, train, criterion):\n" + "\n".join(lines) + "\n"


CALLED = "def train(model, loader, optimizer, criterion):\n    for x, y in loader:\n        loss = criterion(model(x), y)\n        loss.backward()\n"
TREES = "def fit(trees, rows):\n    for x in rows:\n        trees.train(x)\n"
BESIDE = """\
def run(model, teacher, loader, val_loader, loaders, parts):
    hits = 0
    model.train()
    for x in loader:
        model(x).mean().backward()
    for x in {data}:
        {last}
"""
EVALUATIONS = {
    "evaluation or training mode, by a flag": (
        evaluation(before="if train:\n    model.eval()\nelse:\n    model.train()").replace("validate", "run"), 1),
    "called from far away where gradients are off": (
        evaluation() + "".join(f"def f{n}():\n    {g}()\n" for n, g in enumerate(["validate", "f0", "f1", "f2", "f3", "f4", "f5"]))
        + "with torch.no_grad():\n    f6()\n", 0),
    "called from near where gradients are off": (
        evaluation() + "def f0():\n    validate()\ndef f1():\n    f0()\nwith torch.no_grad():\n    f1()\n", 0),
    "a loop of steps around steps": (
        "def f(net, rows, model):\n    model.eval()\n    for x in rows:\n        model(x)\n        for z in x:\n            model(z)\n", 1),
    "evaluation mode alone": (evaluation(), 1),
    "under no_grad": (evaluation(around="with torch.no_grad():"), 0),
    "under no_grad where a flag says so": (evaluation(around="with torch.no_grad() if train else x:"), 0),
    "under no_grad one way or the other": (evaluation(around="with torch.no_grad() if train else torch.inference_mode():"), 0),
    "under one of two managers": (evaluation(around="with (torch.no_grad if train else torch.enable_grad)():"), 0),
    "under a manager bound to a name": (evaluation(before="model.eval()\nmanager = torch.no_grad()", around="with manager:"), 0),
    "under a manager bound to one of two": (
        evaluation(before="model.eval()\nif train:\n    manager = torch.no_grad()\nelse:\n    manager = torch.enable_grad()", around="with manager:"), 0),
    "under enable_grad": (evaluation(around="with torch.enable_grad():"), 0),
    "under inference_mode(False)": (evaluation(around="with torch.inference_mode(False):"), 1),
    "under set_grad_enabled(False)": (evaluation(around="with torch.set_grad_enabled(False):"), 0),
    "under set_grad_enabled(flag)": (evaluation(around="with torch.set_grad_enabled(train):"), 0),
    "after set_grad_enabled(False)": (evaluation(before="model.eval()\ntorch.set_grad_enabled(False)"), 0),
    "after set_grad_enabled(False) in a branch": (evaluation(before="model.eval()\nif train:\n        torch.set_grad_enabled(False)"), 0),
    "after entering no_grad on a stack": (evaluation(before="model.eval()\nstack.enter_context(torch.no_grad())"), 0),
    "after entering a file on a stack": (evaluation(before="model.eval()\nstack.enter_context(open('a'))"), 1),
    "where the module is off": ("torch.set_grad_enabled(False)\n" + evaluation(), 0),
    "called where gradients are off": (evaluation() + "def f():\n    with torch.no_grad():\n        validate(model, loader, device, train, criterion)\n", 0),
    "called by itself alone": (evaluation("out = model(x)\nvalidate(model, loader, device, train, criterion)"), 1),
    "called where a flag decides": (evaluation() + "def f():\n    with torch.set_grad_enabled(a):\n        validate(model, loader, device, train, criterion)\n", 0),
    "evaluation mode by train(False)": (evaluation(before="model.train(False)"), 1),
    "evaluation mode of what a call gives": (evaluation(before="get().eval()").replace("validate", "run"), 0),
    "evaluation mode of another model": (evaluation(before="teacher.eval()").replace("validate", "run"), 0),
    "evaluation mode of a part": (evaluation(before="model.encoder.eval()"), 1),
    "evaluation mode of an entry": (evaluation(before="models[0].eval()"), 1),
    "evaluation mode of the same model elsewhere": (
        "class T:\n    def validate(self, loader):\n        ema.model.eval()\n        for x in loader:\n            self.model(x)\n", 1),
    "evaluation mode of what a helper runs": (evaluation("out = predict(model, x)") + "def predict(net, x):\n    return net(x)\n", 1),
    "training again in the loop": (evaluation("model.train()\nout = model(x)").replace("validate", "run"), 0),
    "training mode set before": (evaluation(before="model.train()").replace("validate", "run"), 0),
    "a function that asks for gradients": (evaluation("x.requires_grad = True\nout = model(x)"), 0),
    "a function that differentiates": (evaluation("out = model(x)\ntorch.autograd.grad(out, x)"), 0),
    "a loop that trains": (evaluation("out = model(x)\nout.backward()"), 0),
    "numpy of the output, which raises with gradients": (evaluation("out = model(x)\nout.numpy()"), 0),
    "a network's own method": (
        "class N(nn.Module):\n    def forward(self, x): return x\n    def validate(self, model, loader):\n        model.eval()\n"
        "        for x in loader:\n            model(x)\n", 1),
    "a unit test": ("import pytest\n" + evaluation().replace("validate", "test_model"), 0),
    "a test of no test library, given a model": (evaluation().replace("validate", "test_model"), 1),
    "a method that tests a model": (
        "class Client:\n    def test_metrics(self):\n        loader = self.load()\n        self.model.eval()\n"
        "        for x in loader:\n            self.model(x)\n", 1),
    "a method of a test case": (
        "class Client(TestCase):\n    def test_metrics(self):\n        loader = self.load()\n        self.model.eval()\n"
        "        for x in loader:\n            self.model(x)\n", 0),
    "a method of a class of tests": (
        "class TestClient:\n    def test_metrics(self):\n        loader = self.load()\n        self.model.eval()\n"
        "        for x in loader:\n            self.model(x)\n", 0),
    "a model that its own eval shows": (
        "def run(part, loader):\n    if many:\n        part = Parallel(part)\n    part.eval()\n    for x in loader:\n        part(x)\n", 1),
    "what its own eval shows, and nothing else": (
        "def run(loader):\n    part = Spectrum().cuda()\n    part.eval()\n    for x in loader:\n        part(x)\n", 0),
    "an entry that its own eval shows": (
        "def run(parts, loader):\n    parts[0].eval()\n    for x in loader:\n        parts[0](x)\n", 1),
    "a table that evaluates a formula": (
        "def run(part, loader):\n    part.eval('a + b')\n    for x in loader:\n        part(x)\n", 0),
    "beside training": (BESIDE.format(data="val_loader", last="hits += model(x).mean().item()"), 1),
    "beside training, by a key": (BESIDE.format(data="loaders['val']", last="hits += model(x).mean().item()"), 1),
    "beside training, over no data": (BESIDE.format(data="range(val_count)", last="hits += model(x).mean().item()"), 0),
    "beside training, of a loader by a key": (
        BESIDE.format(data="DataLoader(parts['val'])", last="hits += model(x).mean().item()"), 1),
    "beside training, over the same data again": (BESIDE.format(data="loader", last="hits += model(x).mean().item()"), 1),
    "beside training, of what is not seen to learn": (
        BESIDE.replace("model.train()", "model = Spectrum()").replace("(model, ", "(")
        .format(data="val_loader", last="hits += teacher.rate(model(x))"), 0),
    "beside training, of what is given": (
        BESIDE.replace("    model.train()\n", "").format(data="val_loader", last="hits += model(x).mean().item()"), 1),
    "beside training, another model": (BESIDE.format(data="val_loader", last="hits += teacher(x).mean().item()"), 1),
    "beside training, another model, of which nothing is used": (
        BESIDE.format(data="val_loader", last="teacher(x)"), 0),
    "beside training, without gradients": (
        BESIDE.format(data="val_loader", last="with torch.no_grad():\n            hits += model(x).mean().item()"), 0),
    "beside training, differentiated later": (
        BESIDE.format(data="val_loader", last="hits += model(x).mean()") + "    hits.backward()\n", 0),
    "beside training, trained as well": (BESIDE.format(data="val_loader", last="model(x).mean().backward()"), 0),
    "beside training, until something is true": (
        BESIDE.replace("for x in {data}", "while {data}").format(data="val_loader", last="hits += model(x).mean().item()"), 0),
    "a test without a model": ("def test_it(a, b):\n    model = nn.Linear(1, 1)\n    model.eval()\n    for x in loader:\n        model(x)\n", 0),
    "by the function's name alone": (evaluation(before="pass") + "model.load_state_dict(a)\n", 1),
    "by the name, in a file that prepares no model": (evaluation(before="pass"), 0),
    "by the name, in a file that trains what is no network": (evaluation(before="pass") + TREES, 0),
    "by the name, where a formula is evaluated": (evaluation(before="model.table.eval('a + b')") + TREES, 0),
    "by the name, over something else than data": (
        "def validate(model, rows):\n    for x in rows:\n        out = model(z)\nmodel.load_state_dict(a)\n", 0),
    "by the name, over what the model is given": (
        "def validate(model, rows):\n    for x in rows:\n        z = x + 1\n        out = model(z)\nmodel.load_state_dict(a)\n", 1),
    "by the name, over a range": (
        "def validate(model, rows):\n    for x in range(9000):\n        out = model(rows[x])\nmodel.load_state_dict(a)\n", 0),
    "by the name, until something is true": (
        "def validate(model, rows):\n    while rows:\n        out = model(rows)\nmodel.load_state_dict(a)\n", 0),
    "at module level": ("model = nn.Linear(1, 1)\nmodel.eval()\nfor x in DataLoader(d):\n    model(x)\n", 1),
    "everything at once, in the training loop": (
        CALLED + "        evaluate(model, x)\ndef evaluate(model, x):\n    model.eval()\n    return model(x)\n", 1),
    "everything at once, now and then in the training loop": (
        CALLED + "        if n % 9 == 0:\n            score = evaluate(model, x)\ndef evaluate(model, x):\n    return model(x)\n", 1),
    "everything at once, for what each training step needs": (
        CALLED + "        score = evaluate(model, x)\ndef evaluate(model, x):\n    return model(x)\n", 0),
    "everything at once, by a helper": (
        CALLED + "        evaluate(model, x)\ndef evaluate(model, x):\n    return run(model, x)\ndef run(model, x):\n    return model(x)\n", 1),
    "everything at once, after training": (
        CALLED + "    evaluate(model, x)\ndef evaluate(model, x):\n    return model(x)\n", 0),
    "everything at once, under no_grad": (
        CALLED + "        evaluate(model, x)\ndef evaluate(model, x):\n    with torch.no_grad():\n        return model(x)\n", 0),
    "everything at once, called under no_grad": (
        CALLED + "        with torch.no_grad():\n            evaluate(model, x)\ndef evaluate(model, x):\n    return model(x)\n", 0),
    "everything at once, without a model": (CALLED + "        evaluate(model, x)\ndef evaluate(model, x):\n    return x\n", 0),
    "a long name of what is called": (
        evaluation("out = self.parts[0].very_long_name_of_a_module.another_long_name.model(x)", before="self.eval()").replace("(model, ", "(self, model, "), None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "count"), EVALUATIONS.values(), ids=EVALUATIONS)
def test_evaluation(text: str, count: int | None) -> None:
    found = codes(text).count("TLK501")
    assert found == (found if count is None else count)


BATCHES = {
    "a part of a batch that is moved as a whole": ("y.to(device)\nkept.append(y['image'])", 0),
    "a part of a batch of which a copy is moved": ("z = y.to(device)\nkept.append(y['image'])", 1),
    "a part of a batch that the model is given": ("z = y['thing']\nkept.append(z)\nmodel(z)", 1),
    "a part of a batch that something else is given": ("z = y['thing']\nkept.append(z)\nuse(z)", 0),
    "a part of a batch that is used as a tensor": ("z = y['thing']\nkept.append(z)\nz.view(1)", 1),
    "one of a pair": ("kept.append((y, z)[0])", 1),
    "one of a pair of tensors": ("kept.append((y.cpu().view(1), z)[0])", 1),
    "the least of all batches": ("kept.append(min(loader)['image'])", 1),
    "a part of a batch": ("kept.append(x)", 1),
    "a clone": ("kept.append(x.clone())", 0),
    "an array of it": ("kept.append(x.numpy())", 1),
    "a part of it by a slice": ("kept.append(y[:, 0])", 1),
    "the batch moved in place": ("batch = x\nbatch['a'] = batch['a'].to(device)\nkept.append(batch['a'])", 0),
    "what a helper makes of it": ("kept.append(f(x).T)", 0),
    "a label by its name": ("kept.append(y['image'])", 1),
    "an entry by another name": ("kept.append(y['path'])", 0),
    "an entry of what the model is given": ("kept.append(z)\nmodel(z)", 0),
    "the elements of an array": ("kept.extend(x.numpy())", 0),
    "the elements of a tensor": ("kept.extend(x)\nx.mean()", 1),
    "something else": ("kept.append(device)", 0),
}  # fmt: skip


@pytest.mark.parametrize(("body", "count"), BATCHES.values(), ids=BATCHES)
def test_batches(body: str, count: int) -> None:
    assert codes(step(body)).count("TLK404") == count


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("loader = DataLoader(d, num_workers=0)", 0),
        ("loader = DataLoader(d, num_workers=2)", 1),
        ("loader = get_loader(d)", 0),
        ("loader = get_loader(d, num_workers=2)", 1),
        ("loader = self.get_loader(d)", 1),
        ("loader = get_loader(d, num_workers=0)", 0),
    ],
)
def test_batches_are_shared_memory_where_there_are_workers(made: str, found: int) -> None:
    assert codes(step("kept.append(x)").replace("total, kept = 0, []", f"kept = []; {made}")).count("TLK404") == found


def test_a_loader_that_is_an_attribute_is_taken_to_have_workers() -> None:
    assert codes(step("kept.append(x)").replace("in loader:", "in self.loader:")).count("TLK404") == 1


def test_a_method_of_another_class_keeps_nothing_for_this_one() -> None:
    text = (
        METER.format(body="self.sum += value", init="[]")
        + "class Other:\n    def put(self, value):\n        self.last = value\n"
    )
    body = step("meter.update(loss)\nother.update(loss)").replace(
        "total, kept = 0, []", "meter, other = Meter(), Other()"
    )
    assert codes(text + body) == ["TLK403"]


def test_a_loader_under_another_name_that_a_function_of_the_file_makes() -> None:
    text = """\
import torch
from torch.utils.data import DataLoader

def feed(dataset):
    return DataLoader(dataset, num_workers=2)

def collect(dataset):
    kept, data = [], None
    data = feed(dataset)
    for x, y in data:
        kept.append(y.numpy())
    return kept

def train(loss):
    for _ in range(3):
        loss().backward()
"""
    assert codes(text) == ["TLK404"]


def test_what_a_caller_differentiates_is_no_evaluation() -> None:
    text = """\
def evaluate(model, loader):
    model.eval()
    total = 0
    for x, y in loader:
        total = total + model(x).sum()
    return total

def attack(model, loader):
    loss = evaluate(model, loader)
    loss.backward()
"""
    assert "TLK501" not in codes(text)
    assert "TLK501" in codes(text.replace("    loss.backward()\n", ""))
