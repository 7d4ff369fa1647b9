"""What mutants are made of: the fixtures and the package's own source, and pieces of syntax."""

from __future__ import annotations

from functools import cache

from tests.conftest import ROOT
from tests.test_fixtures import FILES, unmarked


@cache
def corpus() -> list[str]:
    """Fixtures three times, for they are what rules speak of, and the package's own modules."""
    fixtures = [unmarked(path.read_text(encoding="utf-8")) for path in FILES]
    own = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "flake8_torchleak").rglob("*.py"))]
    return fixtures * 3 + own


NAMES = (
    "loader", "loss", "total", "self", "torch", "model", "x", "i", "item", "dataset", "data", "np", "cv2", "step",
    "criterion", "optimizer", "list", "super", "été", "ﬁt", "µ", "μ", "名前", "ｌｏｓｓ", "__init__", "__getitem__",
    "__len__", "forward", "training_step", "append", "detach", "backward", "no_grad", "print", "_", "match", "type",
)  # fmt: skip
"""Some in letters that Python folds into others: `ﬁt` is `fit`, `ｌｏｓｓ` is `loss`."""

OPERATORS = ("+", "-", "*", "/", "//", "%", "@", "|", "&", "^", "<<", "**", "<", "==", "is", "in", "and", "or", ":")

WRAPS = (
    "(E)", "(\n  E  # )\n)", "(E)()", "(y := E)", "(lambda: E)()", "[*E]", "(*E, E)", "{**E}", 'f"{E}"',
    "f'{E!r:>{E}}'", "(E) . mean ( )", "itertools.cycle(E)", "None", "lambda: (yield)",
    "(E).detach()", "(E).item()", "(E).cpu().numpy()", "(not E)", "-(E)", "(E or E)", "(await E)", "(yield E)",
    "(yield from E)", "[q for q in E]", "{q: E for q in E if q}", "(E for _ in E)", "(E)[0]", "(E)[1:, ..., None]",
    "(E)[lambda: 0]", "(E)[*E]", "type(E)(*E)", "str(E)", "(E).data", "next(iter(E))", "list(map(lambda q: q, E))",
    "(E @ E)", "[E for _ in range(3)]", "{'k': E}", "(E,)", "copy.deepcopy(E)", "torch.stack([E])", "torch.tensor(E)",
    "sum(E for q in x)", "dict(a=E, **E)", "(E if E else E)", "[E, [E], *E]", "(E == E < E)",
    "(lambda q=E, *a, k=E: E)", "np.array(E, dtype=object)", "getattr(E, 'loss')", "(E).append", "'日本🙂' + str(E)",
    "DataLoader(E, num_workers=2)", "tqdm(enumerate(E))", "zip(E, E)", "torch.no_grad()(E)", "self", "...",
)  # fmt: skip
"""`E` is the expression."""

TARGETS = (
    "x", "self.x", "self.x[i]", "x[0]", "x[...]", "x[i:j]", "(a, b)", "[a, *b]", "a, *b", "self.a, self.b[0]", "(x)",
    "loss", "total", "self", "x.y.z", "x().y", "self.losses[-1]", "total[loss]", "_", "(a, (b, [c, *d]))", "été",
    "x: int", "globals()['x']",
)  # fmt: skip

NESTS = (
    "try:\n    ...\nexcept Exception as error:\n    errors.append(error)\nelse:\n    pass\nfinally:\n    pass\n",
    "try:\n    ...\nexcept* (ValueError, RuntimeError) as loss:\n    raise\n",
    "try:\n    pass\nfinally:\n    ...\n",
    "with torch.no_grad():\n    ...\n",
    "with open(f) as (a, *b), torch.inference_mode(), x as self.y:\n    ...\n",
    "async with x as y:\n    ...\n",
    "if x:\n    ...\nelif y:\n    pass\nelse:\n    pass\n",
    "while True:\n    ...\nelse:\n    pass\n",
    "while (x := next(loader)) is not None:\n    ...\n",
    "for i, *j in enumerate(loader):\n    ...\n",
    "for x, y in loader: pass\nelse:\n    ...\n",
    "for epoch in range(10):\n    ...\n",
    "async for x in loader:\n    ...\n",
    "match x:\n    case {'a': [y, *_], **k} | {'b': y, **k} if (z := y):\n    ...\n",
    "match x:\n    case Loss(total=loss) as x:\n        pass\n    case _:\n    ...\n",
    "match x, y:\n    case 1 | -1.5j | None | 'a' 'b', _:\n    ...\n",
    "class Inner(Dataset):\n    ...\n",
    "class Inner(nn.Module, metaclass=type):\n    ...\n",
    "def inner(self, *a, k=1, **kw):\n    ...\n",
    "def __getitem__(self, i, /, j=(z := 1)):\n    ...\n",
    "async def inner(x: int = 0, /, *, y: 'Loss' = 1) -> 'list[':\n    ...\n",
    "@torch.no_grad()\n@property\ndef forward(self, x):\n    ...\n",
    "def training_step(self, batch, batch_idx):\n    ...\n",
)
"""`...` is the statement."""

HEADERS = (
    (r"\bclass (\w+)\(.*\):$", r"class \1:"),
    (r"\bclass (\w+)\((.*)\):$", r"class \1(\2, *bases, metaclass=M, **kw):"),
    (r"\bclass (\w+)", r"class \1[T: int, *Ts, **P]"),
    (r"\bclass (\w+)\(.*\):$", r"class \1(Base):"),
    (r"\bclass (\w+)\(.*\):$", r"class \1(\1):"),
    (r"\bclass (\w+)\(.*\):$", r"class \1(lib.Rows[int], Generic['T']):"),
    (r"\bdef (\w+)\(", r"def \1[T = int]("),
    (r"\bdef (\w+)\(", r"def \1[T]("),
    (r"\bdef (\w+)\(.*\):$", r"def \1():"),
    (r"\bdef (\w+)\(.*\):$", r"def \1(*self):"),
    (r"\bdef (\w+)\(self, ", r"def \1(this, /, "),
    (r"\bdef (\w+)\((.*)\):$", r"def \1(*, \2):"),
    (r"\bdef (\w+)\((\w+), (.*)\):$", r"def \1(\3=1, /, \2=2, **kw) -> None:"),
    (r"^( *)def ", r"\1@staticmethod\n\1def "),
    (r"^( *)def ", r"\1@(lambda f: f)\n\1@x.y[0](self)\n\1def "),
    (r"^( *)(def|for|with) ", r"\1async \2 "),
    (r"^( *)for (.*) in (.*):$", r"\1for \2 in *\3, *x:"),
    (r"^( *)for (.*) in (.*):$", r"\1for self.x in \3:"),
    (r"^( *)for (.*) in (.*):$", r"\1for \2 in \3: break"),
    (r"^( *)(\w+) = (.*)$", r"\1\2: Final = \3"),
    (r"^( *)(\w+) = (.*)$", r"\1\2 = été = self.\2 = \3"),
    (r"^( *)(\w+) = (.*)$", r"\1\2 += \3"),
    (r"^( *)(\w+) = (.*)$", r"\1global \2; \2 = \3"),
    (r"^( *)(\w+) = (.*)$", r"\1type \2[T: x] = \3"),
    (r"^( *)return (.*)$", r"\1return *\2, *x"),
    (r"^( *)return (.*)$", r"\1yield \2"),
    (r"^( *)return (.*)$", r"\1del \2"),
    (r"^from (\S+) import (.*)$", r"from \1 import *"),
    (r"^import (\S+)$", r"import \1 as loss, \1.x"),
    (r"^import (\S+)$", r"from . import \1"),
)
"""What is found in a line, and what takes its place. New syntax is refused by Pythons that do not have it."""
