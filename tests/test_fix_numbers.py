"""What is said of fixes: the kinds that a rule has, everywhere the same; and numbers that add up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flake8_torchleak.finding import FixLevel
from flake8_torchleak.rule import Rule, all_rules
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK
from tests.test_fixtures import FIXTURES, found_in

Capture = pytest.CaptureFixture[str]

WORDS = {"safe": "safe (", "unsafe": "unsafe (", "hint": "by hand ("}
SHOWN = "import torch.nn.functional as F\n" + LEAK.replace("criterion(", "F.cross_entropy(")
RECORDS = """\
from torch.utils.data import Dataset, DataLoader
class Record:
    def __init__(self, x):
        self.x = x
class Rows(Dataset):
    def __init__(self, root):
        self.data = [{} for i in range(root)]
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        {}
def collate(rows):
    for row in rows:
        row["x"].append(1)
    return 1
loader = DataLoader(Rows(100), collate_fn=collate, num_workers=2)
"""
VIEWS = """\
import numpy as np, torch
from torch.utils.data import Dataset, DataLoader
class Rows(Dataset):
    def __init__(self, root):
        self.data = torch.zeros(root, 4)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        return self.data[i]
loader = DataLoader(Rows(100), collate_fn=list, num_workers=2)
for rows in loader:
    rows[0] += 1
"""
CROPS = """\
import numpy as np, torch
def crops(paths):
    kept = []
    for path in paths:
        whole = np.load(path)
        kept.append(whole[:10, :10])
    print(np.shares_memory(kept[0], kept[1]))
"""
BATCHES = """\
from torch.utils.data import DataLoader
def collect(data):
    kept = []
    for x, y in DataLoader(data, num_workers=2):
        kept.append(y.numpy())
    print(y.data_ptr())
"""
BESIDE_FIXTURES = {
    "TLK201": VIEWS,
    "TLK204": VIEWS,
    "TLK205": CROPS,
    "TLK404": BATCHES,
    "TLK402": SHOWN.replace("total = 0", "total = []")
    .replace("total += loss", "total.append(loss)")
    .replace("return total", "print(total)"),
    "TLK403": "class Meter:\n    def __init__(self):\n        self.kept = []\n    def update(self, value):\n"
    "        self.kept.append(value)\n"
    + SHOWN.replace("total = 0", "total = Meter()")
    .replace("total += loss", "total.update(loss)")
    .replace("return total", "print(total)"),
    "TLK203": RECORDS.format("Record(i)", "row = self.data[i]\n        row['x'] = 1\n        return 1"),
    "TLK206": RECORDS.format("{'x': [Record(i)]}", "return self.data[i]"),
}
"""Code with a fix of the second kind, for rules whose fixtures show only the first."""


def made(rule: Rule) -> set[FixLevel]:
    """The kinds of fixes in the fixtures of all rules, and in the code above."""
    texts = [path.read_text(encoding="utf-8") for path in FIXTURES.glob(f"{rule.code}_*/*_*.py")]
    found = [each for text in (*texts, BESIDE_FIXTURES.get(rule.code, "")) for each in found_in(text)]
    return {fix.level for each in found if each.code == rule.code for fix in each.fixes}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_makes_the_fixes_that_it_says(rule: Rule) -> None:
    assert made(rule) == set(rule.levels) - {FixLevel.HINT}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_all_say_the_same(rule: Rule, capsys: Capture) -> None:
    levels = [each.value for each in rule.levels]
    main(["explain", rule.code])
    (explained,) = re.findall(r"^fix: (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert [each.partition("(")[0] + "(" for each in explained.split(", or ")] == [WORDS[each] for each in levels]
    main(["rules"])
    (listed,) = re.findall(rf"^{rule.code}  \S+ +(?:on|off)  +(.*?)  ", capsys.readouterr().out, re.MULTILINE)
    assert listed == ", or ".join(levels)
    main(["rules", "--output-format=json"])
    (row,) = [each for each in json.loads(capsys.readouterr().out) if each["code"] == rule.code]
    assert (row["fix"], row["fixes"]) == (levels[0], levels)
    main(["rules", "--output-format=markdown"])
    (cells,) = re.findall(rf"^\| {rule.code} \|.*$", capsys.readouterr().out, re.MULTILINE)
    assert cells.split(" | ")[-1] == f"{', or '.join(levels)} |"


BAD = sorted(FIXTURES.glob("*/bad_*.py"))
SOME = list({path.parent: path for path in BAD}.values())


@pytest.mark.parametrize(
    "paths", [pytest.param(SOME[::3], id="some"), pytest.param(BAD, id="all", marks=pytest.mark.long)]
)
def test_offered_applied_and_left_agree(paths: list[Path], capsys: Capture) -> None:
    named = [str(path) for path in paths]
    main(["check", "--show=0", *named])
    offered = re.search(r"Can be fixed: (\d+) with --fix, (\d+) with --fix --unsafe-fixes\.", capsys.readouterr().out)
    assert offered is not None
    safe, unsafe = int(offered[1]), int(offered[2])
    main(["check", "--output-format=json", *named])
    rows = json.loads(capsys.readouterr().out)
    assert min(safe, unsafe) > 0
    assert sum(any(fix["level"] == "safe" for fix in each["fixes"]) for each in rows) > 0

    def applied(*arguments: str) -> tuple[int, int, int]:
        main(["check", "--diff", *arguments, *named])
        said = capsys.readouterr().err
        numbers = re.search(r"^Would fix (\d+) findings in \d+ files(?:; (\d+) more would end)?", said, re.MULTILINE)
        left = re.search(r"^Can be fixed with --unsafe-fixes: (\d+)\.$", said, re.MULTILINE)
        assert numbers is not None
        return int(numbers[1]), int(numbers[2] or 0), int(left[1]) if left else 0

    fixed, ended, waiting = applied()
    assert fixed == safe
    assert unsafe - ended <= waiting <= unsafe
    fixed, _, waiting = applied("--unsafe-fixes")
    assert (fixed, waiting) == (safe + unsafe, 0)
