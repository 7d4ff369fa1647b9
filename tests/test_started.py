"""Handles that forked workers read rightly, and those that no other worker can be sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.model import firstparty
from tests.test_worth import STATE, ZIPPED, of

ROWS = """
import h5py, tables, zipfile
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, path):
        self.file = {opened}
    {state}
    def __len__(self):
        return 9

    def __getitem__(self, i):
        return self.file["x"][i]
"""
SENT = """
    def __getstate__(self):
        return {**self.__dict__, "file": None}
"""


@pytest.mark.parametrize(
    ("opened", "expected"),
    [
        ("h5py.File(path)", "note"),
        ("h5py.File(path, 'r')", "note"),
        ("h5py.File(path, mode='r', driver='sec2')", "note"),
        ("tables.open_file(path)", "note"),
        ("h5py.File(path, 'a')", "error"),
        ("h5py.File(path, driver='stdio')", "error"),
        ("h5py.File(open(path, 'rb'))", "error"),
        ("zipfile.ZipFile(path)", "error"),
    ],
)
def test_hdf5_is_read_where_each_part_is(opened: str, expected: str) -> None:
    """Measured with h5py 3.16 and PyTables 3.11, 3 forked workers, chunked and compressed too: 0 of 24,000 wrong."""
    assert of("TLK105", ROWS.format(opened=opened, state="")) == [expected]


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        ("set_start_method('spawn')", "error"),
        ("set_start_method(method='forkserver', force=True)", "error"),
        ("DataLoader(Rows('.'), num_workers=2, multiprocessing_context=\"spawn\")", "error"),
        ("set_start_method('fork')", "note"),
        ("torch.multiprocessing.spawn(main)", "note"),
    ],
)
def test_programs_that_ask_for_spawned_workers(started: str, expected: str) -> None:
    """Measured: h5py and PyTables files cannot be pickled, and the loader raises when it starts its workers."""
    assert of("TLK105", ROWS.format(opened="h5py.File(path)", state="") + started + "\n") == [expected]
    assert not of("TLK105", ROWS.format(opened="h5py.File(path)", state=SENT) + started + "\n")


def test_archives_that_are_sent_without_the_open_file() -> None:
    spawned = "\nset_start_method('spawn')\n"
    assert of("TLK105", ZIPPED.format(STATE)) == ["note"]
    assert not of("TLK105", ZIPPED.format(STATE) + spawned)
    assert of("TLK105", ZIPPED.format("") + spawned) == ["warning"]
    assert of("TLK105", ROWS.format(opened="zipfile.ZipFile(path)", state=SENT)) == ["error"]
    assert not of("TLK105", ROWS.format(opened="zipfile.ZipFile(path)", state=SENT) + spawned)


@pytest.mark.parametrize(
    ("train", "plain", "sent"),
    [
        ("from rows import Rows\nset_start_method('spawn')\nloader(Rows('.'))\n", "error", []),
        ("import torch\ntorch.multiprocessing.set_start_method('spawn')\n", "note", []),
        ("import torch\nprint('spawn')\n", "note", []),
        ("from rows import Rows\nloader(Rows('.'))\n", "note", []),
    ],
)
def test_programs_of_other_files(tmp_path: Path, train: str, plain: str, sent: list[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    rows = tmp_path / "rows.py"
    (tmp_path / "train.py").write_text(train)
    rows.write_text(ROWS.format(opened="h5py.File(path)", state=""))
    assert of("TLK105", rows.read_text(), str(rows)) == [plain]
    firstparty.forget()
    rows.write_text(ROWS.format(opened="h5py.File(path)", state=SENT))
    assert of("TLK105", rows.read_text(), str(rows)) == sent
    firstparty.forget()


@pytest.mark.parametrize(("started", "expected"), [("set_start_method('spawn')", []), ("print('spawn')", ["error"])])
def test_a_class_that_no_import_leads_to(tmp_path: Path, started: str, expected: list[str]) -> None:
    """Made from a dotted text, as configurations do: any program of the project that spawns may be its own."""
    (tmp_path / "pyproject.toml").touch()
    rows = tmp_path / "rows.py"
    rows.write_text(ROWS.format(opened="zipfile.ZipFile(path)", state=SENT))
    (tmp_path / "train.py").write_text(f"import torch\ntorch.multiprocessing.{started}\nmake('rows.Rows')\n")
    assert of("TLK105", rows.read_text(), str(rows)) == expected
    firstparty.forget()
