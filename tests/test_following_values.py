"""Following a program: what values are, what they are made of, and what conditions say of them."""

from __future__ import annotations

import pytest

from tests.kept import grows, marked, program, reported, training

KEEP = "def keep(store, value): store.append(value)"

PROGRAMS: dict[str, str] = {
    # -- what carries history -----------------------------------------------------------------------------------
    "a loss": training("keep(kept, loss)  # TLK402", KEEP),
    "a number": training("keep(kept, loss.item())", KEEP),
    "detached": training("keep(kept, loss.detach())", KEEP),
    "the data": training("keep(kept, loss.data)", KEEP),
    "as numpy": training("keep(kept, loss.detach().numpy())", KEEP),
    "a shape": training("keep(kept, model(x).shape)", KEEP),
    "an index of the largest": training("keep(kept, model(x).argmax())", KEEP),
    "a comparison": training("keep(kept, model(x) > 0)", KEEP),
    "transposed": training("keep(kept, model(x).T)  # TLK402", KEEP),
    "negated": training("keep(kept, -loss)  # TLK402", KEEP),
    "an absolute value": training("keep(kept, abs(loss))  # TLK402", KEEP),
    "the weight itself": training("keep(kept, model.weight)", KEEP),
    "made of the weight": training("keep(kept, model.weight.norm())  # TLK402", KEEP),
    "a gradient": training("keep(kept, model.weight.grad)", KEEP),
    "a norm of a gradient": training("keep(kept, model.weight.grad.norm())", KEEP),
    "norms of parameters": training("keep(kept, sum(p.norm() for p in model.parameters()))  # TLK402", KEEP),
    "norms of named parameters": training(
        "keep(kept, [p.norm() for name, p in model.named_parameters()])  # TLK402", KEEP
    ),
    "names of parameters": training("keep(kept, [name for name, p in model.named_parameters()])", KEEP),
    "the largest along a dimension": training("keep(kept, model(x).max(dim=1).values)  # TLK402", KEEP),
    "the largest along a dimension, by place": training("keep(kept, model(x).max(1)[0])  # TLK402", KEEP),
    "where the largest is": training("keep(kept, model(x).max(dim=1).indices)", KEEP),
    "where the largest are": training("best, at = torch.topk(model(x), 1)\nkeep(kept, at)", KEEP),
    "the largest of all": training("keep(kept, model(x).max())  # TLK402", KEEP),
    "sorted": training("keep(kept, model(x).sort()[0])  # TLK402", KEEP),
    "an entry of a result": training("keep(kept, model(x)[0])  # TLK402", KEEP),
    "a slice of a result": training("keep(kept, model(x)[0:1, :])  # TLK402", KEEP),
    "a mask of a result": training("keep(kept, model(x)[x[:, 0] > 2])  # TLK402", KEEP),
    "text of a loss": training("keep(kept, f'{loss:.2f} {i!r}')", KEEP),
    "text by percent": training("keep(kept, '%.2f' % loss)", KEEP),
    "a product of gradients": training("g, = torch.autograd.grad(model(x).sum(), model.weight)\nkeep(kept, g)", KEEP),
    "a gradient with a graph": training(
        "g, = torch.autograd.grad((model(x) ** 2).sum(), model.weight, create_graph=True)\nkeep(kept, g)  # TLK402",
        KEEP,
    ),
    "random numbers that require grad": training(
        "z = torch.randn(3, 2, requires_grad=True)\nkeep(kept, z * 2)  # TLK402", KEEP
    ),
    "random numbers": training("keep(kept, torch.randn(3, 2) * 2)", KEEP),
    "a parameter of its own": training(
        "keep(kept, scale * 2)  # TLK402",
        KEEP,
        "kept = []\nscale = nn.Parameter(torch.ones(1))",
    ),
    "a layer without parameters on numbers": training(
        "keep(kept, relu(torch.ones(1)))", KEEP, "kept = []\nrelu = nn.ReLU()"
    ),
    "a layer without parameters on a result": training(
        "keep(kept, relu.to('cpu')(model(x)))  # TLK402", KEEP, "kept = []\nrelu = nn.ReLU()"
    ),
    "a layer of a library": training("keep(kept, net(x))  # TLK402", KEEP, "kept = []\nnet = nn.Linear(2, 1)"),
    "a frozen layer": training(
        "keep(kept, net(x))", KEEP, "kept = []\nnet = nn.Linear(2, 1)\nnet.requires_grad_(False)"
    ),
    "a gradient's clipping": training("keep(kept, nn.utils.clip_grad_norm_(model.parameters(), 1.0))", KEEP),
    "parameters as a vector": training("keep(kept, nn.utils.parameters_to_vector(model.parameters()))  # TLK402", KEEP),
    "stacked": training("keep(kept, torch.stack([loss, loss]))  # TLK402", KEEP),
    "a deep copy of numbers": training("keep(kept, copy.deepcopy(loss.detach()))", KEEP),
    "flattened": training("keep(kept, torch.flatten(model(x)))  # TLK402", KEEP),
    "a buffer of the state": training("keep(kept, model.state_dict())", KEEP),
    "what nothing is known of, differentiated": training(
        "t = one(x).sum() + two(x).sum()\nt.backward()\nkeep(kept, t)  # TLK402",
        KEEP,
        "kept, one, two = [], eval('nn.Linear(2, 1)'), eval('nn.Linear(2, 1)')",
    ),
    "what nothing is known of, without gradients": training(
        "with torch.no_grad():\n    keep(kept, one(x))", KEEP, "kept, one = [], eval('nn.Linear(2, 1)')"
    ),
    "a part that is replaced": training(
        "out = eval('dict(loss=model(x).sum())')\nout['loss'].backward()\nout['loss'] = out['loss'].detach()\n"
        "keep(kept, out)\nkeep(kept, out['loss'])",
        KEEP,
    ),
    "a scheduler": training(
        "keep(kept, scheduler.step())", KEEP, "kept, scheduler = [], torch.optim.lr_scheduler.StepLR(optimizer, 1)"
    ),
    "by a network's own forward": training("keep(kept, model.forward(x))  # TLK402", KEEP),
    "layers of a network": training(
        "for layer in net:\n    keep(kept, layer(x))  # TLK402", KEEP, "kept, net = [], nn.Sequential(nn.Linear(2, 1))"
    ),
    "a layer of a network": training(
        "keep(kept, net[0](x))  # TLK402", KEEP, "kept, net = [], nn.Sequential(nn.Linear(2, 1))"
    ),
    "one or the other": training("keep(kept, loss or 0)  # TLK402", KEEP),
    "an entry by a step": training("keep(kept, {i: loss})  # TLK402", KEEP),
    "the last of a list": training("keep(kept, [i, loss][-1])  # TLK402", KEEP),
    "the last of a list, a number": training("keep(kept, [loss, i][-1])", KEEP),
    "keys by a loop": training("for k in {'a': loss}:\n    keep(kept, k)", KEEP),
    "keys taken apart": training("a, b = {'a': loss, 'b': loss}\nkeep(kept, a)", KEEP),
    "of many operations": training("t = loss\n" + "t = t * 2\n" * 45 + "keep(kept, t)  # TLK402", KEEP),
    "one of many": training(
        "\n".join(f"if i > {n}:\n    t = loss * {n}" for n in range(12)) + "\nkeep(kept, t)  # TLK402",
        KEEP,
        "kept, t = [], 0",
    ),
    # -- gradients on and off -----------------------------------------------------------------------------------
    "without gradients": training("with torch.no_grad():\n    keep(kept, model(x))", KEEP),
    "with gradients again": training(
        "with torch.no_grad():\n    with torch.enable_grad():\n        keep(kept, model(x))  # TLK402",
        KEEP,
    ),
    "without gradients by a decorator": training(
        "keep(kept, made(model, x))", "@torch.no_grad()\ndef made(model, x): return model(x)\n" + KEEP
    ),
    "without gradients by inference mode": training(
        "keep(kept, made(model, x))", "@torch.inference_mode()\ndef made(model, x): return model(x)\n" + KEEP
    ),
    "switched off": training(
        "torch.set_grad_enabled(False)\nkeep(kept, model(x))\ntorch.set_grad_enabled(True)",
        KEEP,
    ),
    "switched on again": training(
        "torch.set_grad_enabled(False)\ntorch.set_grad_enabled(True)\nkeep(kept, model(x))  # TLK402",
        KEEP,
    ),
    "a context that is switched off": training("with torch.set_grad_enabled(False):\n    keep(kept, model(x))", KEEP),
    "a context that is switched on": training(
        "with torch.set_grad_enabled(True):\n    keep(kept, model(x))  # TLK402", KEEP
    ),
    "a function without gradients": training(
        "keep(kept, quiet(x))",
        KEEP,
        "kept = []\nquiet = torch.no_grad()(lambda x: model(x))",
    ),
    # -- changed in place ---------------------------------------------------------------------------------------
    "a number added in place by a helper": training(
        "add(total, loss.item())", "def add(t, v): t.add_(v)", "total = torch.zeros(())"
    ),
    "zeroed in each step": training(
        "total.zero_().detach_()\nadd(total, loss)", "def add(t, v): t.add_(v)", "total = torch.zeros(())"
    ),
    "detached in place": training("loss.detach_()\nkeep(kept, loss)", KEEP),
    "copied over a slot": training("row = torch.zeros(1)\nrow.copy_(loss)\nkeep(kept, row)  # TLK402", KEEP),
    "filled with a number": training("row = model(x)\nrow = row.detach().fill_(0)\nkeep(kept, row)", KEEP),
    "an entry of a tensor": training(
        "put(rows, i, loss)  # TLK402", "def put(rows, i, v): rows[i] = v", "rows = torch.zeros(10)"
    ),
    "a buffer that is got": training(
        "add(box, model(x).sum())  # TLK401",
        "def add(box, v): box.get_buffer('b').add_(v)",
        "box = eval('nn.BatchNorm1d(1)')\nbox.register_buffer('b', torch.zeros(()))",
    ),
    # -- sums ---------------------------------------------------------------------------------------------------
    "a sum in a helper": training("total = add(total, loss)  # TLK401", "def add(t, v): return t + v", "total = 0"),
    "a sum of numbers": training("total = add(total, float(loss))", "def add(t, v): return t + v", "total = 0"),
    "a mean that runs": training(
        "mean = blend(mean, loss)  # TLK401", "def blend(m, v): return 0.9 * m + 0.1 * v", "mean = torch.zeros(())"
    ),
    "a mean that runs, detached": training(
        "mean = blend(mean, loss)", "def blend(m, v): return 0.9 * m + 0.1 * v.detach()", "mean = torch.zeros(())"
    ),
    "a mean that is let go": training(
        "mean = blend(mean, loss).detach()", "def blend(m, v): return 0.9 * m + 0.1 * v", "mean = torch.zeros(())"
    ),
    "the last one only": training("last = same(loss)", "def same(v): return v", "last = None"),
    "a weighted part of a mean": training("a = same(a) * 0.5 + loss  # TLK401", "def same(v): return v", "a = 0"),
    "joined to a tensor": training(
        "rows = join(rows, loss.view(1))  # TLK402",
        "def join(a, b): return torch.cat([a, b])",
        "rows = torch.zeros(0)",
    ),
    "differentiated through a sum": program("""
        def add(t, v):
            return t + v
        def train(model, loader, criterion, optimizer):
            total = 0
            for x, y in loader:
                total = add(total, criterion(model(x), y))
                if model.in_features == 2:
                    total.backward()
                    optimizer.step()
                    total = 0
    """),
}

KEEP = KEEP

CONDITIONS = [
    ("isinstance(t, torch.Tensor)", "t.item()", "t", False),
    ("isinstance(t, (list, tuple))", "t", "t.item()", False),
    ("isinstance(t, float)", "t", "t.item()", False),
    ("not isinstance(t, torch.Tensor)", "t", "t.item()", False),
    ("not isinstance(t, torch.Tensor)", "t.item()", "t", True),
    ("isinstance([t], list)", "t.item()", "t", False),
    ("isinstance({}, collections.abc.Mapping)", "t.item()", "t", False),
    ("isinstance([t], dict)", "t", "t.item()", False),
    ("torch.is_tensor(t)", "t.item()", "t", False),
    ("torch.is_tensor(t)", "t", "t.item()", True),
    ("hasattr(t, 'detach')", "t.item()", "t", False),
    ("hasattr(t, 'item')", "t", "t.item()", True),
    ("t.requires_grad", "t.item()", "t", False),
    ("t is None", "t", "t.item()", False),
    ("t is not None", "t.item()", "t", False),
    ("None is not None", "t", "t.item()", False),
    ("True", "t.item()", "t", False),
    ("False or True", "t.item()", "t", False),
    ("False or False", "t", "t.item()", False),
    ("True and True", "t.item()", "t", False),
    ("True and False", "t", "t.item()", False),
    ("len(kept) > 2 and False", "t", "t.item()", False),
    ("'a' == 'b'", "t", "t.item()", False),
    ("'a' != 'b'", "t.item()", "t", False),
    ("1 < 2", "t.item()", "t", False),
    ("1 > 2", "t", "t.item()", False),
    ("len(kept) > -1", "t", "i", True),
    ("1 <= 2", "t", "i", True),
    ("isinstance(Row(1), Row)", "t", "i", True),
    ("isinstance(Row(1), float)", "i", "t", True),
    ("hasattr(t, 'foo')", "i", "t", True),
    ("max(i, 2)", "t", "i", True),
    ("eval('None') is None", "t", "i", True),
    ("x is y", "i", "t", True),
    ("0 < -1", "t", "t.item()", False),
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.parametrize(("test", "then", "other", "kept"), CONDITIONS)
@pytest.mark.parametrize("form", ["statement", "expression"])
def test_what_conditions_say(test: str, then: str, other: str, kept: bool, form: str) -> None:
    marker = "  # TLK402" if kept else ""
    if form == "statement":
        body = f"t = loss * 1\nif {test}:\n    value = {then}\nelse:\n    value = {other}\nkeep(kept, value){marker}"
    else:
        body = f"t = loss * 1\nkeep(kept, {then} if {test} else {other}){marker}"
    text = training(body, KEEP + "\nclass Row:\n    def __init__(self, v):\n        self.v = v")
    assert reported(text) == marked(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))
