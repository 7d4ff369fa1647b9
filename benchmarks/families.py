"""Generated files of any length, each family long in a way of its own, with leaks seeded at three places.

A line that ends in `# LEAK TLKnnn` is one that the analysis must find, however long the file. Families that are
declared hostile only have to end: nobody writes such code, and what is given up must be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom torch.utils.data import Dataset\n\n\n"
SEED = """\
def train_{name}(model, loader, optimizer):
    total = 0.0
    for inputs, targets in loader:
        loss = F.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # LEAK TLK401
    return total


"""
IN_LOOP = """\
def train(model, loader, optimizer, terms, flags, kind):
    first, middle, last, history, table = [], [], [], [], {}
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
"""
AFTER_LOOP = """\
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return first, middle, last, history, table
"""
PLACES = ("first", "middle", "last")


@dataclass(frozen=True)
class Family:
    """name; make: the text of a file with about so many lines; hostile: leaks may be missed, if that is said."""

    name: str
    make: Callable[[int], str]
    hostile: bool = False


def spread(lines: int, head: str, block: Callable[[int], str], tail: str, seed: Callable[[str], str]) -> str:
    """Blocks until there are so many lines, with seeds before the first, after half of them, and after the last."""
    parts, count, n = [head, seed("first")], head.count("\n") + tail.count("\n"), 0
    halfway = False
    while count < lines:
        parts.append(block(n))
        count += parts[-1].count("\n")
        n += 1
        if not halfway and count >= lines // 2:
            parts.append(seed("middle"))
            halfway = True
    return "".join([*parts, seed("last"), tail])


def at_module_level(block: Callable[[int], str], head: str = "") -> Callable[[int], str]:
    """A file of blocks, with three training functions among them."""
    return lambda lines: spread(lines, HEAD + head, block, "", lambda name: SEED.format(name=name))


def in_a_step(
    block: Callable[[int], str], before: str = "", after: str = "", head: str = "", indent: int = 8
) -> Callable[[int], str]:
    """A file with one function, one loop in it and the blocks in that; each seed keeps the loss of the moment."""

    def seed(name: str) -> str:
        return " " * indent + f"{name}.append(loss)  # LEAK TLK402\n"

    return lambda lines: spread(lines, HEAD + head + IN_LOOP + before, block, after + AFTER_LOOP, seed)


def arms(first: str, block: Callable[[int], str]) -> Callable[[int], str]:
    """A file whose one step is a single statement with many arms; what it makes is kept before, in and after it."""

    def make(lines: int) -> str:
        parts = [HEAD, IN_LOOP, "        first.append(loss)  # LEAK TLK402\n", first]
        count, n = 12, 0
        while count < lines:
            parts.append(block(n))
            count += parts[-1].count("\n")
            n += 1
            if count >= lines // 2 > count - parts[-1].count("\n"):
                parts.append("                middle.append(loss)  # LEAK TLK402\n")
        return "".join([*parts, "        last.append(loss)  # LEAK TLK402\n", AFTER_LOOP])

    return make


def rows(items: Iterable[str], indent: int) -> str:
    """One item a line."""
    return "".join(" " * indent + each + "\n" for each in items)


REAL = """\
class Photos{n}(Dataset):
    def __init__(self, root, transform):
        self.paths = sorted(root.glob("*.jpg"))
        self.labels = []
        for path in self.paths:
            self.labels.append(path.split("/")[-2])
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = self.transform(load(self.paths[index]))
        return image, self.labels[index]


def train{n}(model, loader, criterion, optimizer):
    total, losses = 0.0, []
    for step, (inputs, targets) in enumerate(loader):
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
        losses.append(loss.item())
    return total / len(loader), losses


def evaluate{n}(model, loader):
    model.eval()
    correct = 0
    for inputs, targets in loader:
        correct += (model(inputs).argmax(1) == targets).sum().item()
    return correct


"""
DATASET = """\
class Rows{n}(Dataset):
    def __init__(self, root):
        self.rows = [line.split() for line in open(root)]  # LEAK TLK101
        self.mean = torch.zeros(3)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


"""
METER = """\
class Meter{n}:
    def __init__(self):
        self.total, self.rows, self.count = 0, [], 0

    def update(self, value):
        self.total += value.item()
        self.rows.append(value.detach())
        self.count += 1

    def mean(self):
        return self.total / self.count


"""
NETWORK = """\
class Block{n}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, state=None):
        state = self.inner(x) if state is None else state + self.inner(x)
        return self.norm(state)


"""
EVALUATION = """\
def validate{n}(model, loader):
    model.eval()
    with torch.no_grad():
        right = 0
        for inputs, targets in loader:
            right += (model(inputs).argmax(1) == targets).sum().item()
    model.train()
    return right


"""
STEP_LOOP = """\
for inputs, targets in loader:
    loss = F.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""
NESTED = "".join("    " * (2 + depth) + f"if flags.a{depth}:\n" for depth in range(40))
TRY = """\
        try:
            loss = loss + terms[{n}](x)
        except ValueError as error:
            print(error)
        finally:
            table[{n}] = 1
"""
INHERITED = """\
class Layer{n}({base}):
    def part{n}(self, x):
        self.width{n} = x.shape[0]
        return self.part{before}(x) if x.sum() > {n} else x


"""
METHOD = """\
    def step{n}(self, x):
        self.value{n} = self.network(x)
        self.seen.append(self.value{n}.item())
        return self.step{after}(x)

"""
OWNER = """\
class Owner:
    def __init__(self, network):
        self.network, self.seen = network, []

"""
FITTING = """\
class Fitting:
    def __init__(self):
        self.history, self.first, self.middle, self.last = [], [], [], []

    def fit(self, model, loader):
        for x, y in loader:
            self.loss = F.mse_loss(model(x), y)
"""
HOLDER = """\
class Many(Dataset):
    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.names[index]

    def __init__(self, root):
        self.names = [line.split() for line in open(root)]  # LEAK TLK101
"""

FAMILIES = (
    Family("real code", at_module_level(lambda n: REAL.format(n=n))),
    Family("Datasets", at_module_level(lambda n: DATASET.format(n=n))),
    Family("classes", at_module_level(lambda n: METER.format(n=n))),
    Family("networks", at_module_level(lambda n: NETWORK.format(n=n))),
    Family("evaluation functions", at_module_level(lambda n: EVALUATION.format(n=n))),
    Family(
        "loops at module level",
        at_module_level(lambda n: STEP_LOOP, "model, loader, optimizer = nn.Linear(1, 1), [], None\n"),
    ),
    Family(
        "helpers in a chain",
        at_module_level(lambda n: f"def help{n}(model, x):\n    return help{n + 1}(model, x) * {n}\n\n\n"),
    ),
    Family(
        "helpers that fan out",
        at_module_level(
            lambda n: (
                f"def fan{n}(model, x):\n    a = fan{2 * n + 1}(model, x)\n    b = fan{2 * n + 2}(model, x)\n"
                "    return model(x) + a + b\n\n\n"
            )
        ),
    ),
    Family(
        "helpers that recur",
        at_module_level(
            lambda n: (
                f"def again{n}(model, x):\n    y = again{n ^ 1}(model, model(x))\n"
                f"    return y + again{n // 2}(model, y) + again{n}(model, x)\n\n\n"
            )
        ),
    ),
    Family(
        "one helper, many callers",
        at_module_level(
            lambda n: f"def caller{n}(model, loader):\n    for x in loader:\n        shared(model, x)\n\n\n",
            "def shared(model, x):\n    loss = model(x).mean()\n    loss.backward()\n    return loss\n\n\n",
        ),
    ),
    Family(
        "optional terms", in_a_step(lambda n: f"        if flags.use_{n}:\n            loss = loss + terms[{n}](x)\n")
    ),
    Family(
        "optional terms that accumulate",
        in_a_step(
            lambda n: f"        if flags.use_{n}:\n            sums += terms[{n}](x)\n", before="        sums = 0\n"
        ),
    ),
    Family(
        "functions with 30 optional terms",
        at_module_level(
            lambda n: (
                f"def optional{n}(model, loader, terms, flags):\n    for x, y in loader:\n"
                "        loss = F.mse_loss(model(x), y)\n"
                + "".join(f"        if flags.use_{k}:\n            loss = loss + terms[{k}](x)\n" for k in range(30))
                + "        loss.backward()\n\n\n"
            )
        ),
    ),
    Family(
        "elif arms",
        in_a_step(
            lambda n: (
                "        if kind == -1:\n            pass\n"
                + "".join(
                    f"        elif kind == {k}:\n            loss = loss + terms[{k}](x) * {k} + terms[{k + 1}](y)\n"
                    for k in range(500)
                )
            )
        ),
    ),
    Family(
        "match cases",
        arms(
            "        match kind:\n", lambda n: f"            case {n}:\n                loss = loss + terms[{n}](x)\n"
        ),
    ),
    Family("appends in one function", in_a_step(lambda n: f"        history.append(terms[{n}](x).item())\n")),
    Family("appends of tensors", in_a_step(lambda n: f"        history.append(loss.detach() * {n})\n")),
    Family("one name assigned again", in_a_step(lambda n: f"        loss = loss * 0.5 + terms[{n}](x)\n")),
    Family("entries of one dict", in_a_step(lambda n: f"        table['{n}'] = loss.item() * {n}\n")),
    Family("many names", in_a_step(lambda n: f"        value_{n} = terms[{n}](x, value_{n // 2 if n else 'x'})\n")),
    Family(
        "loops in one function",
        in_a_step(lambda n: f"        for part in terms[{n}]:\n            loss = loss + part(x)\n"),
    ),
    Family(
        "backward calls in one function",
        in_a_step(
            lambda n: f"        loss = F.mse_loss(model(x * {n}), y)\n        loss.backward()\n        total += loss\n",
            before="        total = 0.0\n",
        ),
    ),
    Family(
        "losses that are freed and kept",
        in_a_step(
            lambda n: (
                f"        loss_{n} = F.mse_loss(model(x * {n}), y)\n        loss_{n}.backward()\n"
                f"        history.append(loss_{n})\n"
            )
        ),
    ),
    Family(
        "one loss that is freed and kept again and again",
        in_a_step(
            lambda n: (
                f"        loss = F.mse_loss(model(x * {n}), y)\n        loss.backward()\n        history.append(loss)\n"
            )
        ),
    ),
    Family(
        "a loss of an object that is freed and kept",
        lambda lines: spread(
            lines,
            HEAD + FITTING,
            lambda n: (
                f"            self.loss = F.mse_loss(model(x * {n}), y)\n            self.loss.backward()\n"
                "            self.history.append(self.loss)\n"
            ),
            "        return self.history\n",
            lambda name: f"            self.{name}.append(self.loss)  # LEAK TLK402\n",
        ),
    ),
    Family(
        "stores of one freed value",
        in_a_step(
            lambda n: f"        sums[{n % 9}] += loss\n        kept_{n} = [loss, loss * {n}]\n",
            before="        sums = [0.0] * 9\n",
        ),
    ),
    Family(
        "holders of one freed value",
        in_a_step(lambda n: f"        total_{n} = total_{n} + loss\n", before="        loss = loss * 2\n"),
    ),
    Family(
        "loops with a backward call in one function",
        in_a_step(
            lambda n: (
                f"        for part in terms[{n}]:\n            loss = part(x).mean()\n            loss.backward()\n"
                "            total += loss\n"
            ),
            before="        total = 0.0\n",
        ),
    ),
    Family(
        "terms of a loss that are kept",
        in_a_step(
            lambda n: (
                f"        term_{n} = terms[{n}](x)\n        loss = loss + term_{n}\n        history.append(term_{n})\n"
            )
        ),
    ),
    Family(
        "steps in one function",
        in_a_step(
            lambda n: (
                f"        loss = F.mse_loss(model(terms[{n}]), y)\n        optimizer.zero_grad()\n"
                "        loss.backward()\n        optimizer.step()\n        history.append(loss.item())\n"
            )
        ),
    ),
    Family(
        "training loops in one function",
        lambda lines: spread(
            lines,
            HEAD + "def train(model, loader, optimizer):\n    total = 0.0\n",
            lambda n: rows([*STEP_LOOP.splitlines(), f"    value{n} = loss.item()"], 4),
            "    return total\n",
            lambda name: rows([*STEP_LOOP.splitlines(), "    total += loss  # LEAK TLK401"], 4),
        ),
    ),
    Family(
        "sums of 60 kept terms",
        in_a_step(
            lambda n: (
                rows((f"term_{k} = terms[{k}](x, {n})" for k in range(60)), 8)
                + "        loss = loss + (\n"
                + rows(("+" * bool(k) + f" term_{k}" for k in range(60)), 12)
                + "        )\n"
                + rows((f"history.append(term_{k})" for k in range(60)), 8)
            )
        ),
    ),
    Family("deep nesting", in_a_step(lambda n: NESTED + "    " * 42 + f"loss = loss + terms[{n}](x)\n")),
    Family("try chains", in_a_step(lambda n: TRY.format(n=n))),
    Family("many with", in_a_step(lambda n: f"        with terms[{n}] as part:\n            loss = loss + part(x)\n")),
    Family(
        "many no_grad",
        in_a_step(lambda n: f"        with torch.no_grad():\n            history.append(model(x) * {n})\n"),
    ),
    Family(
        "nested functions",
        in_a_step(
            lambda n: f"        def inner{n}(z):\n            return z + loss * {n}\n        loss = inner{n}(loss)\n"
        ),
    ),
    Family("lambdas", in_a_step(lambda n: f"        table[{n}] = lambda z: z * {n} + x\n")),
    Family(
        "comprehensions",
        in_a_step(lambda n: f"        table[{n}] = [[a * b for a in x if a] for b in y for c in terms[{n}]]\n"),
    ),
    Family(
        "f-strings",
        in_a_step(lambda n: f"        print(f'{{kind}}: {{loss.item():.{n % 9}f}} of {{terms[{n}]!r:>{{kind}}}}')\n"),
    ),
    Family(
        "early returns",
        in_a_step(
            lambda n: f"        if flags.stop_{n}:\n            return {n}\n        loss = loss + terms[{n}](x)\n"
        ),
    ),
    Family("unpacking", in_a_step(lambda n: f"        (a, b), *rest = terms[{n}](x)\n        loss = loss + a\n")),
    Family(
        "sums of 900 terms",
        in_a_step(
            lambda n: "        loss = (loss\n" + rows((f"+ terms[{k}](x)" for k in range(900)), 12) + "        )\n"
        ),
    ),
    Family(
        "calls with many arguments",
        in_a_step(
            lambda n: (
                "        loss = loss + max(\n" + rows((f"model(x + {k})," for k in range(900)), 12) + "        )\n"
            )
        ),
    ),
    Family(
        "method chains of 300",
        in_a_step(lambda n: "        loss = (loss\n" + rows((f".add({k})" for k in range(300)), 12) + "        )\n"),
    ),
    Family(
        "attribute chains of 300",
        in_a_step(lambda n: "        z = (x\n" + rows((f".part{k}" for k in range(300)), 12) + "        )\n"),
    ),
    Family(
        "subscript chains of 300",
        in_a_step(lambda n: "        z = (x\n" + rows((f"[{k}]" for k in range(300)), 12) + "        )\n"),
    ),
    Family(
        "big dict literal",
        at_module_level(
            lambda n: (
                f"TABLE{n} = {{\n" + rows((f'"key{k}": ("a", {k}, [{k}, {k}]),' for k in range(2000)), 4) + "}\n\n\n"
            )
        ),
    ),
    Family(
        "one dict literal",
        lambda lines: (
            HEAD
            + SEED.format(name="first")
            + "TABLE = {\n"
            + rows((f'"key{k}": ("a", {k}),' for k in range(lines // 2)), 4)
            + "}\n\n\n"
            + SEED.format(name="middle")
            + "LIST = [\n"
            + rows((f'("a", {k}),' for k in range(lines // 2)), 4)
            + "]\n\n\n"
            + SEED.format(name="last")
        ),
    ),
    Family(
        "inheritance chain",
        at_module_level(
            lambda n: INHERITED.format(n=n, before=max(n - 1, 0), base=f"Layer{n - 1}" if n else "nn.Module")
        ),
    ),
    Family(
        "Datasets in a chain",
        at_module_level(
            lambda n: (
                f"class Rows{n}({f'Rows{n - 1}' if n else 'Dataset'}):\n    def __getitem__(self, index):\n"
                f"        return self.rows{n}[index]\n\n    def __init__(self, root):\n"
                f"        self.rows{n} = [line.split() for line in open(root)]  # LEAK TLK101\n\n\n"
            )
        ),
        hostile=True,  # a class of thousands of bases: beyond 50, facts of bases are left out, and that is said
    ),
    Family(
        "methods of one class",
        lambda lines: (
            HEAD
            + SEED.format(name="first")
            + OWNER
            + "".join(METHOD.format(n=n, after=n + 1) for n in range(lines // 5))
            + "\n"
            + SEED.format(name="last")
        ),
    ),
    Family(
        "attributes of one Dataset",
        lambda lines: (
            HEAD
            + SEED.format(name="first")
            + HOLDER
            + rows((f"self.at{n} = root + self.at{n // 2}" for n in range(lines)), 8)
            + "\n\n"
            + SEED.format(name="last")
        ),
    ),
    Family(
        "decorators",
        at_module_level(
            lambda n: "".join(f"@wrap{k}({n})\n" for k in range(20)) + f"def wrapped{n}(x):\n    return x\n\n\n"
        ),
    ),
    Family(
        "imports",
        at_module_level(
            lambda n: f"import package{n}.part as part{n}\nfrom package{n} import name{n}, other as other{n}\n"
        ),
    ),
    Family(
        "global statements",
        at_module_level(
            lambda n: (
                f"count{n} = 0\n\n\ndef bump{n}(x):\n    global count{n}\n    count{n} += x.item()\n"
                f"    return count{n}\n\n\n"
            )
        ),
    ),
    Family(
        "assignments at module level", at_module_level(lambda n: f"value = torch.zeros({n}) + value\n", "value = 0\n")
    ),
)
