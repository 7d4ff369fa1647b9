"""Families of generated files that ask much of following calls: what is kept gets there through others.

Their seeds are kept by helpers, so that only following finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from families import HEAD, Family, rows, spread

KEEPING = """\
def keep_{name}(kept, value):
    kept.append(value)


def train_{name}(model, loader, optimizer):
    kept = []
    for inputs, targets in loader:
        loss = F.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep_{name}(kept, loss)  # LEAK TLK402
    return kept


"""
STEP = """\
def step{n}(model, loader, optimizer, flags, terms):
    kept, table = [], {{}}
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
{body}    return kept, table


"""
KEEP = "def keep(kept, value):\n    kept.append(value)\n\n\n"
DEEP = 200
"""Helpers that call each other, closures or generators within one another, in one chain."""


def keeping(block: Callable[[int], str], head: str = "") -> Callable[[int], str]:
    """A file of blocks, with three training functions among them that keep their losses through a helper."""
    return lambda lines: spread(lines, HEAD + head, block, "", lambda name: KEEPING.format(name=name))


def in_steps(line: str, count: int = 30, head: str = KEEP) -> Callable[[int], str]:
    """A file of training functions, each with so many times a line (or a few) in its step; {k} and {n} count."""

    def block(n: int) -> str:
        body = "".join(rows((each.format(n=n, k=k) for each in line.splitlines()), 8) for k in range(count))
        return STEP.format(n=n, body=body)

    return keeping(block, head)


def in_one_step(line: str, before: str = "", head: str = KEEP, after: str = "") -> Callable[[int], str]:
    """A file with one training function among the three that keep their losses, as long as all of it."""

    def make(lines: int) -> str:
        each = line.count("\n") + 1
        body = rows(before.splitlines(), 8)
        body += "".join(rows(line.format(n=n).splitlines(), 8) for n in range(lines // each))
        seeds = [KEEPING.format(name=name) for name in ("first", "middle", "last")]
        return HEAD + head + seeds[0] + seeds[1] + STEP.format(n="", body=body + rows(after.splitlines(), 8)) + seeds[2]

    return make


def all_with_all(lines: int) -> str:
    """As many training loops as helpers, of which each calls each."""
    count = isqrt(lines)
    parts = [HEAD, KEEPING.format(name="first")]
    parts += [f"def help{k}(kept, value):\n    kept.append(value * {k})\n\n\n" for k in range(count)]
    for n in range(count):
        parts.append(STEP.format(n=n, body=rows((f"help{k}(kept, loss.detach())" for k in range(count)), 8)))
        if n == count // 2:
            parts.append(KEEPING.format(name="middle"))
    return "".join([*parts, KEEPING.format(name="last")])


def chain(n: int) -> str:
    """Helpers that hand a list and a loss on to the next one, and a training function that calls the first."""
    helpers = "".join(
        f"def hand{n}_{k}(kept, loss):\n    return hand{n}_{k + 1}(kept, loss)\n\n\n" for k in range(DEEP)
    )
    last = f"def hand{n}_{DEEP}(kept, loss):\n    kept.append(loss)\n\n\n"
    return helpers + last + STEP.format(n=n, body=rows([f"hand{n}_0(kept, loss)"], 8))


def doubling(n: int) -> str:
    """Helpers of which each calls the next one twice, and a training function that calls the first."""
    helpers = "".join(
        f"def twice{n}_{k}(kept, x):\n    twice{n}_{k + 1}(kept, x)\n    return twice{n}_{k + 1}(kept, x * 2)\n\n\n"
        for k in range(20)
    )
    return helpers + STEP.format(n=n, body=rows([f"twice{n}_0(kept, loss.detach())"], 8))


def closures(n: int) -> str:
    """Functions in functions, each of which calls the one in it and sets a variable of the outermost."""
    deep = 30
    down = "".join(" " * (8 + 4 * k) + f"def inner{k}(value{k}):\n" for k in range(deep))
    down += " " * (8 + 4 * deep) + f"kept.append(value{deep - 1}.detach())\n"
    up = "".join(" " * (12 + 4 * k) + f"inner{k + 1}(value{k})\n" for k in reversed(range(deep - 1)))
    return STEP.format(n=n, body=down + up + rows(["inner0(loss)"], 8))


def loops_within(n: int) -> str:
    """A helper that loops in a loop and calls the one before there, eight deep, and a step that calls it."""
    call = f"over{n - 1}(kept, part)" if n % 8 else "keep(kept, part.item())"
    loops = f"    for value in values:\n        for part in value:\n            {call}\n"
    return f"def over{n}(kept, values):\n{loops}\n\n" + STEP.format(n=n, body=rows([f"over{n}(kept, [loss])"], 8))


def generators(n: int) -> str:
    """Generators that yield from the next one, and a training function that goes over the first."""
    first = f"def stream{n}_0(loader):\n    for x, y in loader:\n        yield x, y\n\n\n"
    rest = "".join(f"def stream{n}_{k}(loader):\n    yield from stream{n}_{k - 1}(loader)\n\n\n" for k in range(1, 40))
    step = (
        f"def train{n}(model, loader, optimizer):\n    kept = []\n    for x, y in stream{n}_39(loader):\n"
        "        loss = F.mse_loss(model(x), y)\n        loss.backward()\n        keep(kept, loss.item())\n\n\n"
    )
    return first + rest + step


def hierarchy(n: int) -> str:
    """Twenty classes, each of the one before, whose methods call each other and those of the class before."""
    parts = []
    for k in range(20):
        base = f"Trainer{n}_{k - 1}" if k else "object"
        parts.append(f"class Trainer{n}_{k}({base}):\n")
        if not k:
            parts.append("    def __init__(self, model):\n        self.model, self.kept = model, []\n\n")
        parts.append(
            f"    def step{k}(self, x):\n        loss = self.model(x).mean()\n        loss.backward()\n"
            f"        self.kept.append(loss.item())\n        return self.step{max(k - 1, 0)}(x)\n\n"
            f"    def note(self, x):\n        self.kept.append({k})\n        {'super().note(x)' if k else 'pass'}\n\n\n"
        )
    parts.append(
        f"def fit{n}(model, loader):\n    trainer = Trainer{n}_19(model)\n    for x in loader:\n"
        "        trainer.step19(x)\n        trainer.note(x)\n\n\n"
    )
    return "".join(parts)


def records(n: int) -> str:
    """Records in records, the outermost of which is stored in each step."""
    parts = [f"@dataclass\nclass Note{n}_0:\n    value: object\n\n\n"]
    parts += [f"@dataclass\nclass Note{n}_{k}:\n    inner: Note{n}_{k - 1}\n\n\n" for k in range(1, 20)]
    made = "loss.detach()"
    for k in range(20):
        made = f"Note{n}_{k}({made})"
    return "".join(parts) + STEP.format(n=n, body=rows([f"keep(kept, {made})"], 8))


RECORDS = "from dataclasses import dataclass\n\n\n"
BASE = """\
class Base:
    def training_step(self, batch, index):
        loss = self.model(batch).mean()
        self.note(loss)
        return loss


"""
CHILD = """\
class Child{n}(Base):
    def note(self, value):
        self.count{n} = value.item()

    def compute_loss(self, batch):
        loss = self.model(batch).mean()
        self.note(loss)
        return loss


"""
WRAPPED = """\
def wrapped(function):
    def run(*args, **kwargs):
        return function(*args, **kwargs)

    return run


"""

LOOP = """\
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    loss.backward()
    keep(kept, loss.item())
"""
ELIF = "if flags == {n}:\n    pass\n" + "".join(
    f"elif flags == {k} + {{n}}:\n    keep(kept, loss.item())\n" for k in range(400)
)

FOLLOWED = (
    Family("200 helpers that hand on a list and a loss", keeping(chain)),
    Family("as many loops as helpers", all_with_all),
    Family("helpers that each call the next one twice", keeping(doubling)),
    Family(
        "helpers that recur with a list",
        keeping(
            lambda n: (
                f"def odd{n}(kept, x):\n    kept.append(x)\n    even{n}(kept, x * 2)\n\n\n"
                f"def even{n}(kept, x):\n    kept.append(x)\n    odd{n}(kept, x * 2)\n\n\n"
                + STEP.format(n=n, body=rows([f"odd{n}(kept, loss.detach())"], 8))
            )
        ),
    ),
    Family("closures in closures", keeping(closures)),
    Family("a class hierarchy", keeping(hierarchy)),
    Family("one class below another, all the way", lambda lines: classes_below(lines)),
    Family("many classes below one", keeping(lambda n: CHILD.format(n=n), BASE)),
    Family(
        "callbacks in a list",
        in_one_step(
            "hooks.append(lambda value: keep(kept, value.item() * {n}))",
            "hooks = []",
            after="for hook in hooks:\n    hook(loss)",
        ),
    ),
    Family(
        "callbacks in lists",
        in_steps("table[{k}] = [keep, lambda a, b: keep(a, b.item())]\ntable[{k}][0](kept, loss.item())"),
    ),
    Family("records in records", keeping(records, RECORDS + KEEP)),
    Family("arms that call a helper", in_one_step("if flags.use_{n}:\n    keep(kept, loss.item() * {n})")),
    Family("arms that hand a loss to a helper", in_one_step("if flags.use_{n}:\n    keep(kept, loss * {n})")),
    Family("elif arms that call a helper", in_one_step(ELIF)),
    Family("generators of generators", keeping(generators, KEEP)),
    Family(
        "comprehensions that call a helper",
        in_one_step("table[{n}] = [[keep(kept, (a * b).item()) for a in x] for b in y for c in terms]"),
    ),
    Family(
        "loops over one loader at module level",
        keeping(
            lambda n: LOOP,
            KEEP + "model, loader, kept = nn.Linear(1, 1), torch.utils.data.DataLoader([]), []\n",
        ),
    ),
    Family(
        "dicts of lambdas", in_one_step("table['{n}'] = lambda value: keep(kept, value.item())\ntable[flags](loss)")
    ),
    Family("entries read by a variable", in_one_step("table['{n}'] = loss.item()\nvalue = table[flags]")),
    Family("a dict that is handed on", in_one_step("table['{n}'] = loss.detach()\nreport(table)")),
    Family(
        "values of a dict",
        in_one_step("table['{n}'] = loss.detach()\nfor value in table.values():\n    keep(kept, value)"),
    ),
    Family("a list that grows by its copies", in_one_step("more = [*kept, loss.item()]\nkept = more + kept")),
    Family("a tuple of tuples", in_one_step("pair = (pair, loss.detach())\nkeep(kept, pair)", "pair = ()")),
    Family("attributes of one thing", in_one_step("flags.at{n} = loss * {n}\nvalue = terms(flags)")),
    Family(
        "attributes of one object",
        in_one_step("one.at{n} = loss.detach()\nreport(one)", "one = Thing()", KEEP + "class Thing:\n    pass\n\n\n"),
    ),
    Family(
        "partials of partials",
        in_one_step("hook = partial(hook, {n})", "hook = keep", "from functools import partial\n\n\n" + KEEP),
    ),
    Family(
        "arguments that are spread",
        in_one_step(
            "keep(*[kept, loss.item()])\nmany(*terms, *kept, **table)",
            "",
            KEEP + "def many(*args, **kwargs):\n    return args\n\n\n",
        ),
    ),
    Family(
        "containers made under one test",
        in_one_step(
            "    table[{n}] = []",
            "if (" + " or\n        ".join(f"flags.use_{k}" for k in range(200)) + "):",
        ),
    ),
    Family(
        "helpers with decorators",
        keeping(
            lambda n: (
                f"@wrapped\ndef help{n}(kept, value):\n    kept.append(value.item())\n\n\n"
                + STEP.format(n=n, body=rows([f"help{n}(kept, loss)"], 8))
            ),
            WRAPPED,
        ),
    ),
    Family(
        "helpers with helpers in loops",
        keeping(loops_within, KEEP),
    ),
    Family("names of one branch at module level", lambda lines: in_a_branch(lines)),
    Family(
        "losses of many terms handed on",
        in_steps("part{k} = terms[{k}](x) * loss\nkeep(table.setdefault({k}, []), part{k}.item())"),
    ),
    Family("many early returns of a helper", lambda lines: returning(lines)),
    Family(
        "variables of outer functions",
        in_one_step(
            "def inner{n}(value):\n    nonlocal total\n    total = total + value.item()\ninner{n}(loss)", "total = 0.0"
        ),
    ),
    Family("nothing but assignments of one name", in_one_step("value = terms(value, loss)", "value = 0")),
    Family(
        "attempts that call a helper", in_one_step("try:\n    keep(kept, loss.item())\nexcept ValueError:\n    raise")
    ),
)


def classes_below(lines: int) -> str:
    """Each class is derived from the one before, and each has a step."""
    parts = [HEAD + KEEP + KEEPING.format(name="first")]
    for n in range(lines // 9):
        parts.append(
            f"class Below{n}({f'Below{n - 1}' if n else 'object'}):\n    def training_step(self, x, index):\n"
            f"        loss = self.model(x).mean()\n        keep(self.kept{n}, loss.item())\n        loss.backward()\n"
            "        return loss\n\n\n"
        )
        if n == lines // 18:
            parts.append(KEEPING.format(name="middle"))
    return "".join([*parts, KEEPING.format(name="last")])


def in_a_branch(lines: int) -> str:
    """One branch of a module that binds many names, of which each is read in a step."""
    count = lines // 2
    body = rows((f"name{n} = {n}" for n in range(count)), 4)
    steps = "".join(
        STEP.format(n=n, body=rows((f"keep(kept, loss.item() * name{k})" for k in range(n, min(n + 100, count))), 8))
        for n in range(0, count, 100)
    )
    first, middle, last = (KEEPING.format(name=name) for name in ("first", "middle", "last"))
    return HEAD + KEEP + first + "if torch.cuda.is_available():\n" + body + "\n\n" + middle + steps + last


def returning(lines: int) -> str:
    """A helper with many ways out, and a training function that calls it a few times."""
    body = "".join(f"    if kind == {n}:\n        return value * {n}\n" for n in range(lines // 2))
    first, middle, last = (KEEPING.format(name=name) for name in ("first", "middle", "last"))
    helper = f"def choose(kind, value):\n{body}    return value\n\n\n"
    step = STEP.format(n=0, body=rows(["keep(kept, choose(flags, loss).item())"] * 2, 8))
    return HEAD + KEEP + first + helper + middle + step + last
