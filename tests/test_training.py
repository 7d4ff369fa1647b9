"""Law 5: a program before and after its safe fixes ends with the same parameters and prints the same numbers.

Each construct four times here, two hundred programs with `-m long`, five thousand with `-m soak`;
`python -m tests.training` makes others.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from tests.training import escapes, holders, steps, values, wrong  # noqa: E402
from tests.training.generate import CONSTRUCTS, UNSAFE, program  # noqa: E402
from tests.training.judge import Verdict, judge, mend, patched  # noqa: E402
from tests.training.measure import growth, kept  # noqa: E402
from tests.training.program import ENTRY, Program, joined, split  # noqa: E402
from tests.training.run import FIELDS, run, warm  # noqa: E402
from tests.training.small import small  # noqa: E402
from tests.training.table import ALL, Table  # noqa: E402
from tests.training.unsafe import difference, lines  # noqa: E402
from tests.training.without import WITHOUT  # noqa: E402

FEW, COUNT, MOST, SEED = 4 * len(CONSTRUCTS), 200, 5000, 20


@pytest.fixture(scope="module", autouse=True)
def warmed() -> None:
    warm()


def checked(count: int, seed: int) -> Table:
    """The table of so many programs, every one of which must come through."""
    table = Table()
    for number in range(count):
        verdict = judge(program(seed, number))
        table.add(verdict)
        assert not verdict.failure, shown(verdict, f"python -m tests.training --seed {seed} --only {number}")
    return table


def shown(verdict: Verdict, how: str) -> str:
    """A failing program, what became of it, and how to make it again."""
    return f"{verdict.failure} ({how})\n{verdict.program.text}\n--- fixed ---\n{joined(verdict.mended.files)}"


def balanced(table: Table, count: int) -> None:
    """The programs are of all constructs, half have an escape, a third is changed by a fix."""
    print("\n".join(table.lines()))
    everything = table.counts(ALL)
    assert everything["programs"] == count
    assert 0.45 * count <= everything["escape"] <= 0.55 * count
    assert everything["changed"] >= count / 3
    assert everything["raise"] <= 0.03 * count
    assert set(CONSTRUCTS) <= table.by_construct.keys()
    assert min(table.counts(each)["programs"] for each in CONSTRUCTS) >= min(100, count // len(CONSTRUCTS))


@pytest.mark.parametrize(
    ("count", "seed"),
    [
        (FEW, SEED),
        pytest.param(COUNT, SEED, marks=pytest.mark.long),
        pytest.param(MOST, SEED + 1, marks=pytest.mark.soak),
    ],
)
def test_safe_fixes_keep_training_as_it_is(count: int, seed: int) -> None:
    balanced(checked(count, seed), count)


# -- the generator ------------------------------------------------------------------------------------------


def test_a_seed_and_number_make_the_same_program_again() -> None:
    made = [program(3, number) for number in range(40)]
    assert made == [program(3, number) for number in range(40)]
    assert len({each.text for each in made}) == len(made)
    assert program(4, 0) != program(3, 0)


@pytest.mark.long
@pytest.mark.watched
def test_everything_in_the_grammar_is_made() -> None:
    made = [program(9, number) for number in range(2100)]
    made += [program(9, number, construct) for construct in ("datasets", *UNSAFE[-7:]) for number in range(300)]
    for each in made:
        for text in each.files.values():
            ast.parse(text)
    seen = {each.escape for each in made}
    assert {*escapes.WAYS, "looked"} <= seen
    assert {f"value: {each}" for each in values.MAKERS} <= seen
    assert {"lock", "none", "shared", "list class"} <= {each.removeprefix("element: ") for each in seen}
    assert set(holders.KINDS) <= {each.cell.get("holder") for each in made}
    assert set(steps.MAKERS) - {"plain"} <= {each.construct for each in made}
    assert {"for", "while", "enumerate", "epochs", "zip", "try"} <= {each.cell.get("loop") for each in made}
    assert {"function", "method", "script"} <= {each.cell.get("stage") for each in made}
    assert sum(len(each.files) > 1 for each in made) > 400
    assert any(each.meant for each in made)


def test_every_second_program_has_an_escape_whatever_is_asked_for() -> None:
    for construct in UNSAFE:
        made = [program(1, number, construct) for number in range(40)]
        assert {each.construct for each in made} == {construct}
        assert sum(bool(each.escape) for each in made) == 20


def test_files_are_one_text_and_several_again() -> None:
    one, two = {ENTRY: "x = 1\n"}, {ENTRY: "import a\n", "a.py": "y = 2\n", "p/b.py": "z = 3\n"}
    assert split(joined(one)) == one
    assert split(joined(two)) == two
    assert joined(one) == "x = 1\n"


# -- the harness can fail -----------------------------------------------------------------------------------


def failures(programs: list[Program], fixer: object = mend) -> list[str]:
    """The failure of each program that does not raise as it is."""
    verdicts = [judge(each, fixer) for each in programs]  # type: ignore[arg-type]
    return [each.failure for each in verdicts if each.before is not None and not each.before.error]


def of_training(share: range) -> list[Program]:
    """Programs of the training side whose values are differentiated by somebody."""
    made = [program(5, number) for number in share]
    return [each for each in made if each.escape in escapes.WAYS]


@pytest.mark.long
@pytest.mark.watched
def test_detaching_everything_is_found_out() -> None:
    found = failures(of_training(range(150)), wrong.detaching)
    assert len(found) > 30
    assert sum(bool(each) for each in found) >= 0.85 * len(found)
    assert {"parameters differ", "gradients differ"} <= set(found)


@pytest.mark.long
@pytest.mark.watched
def test_detaching_what_nobody_differentiates_is_not() -> None:
    made = [program(5, number) for number in range(100)]
    plain = [each for each in made if not each.escape and each.cell.get("value") == "spent"]
    found = Counter(failures(plain, wrong.detaching))
    assert found[""] >= 0.6 * sum(found.values())
    assert not found["parameters differ"] + found["gradients differ"]


@pytest.mark.long
@pytest.mark.watched
def test_copying_every_element_is_found_out() -> None:
    made = [program(6, number, "datasets") for number in range(160)]
    seen = [each for each in made if each.escape.endswith(("method", "property", "outside", "identity"))]
    seen = [each for each in seen if each.cell["form"] != "nobody"]
    found = failures(seen, wrong.copying)
    assert len(found) > 20
    assert sum(bool(each) for each in found) >= 0.6 * len(found)
    fine = [each for each in made if not each.escape and each.cell["form"] == "sample"]
    assert len(fine) > 5
    assert failures(fine, wrong.copying) == [""] * len(fine)


LEAK = Program(
    {
        ENTRY: """\
import torch
net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
kept = []
for step in range(4, 50):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept.append(loss)
print(len(kept))
"""
    },
    "lists",
    frozenset({"lists"}),
)


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("1 / 0", "exception: ZeroDivisionError"),
        ("while True: pass", "exception: TooLong"),
        ("with torch.no_grad(): net.weight.add_(1e-7)", "parameters differ"),
        ("net.weight.grad = None", "gradients differ"),
        ("print(1)", "printed differ"),
        ("extra = 1", "globals differ"),
        ("kept[0] = kept[0].double()", "globals differ"),
        ("pass", "graph still kept"),
        ("kept[:] = [each.detach() for each in kept]", "graph still kept"),
    ],
)
def test_a_wrong_fix_is_named(line: str, failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.training.run.SECONDS", 0.3)
    assert judge(LEAK, wrong.appending(line)).failure == failure


def test_a_right_fix_is_none() -> None:
    verdict = judge(LEAK)
    assert verdict.changed
    assert verdict.failure == ""
    assert verdict.kept is not None
    assert verdict.kept[0].graph > 0
    assert verdict.kept[1].graph == 0


def test_what_raises_as_it_is_must_raise_the_same() -> None:
    raising = replace(LEAK, files={ENTRY: LEAK.files[ENTRY] + "kept[5].nothing\n"})
    assert judge(raising).failure == ""
    caught = raising.files[ENTRY].replace("kept[5].nothing", "try: kept[5].nothing\nexcept AttributeError: pass")
    assert judge(raising, lambda files: replace(mend(files), files={ENTRY: caught})).failure == "exception: gone"
    spent = replace(LEAK, files={ENTRY: LEAK.files[ENTRY] + "sum(kept).backward()\n"})
    verdict = judge(spent, wrong.detaching)
    assert verdict.before is not None
    assert "second time" in verdict.before.error
    assert verdict.failure == ""


@pytest.mark.long
@pytest.mark.parametrize("name", WITHOUT)
def test_without_its_checks_the_package_breaks_programs(name: str) -> None:
    made = [program(5, number) for number in range(12 * len(CONSTRUCTS))]
    made = [each for each in made if each.escape and (name == "sharing") is ("datasets" in each.tags)]
    with patched(WITHOUT[name]):
        broken = [verdict.program for verdict in map(judge, made) if verdict.failure]
    assert broken
    constructs = {construct for each in broken for construct in each.tags}
    assert len(constructs) >= 2


# -- running ------------------------------------------------------------------------------------------------


def test_a_program_leaves_nothing_behind() -> None:
    hostile = {
        ENTRY: "import torch, random, lib\ntorch.set_grad_enabled(False)\nrandom.seed(1)\ntorch.manual_seed(7)\n"
        "def print(*a): raise SystemError\nlib.x = 3\ntorch.set_num_threads(2)\n",
        "lib.py": "x = 1\n",
    }
    asks = {
        ENTRY: "import torch, lib, random\nprint(torch.is_grad_enabled(), lib.x, random.random(), torch.rand(1))\n",
        "lib.py": "x = 2\n",
    }
    state, threads = random.getstate(), torch.get_num_threads()
    first = run(asks)
    assert run(hostile).error == ""
    assert run(asks) == first
    assert first.printed[0].startswith("True 2 ")
    assert (random.getstate(), torch.get_num_threads(), torch.is_grad_enabled()) == (state, threads, True)


def test_programs_run_twice_are_the_same() -> None:
    for number in range(42):
        files = program(11, number).files
        assert run(files) == run(files)


def test_what_a_run_records() -> None:
    files = {
        ENTRY: """\
import torch
from torch.utils.data import DataLoader, Dataset
from pkg.rows import Rows
net = torch.nn.Linear(1, 1)
for x in DataLoader(Rows(), batch_size=2, num_workers=3, persistent_workers=True):
    net(x).sum().backward()
    print(net(x))
missing
""",
        "pkg/rows.py": "import torch\nclass Rows(torch.utils.data.Dataset):\n"
        "    def __init__(self): self.rows = [1.0, 2.0]\n"
        "    def __len__(self): return 2\n    def __getitem__(self, i): return torch.ones(1) * self.rows[i]\n",
    }
    out = run(files)
    assert out.error == "NameError: name 'missing' is not defined"
    assert len(out.parameters) == len(out.gradients) == 2
    assert "grad_fn" not in out.printed[0]
    assert len(out.samples) == 1
    assert "rows" in str(out.stored)
    assert set(FIELDS) == set(vars(out))


def test_growth_is_told_from_a_level_run() -> None:
    assert growth([1, 2, 3, 4, 5, 6, 7, 8, 9]) > 0
    assert growth([3, 5, 4, 3, 5, 4, 3, 5, 4]) == 0
    assert growth([5]) == 0
    detached = {ENTRY: LEAK.files[ENTRY].replace("append(loss)", "append(loss.detach())")}
    assert kept(LEAK.files).graph > 0
    assert kept(detached).graph == 0


def test_memory_behind_views_is_measured() -> None:
    text = "import numpy as np\ndef f():\n    kept = []\n    for k in range(5):\n        big = np.zeros((64, 64))\n"
    text += "        kept.append(big[:2, :2]{})\n    return len(kept)\nf()\n"
    views, copies = kept({ENTRY: text.format("")}, memory=True), kept({ENTRY: text.format(".copy()")}, memory=True)
    assert views.memory > 3 * 64 * 64 * 8
    assert copies.memory < 64 * 64 * 8
    assert kept({ENTRY: text.format("")}).memory == 0


def test_memory_of_batches_is_measured() -> None:
    text = "from torch.utils.data import DataLoader\nimport torch\ndef f():\n    kept = []\n"
    text += "    for x in DataLoader(torch.ones(8, 16), batch_size=2, num_workers=2):\n        kept.append(x{})\n"
    text += "    del x\n    return len(kept)\nf()\n"
    assert kept({ENTRY: text.format(".view(-1)")}, memory=True).memory == 8 * 16 * 4
    assert kept({ENTRY: text.format(".clone()")}, memory=True).memory == 0


ROWS = """\
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self): self.rows = [{'a': np.ones(3)} for _ in range(4)]
    def __len__(self): return 4
    def __getitem__(self, i): return SAMPLE
for batch in DataLoader(Rows(), batch_size=2, collate_fn=list): pass
"""


@pytest.mark.parametrize(
    ("sample", "shared"),
    [
        ("self.rows[i]", 8),
        ("dict(self.rows[i])", 4),
        ("self.rows[i]['a'][1:]", 4),
        ("self.rows[i]['a'].copy()", 0),
        ("{'a': list(self.rows[i]['a'])}", 0),
    ],
)
def test_what_samples_share_with_their_dataset_is_measured(sample: str, shared: int) -> None:
    assert kept({ENTRY: ROWS.replace("SAMPLE", sample)}).samples == shared


# -- what is said of it -------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.watched
def test_a_failing_program_is_made_small() -> None:
    verdict = judge(LEAK, wrong.appending("net.weight.data += 1"))
    smaller = small(verdict, wrong.appending("net.weight.data += 1"), seconds=3)
    assert len(smaller.text) < len(LEAK.text) / 2
    assert "net = " in smaller.text
    accident = next(each for each in (program(8, n, "datasets") for n in range(99)) if each.meant and not each.escape)
    worse = judge(accident, wrong.appending("print('no')", "TLK203"))
    assert worse.failure == "printed differ"
    assert "deepcopy" not in small(worse, wrong.appending("print('no')", "TLK203"), seconds=3).text


def test_the_table_counts_by_construct() -> None:
    table = Table()
    for fixer in (mend, wrong.appending("print(1)")):
        table.add(judge(LEAK, fixer))
    text = "\n".join(table.lines())
    assert table.counts("lists")["programs"] == table.counts(ALL)["programs"] == 2
    assert (table.counts()["changed"], table.counts()["failed"], table.counts()["kept less"]) == (2, 1, 1)
    assert "1 x printed differ; fixed TLK402; escape: none" in text
    assert table.counts("gan")["programs"] == 0


def test_unsafe_fixes_are_told_apart_by_what_they_change() -> None:
    shown = replace(LEAK, files={ENTRY: LEAK.files[ENTRY].replace("len(kept)", "kept")})
    said = list(lines([shown, LEAK]))
    assert any(line.startswith("TLK402: ") for line in said), said
    before = run(LEAK.files)
    for line, how in [
        ("1 / 0", "exception ZeroDivisionError"),
        ("net.weight.data += 1", "other parameters or gradients"),
        ("print(7.25)", "other numbers"),
        ("kept.clear()", "types or formats alone"),
        ("pass", "same results (timing or memory only)"),
    ]:
        assert difference(before, run(wrong.appending(line)(LEAK.files).files)) == how
