"""Lists of paths that a program evaluates with, once and in order: all workers together copy them once."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

FILES = """
    import glob, json
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Files(Dataset):
        def __init__(self, root):
            self.files = {made}

        def __len__(self):
            return len(self.files)

        def __getitem__(self, i):
            return torch.load({read})

    def evaluate(model, root):
        model.eval()
        with torch.no_grad():
            return [model(x).mean().item() for x in DataLoader(Files(root), 8, num_workers=4{given})]
"""


@pytest.mark.parametrize(
    ("made", "read", "given", "main", "leaks"),
    [
        ("glob.glob(root)", "self.files[i]", "", "", False),
        ("glob.glob(root)", "self.files[i]", ", shuffle=False", "", False),
        ("list(zip(glob.glob(root), glob.glob(root)))", "self.files[i][0]", "", "", False),
        ("glob.glob(root)", "self.files[i]", ", shuffle=True", "", True),
        ("glob.glob(root)", "self.files[i]", ", sampler=root", "", True),
        ("glob.glob(root)", "self.files[i]", ", **root", "", True),
        ("glob.glob(root)", "self.files[i]", "", "import files\nloss.backward()\n", True),
        ("[json.loads(line) for line in open(root)]", "self.files[i]['x']", "", "", True),
        ("{path: path for path in glob.glob(root)}", "self.files[str(i)]", "", "", True),
        ("root.rglob('*')[1:] + [[]]", "self.files[i].x", "", "", True),  # of an unknown type
    ],
)
def test_lists_that_are_read_once(tmp_path: Path, made: str, read: str, given: str, main: str, leaks: bool) -> None:
    put(tmp_path, files=FILES.format(made=made, read=read, given=given), main=main)
    (tmp_path / ".git").mkdir(exist_ok=True)
    importers.forget()
    path = tmp_path / "files.py"
    text = path.read_text(encoding="utf-8")
    assert bool([each for each in lint(text, path=str(path)) if each.code == "TLK101"]) == leaks
    if not leaks:
        asked = lint(text, Config(assume_workers="yes"), path=str(path))
        assert [each for each in asked if each.code == "TLK101"]
