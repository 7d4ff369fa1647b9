"""TLK203: which changes of a stored element later epochs see, by the loaders of the project and what is made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.model import firstparty
from tests.test_worth_of_place import STORED, severities

OPTIONS = {
    "for workers": ("parser.add_argument('-j', '--num-workers', type=int, default=4, help='(any)')", "note"),
    "for none": ("parser.add_argument('--num_workers', type=int, default=0)", "error"),
    "with no number": ("parser.add_argument('--num_workers', type=int)", "error"),
    "with two": (
        "parser.add_argument('--num_workers', default=4)\nparser.add_argument('--num_workers', default=0)", "error",
    ),
    "of another name": ("parser.add_argument('--workers', default=4)", "error"),
}  # fmt: skip


@pytest.mark.parametrize(("option", "expected"), OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("apart", [False, True], ids=["in its file", "in one that imports it"])
def test_workers_by_default(option: str, expected: str, apart: bool, tmp_path: Path) -> None:
    loader = "def loaders(args):\n    return DataLoader(Rows([]), num_workers=args.num_workers)"
    text = STORED.format("row -= 1", loader)
    if not apart:
        assert severities("TLK203", f"{text}\n{option}\n") == [expected]
        return
    (tmp_path / "pyproject.toml").touch()
    rows = tmp_path / "rows.py"
    rows.write_text(text)
    (tmp_path / "train.py").write_text(f"from rows import loaders\n{option}\nloaders(parser.parse_args())\n")
    assert severities("TLK203", text, rows) == [expected]
    firstparty.forget()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("num_workers=4", "note"),
        ("num_workers=4, persistent_workers=False", "note"),
        ("num_workers=0", "error"),
        ("num_workers=4, **more", "error"),
    ],
)
def test_loaders_of_other_files(given: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    rows = tmp_path / "rows.py"
    rows.write_text(STORED.format("row -= 1", ""))
    (tmp_path / "train.py").write_text(
        f"from rows import Rows\nfrom torch.utils.data import DataLoader\nloader = DataLoader(Rows([]), {given})\n"
    )
    assert severities("TLK203", rows.read_text(), rows) == [expected]
    firstparty.forget()


EPOCHS = """
from torch.utils.data import IterableDataset

class Rounds(IterableDataset):
    def __init__(self, parts):
        self.left = [[n for n in range(len(part))] for part in parts]

    def restart(self):
        {before}self.left = [[n for n in range(9)] for _ in range(9)]

    def __iter__(self):
        self.restart()
        row = self.left[0]
        row[1] += 4
        yield row[1]
"""


@pytest.mark.parametrize(("before", "expected"), [("", []), ("if self.first: ", ["error"])])
def test_what_each_epoch_makes_anew(before: str, expected: list[str]) -> None:
    assert severities("TLK203", EPOCHS.format(before=before)) == expected


def test_what_a_file_tries_when_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    trial = "if __name__ == '__main__':\n    loader = DataLoader(Rows([]), batch_size=4)\n"
    rows = tmp_path / "rows.py"
    rows.write_text(STORED.format("row -= 1", trial))
    assert severities("TLK203", rows.read_text(), rows) == ["error"]
    (tmp_path / "train.py").write_text(
        "from rows import Rows\nfrom torch.utils.data import DataLoader\nloader = DataLoader(Rows([]), num_workers=4)\n"
    )
    assert severities("TLK203", rows.read_text(), rows) == ["note"]
    rows.write_text(STORED.format("row -= 1", trial.replace("if __name__ == '__main__':\n    ", "")))
    assert severities("TLK203", rows.read_text(), rows) == ["error"]
    firstparty.forget()
