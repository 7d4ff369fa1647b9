"""What is kept from run to run: where it lies, when it holds, and that nothing in it is trusted."""

from __future__ import annotations

import gc
import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flake8_torchleak.finding import Edit, Finding, Fix, FixLevel, Note, Severity, Span
from flake8_torchleak.model import reading, signs
from flake8_torchleak.shells.cache import codec, evidence, folder, store
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, torchleak

Capture = pytest.CaptureFixture[str]

USES = "from helper import keep\n" + LEAK.replace("total += loss", "keep(loss)")
KEEPS = "import torch\nkept = []\ndef keep(x):\n    kept.append(x)\n"
WHOLE = """\
import json, torch

class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        self.rows = json.load(open(path))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i])
"""
DROPS = "import torch\nkept = []\ndef keep(x):\n    kept.append(0)\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a leak, one through a helper, and a file with none; all as if changed long ago."""
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak]\n")
    (tmp_path / "leak.py").write_text(LEAK)
    (tmp_path / "uses.py").write_text(USES)
    (tmp_path / "helper.py").write_text(KEEPS)
    (tmp_path / "clean.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signs, "_SETTLED", -1)
    return tmp_path


@pytest.fixture
def linted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were linted since this was emptied."""
    from flake8_torchleak import lint

    names: list[str] = []
    real: Any = lint.lint

    def noting(source: str, *arguments: object, path: str, **more: object) -> Any:
        names.append(path)
        return real(source, *arguments, path=path, **more)

    monkeypatch.setattr(lint, "lint", noting)
    return names


def check(capsys: Capture, *arguments: str) -> tuple[int, str]:
    status = main(["check", "--output-format=concise", *arguments])
    return status, capsys.readouterr().out


def kept(project: Path) -> list[Path]:
    return sorted((project / folder.NAME).glob("findings-*.json"))


def data(project: Path) -> list[object]:
    """What is kept: key, codes, places, what is watched of them, the questions as one text, entries."""
    (file,) = kept(project)
    found: list[object] = json.loads(file.read_text())
    return found


# -- When it holds ------------------------------------------------------------------------------------------


def test_what_has_not_changed_is_not_looked_at_again(project: Path, capsys: Capture, linted: list[str]) -> None:
    first = check(capsys)
    assert sorted(linted) == ["clean.py", "helper.py", "leak.py", "uses.py"]
    assert first[1].count("TLK40") == 2
    linted.clear()
    # The first run made a folder beside the files: that this changes nothing is written down once.
    for written in (True, False):
        os.utime(kept(project)[0], ns=(0, 0))
        assert check(capsys) == first
        assert linted == []
        assert (kept(project)[0].stat().st_mtime_ns > 0) is written


@pytest.mark.parametrize(
    ("name", "again"), [("__pycache__", False), (".mypy_cache", False), (".torchleak_cache", False), ("a_cache", True)]
)
def test_folders_that_tools_make_change_nothing(
    project: Path, capsys: Capture, linted: list[str], name: str, again: bool
) -> None:
    (project / "rows.py").write_text(WHOLE)  # who makes a loader of it, the whole project is asked
    check(capsys, ".")
    assert kept(project)
    linted.clear()
    (project / name).mkdir(exist_ok=True)
    check(capsys, ".")
    assert bool(linted) is again


def test_who_uses_what_has_changed_is_looked_at_again(project: Path, capsys: Capture, linted: list[str]) -> None:
    first = check(capsys)
    linted.clear()
    (project / "helper.py").write_text(DROPS)
    assert check(capsys)[1].count("TLK40") == 1
    assert sorted(linted) == ["helper.py", "uses.py"]
    linted.clear()
    (project / "helper.py").write_text(KEEPS)
    assert check(capsys) == first
    assert sorted(linted) == ["helper.py", "uses.py"]
    linted.clear()
    (project / "helper.py").unlink()
    assert check(capsys)[1].count("TLK40") == 1
    assert linted == ["uses.py"]


def test_the_same_size_and_time_hide_no_change(project: Path, capsys: Capture, linted: list[str]) -> None:
    check(capsys)
    linted.clear()
    path = project / "helper.py"
    before = path.stat()
    path.write_text(DROPS)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    check(capsys)
    assert sorted(linted) == ["helper.py", "uses.py"]


def test_what_may_change_unseen_is_read_again(
    project: Path, capsys: Capture, linted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "_SETTLED", 2_000_000_000)
    check(capsys)
    entries = data(project)[-1]
    assert isinstance(entries, dict)
    assert {each[0] for each in entries.values()} == {""}  # just written: nothing that the file system says is believed
    linted.clear()
    # Even where all that it says is the same.
    monkeypatch.setattr(signs, "sign", lambda status: "the same")
    monkeypatch.setattr(store, "sign", lambda status: "the same")
    monkeypatch.setattr(evidence, "sign", lambda status: "the same")
    (project / "helper.py").write_text(DROPS)
    check(capsys)
    assert sorted(linted) == ["helper.py", "uses.py"]
    # Later on it is, and is written down.
    linted.clear()
    monkeypatch.setattr(signs, "_SETTLED", -1)
    check(capsys)
    entries = data(project)[-1]
    assert isinstance(entries, dict)
    assert {each[0] for each in entries.values()} == {"the same"}
    assert linted == []


@pytest.mark.parametrize(("change", "settled"), [(-10, True), (0, False), (1, False), (10, True)])
def test_what_the_file_system_says_of_recent_changes_is_not_believed(
    project: Path, change: int, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "_SETTLED", 2_000_000_000)
    state = os.lstat("leak.py")
    later = state.st_ctime_ns + 60_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    os.utime("leak.py", ns=(0, later + change * 1_000_000_000))
    assert signs.is_settled(os.lstat("leak.py")) is settled
    monkeypatch.setattr(signs, "_HAS_TIME_OF_CHANGE", False)
    assert not signs.is_settled(os.lstat("leak.py"))


def test_who_is_imported_by_more_files_is_looked_at_again(
    project: Path, capsys: Capture, linted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "evaluation.py").write_text(
        "import torch\n\ndef evaluate(model, loader):\n    model.eval()\n    right = 0\n    for x, y in loader:\n"
        "        right += (model(x).argmax(1) == y).sum().item()\n    return right\n"
    )
    assert check(capsys)[1].count("TLK501") == 1
    linted.clear()
    (project / "main.py").write_text(
        "import torch\nfrom evaluation import evaluate\nwith torch.no_grad():\n    evaluate(model, loader)\n"
    )
    assert check(capsys)[1].count("TLK501") == 0
    assert sorted(linted) == ["evaluation.py", "main.py"]
    linted.clear()
    # A file that says nothing of it changes nothing, nor does another folder, or what is not imported.
    (project / "more.py").write_text("import os\n")
    (project / "docs").mkdir()
    assert check(capsys)[1].count("TLK501") == 0
    assert linted == ["more.py"]
    linted.clear()
    (project / "more.py").write_text("import os  # as before\n")
    assert check(capsys)[1].count("TLK501") == 0
    assert linted == ["more.py"]
    # What was asked once more belongs to what is there now.
    with monkeypatch.context() as patch:
        patch.setattr(reading.Reader, "entries", lambda *_: pytest.fail("a folder was listed"))
        patch.setattr(reading.Reader, "content", lambda *_: pytest.fail("a file was read"))
        check(capsys)


@pytest.mark.parametrize(
    ("settings", "again"),
    [
        ('ignore = ["TLK4"]\n', True),
        ('assume-workers = "yes"\n', True),
        ('per-file-ignores = { "leak.py" = ["TLK4"] }\n', False),
        ('extend-unsafe-fixes = ["TLK401"]\n', False),
    ],
)
def test_settings(project: Path, capsys: Capture, linted: list[str], settings: str, again: bool) -> None:
    check(capsys)
    linted.clear()
    (project / "pyproject.toml").write_text(f"[tool.torchleak]\n{settings}")
    found = check(capsys)
    assert len(linted) == (4 if again else 1 if "per-file" in settings else 0)
    assert found == check(capsys, "--no-cache")


def test_parts_of_a_project_keep_what_is_known_of_others(project: Path, capsys: Capture, linted: list[str]) -> None:
    check(capsys)
    (project / "clean.py").write_text("import torch  # once more\n")
    linted.clear()
    check(capsys, "clean.py")
    assert linted == ["clean.py"]
    linted.clear()
    check(capsys)
    assert linted == []
    (project / "sub").mkdir()
    os.chdir(project / "sub")
    assert check(capsys, "..")[1].count("../helper.py:2") == check(capsys, "..", "--no-cache")[1].count(
        "../helper.py:2"
    )
    assert set(linted) == {"../clean.py", "../helper.py", "../leak.py", "../uses.py"}  # by --no-cache alone
    assert len(linted) == 4


def test_paths_in_evidence_are_seen_from_here(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding(
        "TLK401", "slug", "message", Span(1, 0, 1, 5), Severity.ERROR, FixLevel.HINT,
        (Note(Span(2, 0, 2, 1), "there", "helper.py"),),
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: [finding])
        main(["check", "."])
    assert "note: helper.py:2:" in capsys.readouterr().out
    (project / "sub").mkdir()
    os.chdir(project / "sub")
    main(["check", ".."])
    assert "note: ../helper.py:2:" in capsys.readouterr().out


def test_formats_with_conventions_have_findings_of_their_own(project: Path, capsys: Capture, linted: list[str]) -> None:
    plain = check(capsys, "--output-format=json", "--no-cache")
    check(capsys)
    assert check(capsys, "--output-format=json") == plain
    linted.clear()
    assert check(capsys, "--output-format=json") == plain
    assert linted == []
    assert len(kept(project)) == 2


def test_what_goes_wrong_is_told_each_time(project: Path, capsys: Capture, linted: list[str]) -> None:
    (project / "broken.py").write_text("import torch\nfor\n")
    notebook = {"cells": [], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    (project / "book.ipynb").write_text(json.dumps(notebook))
    first = main(["check"]), *capsys.readouterr()
    assert "broken.py:2:4: syntax error" in first[2]
    linted.clear()
    assert (main(["check"]), *capsys.readouterr()) == first
    assert linted == []


def test_an_error_without_a_place(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> list[Finding]:
        if changes:
            (project / "clean.py").write_text("import torch  # other\n")
        raise SyntaxError("too deep")

    for changes in (True, False):  # noqa: B007
        (project / "clean.py").write_text("import torch\n")
        with monkeypatch.context() as patch:
            patch.setattr("flake8_torchleak.lint.lint", fail)
            assert main(["check", "clean.py"]) == 2
            first = capsys.readouterr()
            assert first.err == "torchleak: error: clean.py: syntax error: too deep\n"
    assert main(["check", "clean.py"]) == 2  # as if it had been so
    assert capsys.readouterr() == first


def test_an_internal_error_is_not_kept(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("TLK000", "internal-error", "oops", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
    with monkeypatch.context() as patch:
        patch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: [finding])
        assert main(["check", "leak.py"]) == 2
    assert main(["check", "leak.py"]) == 1


def test_standard_input_is_not_kept(project: Path) -> None:
    run = torchleak("check", "-", "--stdin-filename=leak.py", cwd=project, stdin=LEAK.encode())
    assert run.returncode == 1
    assert not (project / folder.NAME).exists()


def test_a_baseline_needs_the_texts(project: Path, capsys: Capture, linted: list[str]) -> None:
    assert main(["baseline", "write"]) == 0
    capsys.readouterr()
    first = check(capsys, "--baseline=.torchleak-baseline.json")
    assert first[0] == 0
    linted.clear()
    assert check(capsys, "--baseline=.torchleak-baseline.json") == first
    assert linted == []


def test_a_file_that_changes_while_it_is_looked_at_is_not_kept(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flake8_torchleak import lint

    real: Any = lint.lint

    def changing(source: str, *arguments: object, path: str, **more: object) -> Any:
        found = real(source, *arguments, path=path, **more)
        if path == "leak.py":
            (project / path).write_text("import torch\n")
        if path == "uses.py":
            (project / "helper.py").write_text(DROPS)
            reading.reader().text(str(project / "helper.py"))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(lint, "lint", changing)
        assert check(capsys)[1].count("TLK40") == 2
    assert check(capsys)[1].count("TLK40") == 0


# -- Where it lies ------------------------------------------------------------------------------------------


def test_git_leaves_it_out(project: Path, capsys: Capture) -> None:
    check(capsys)
    assert sorted(each.name for each in (project / folder.NAME).iterdir())[0] == ".gitignore"
    git = ["git", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True, timeout=600)
    shown = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, timeout=600).stdout
    assert folder.NAME.encode() not in shown


@pytest.mark.parametrize("marker", [".git", "setup.py", "setup.cfg", "pyproject.toml"])
def test_beside_the_settings_or_at_the_top_of_the_project(project: Path, marker: str, capsys: Capture) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    (project / "a" / marker).mkdir()
    (project / "pyproject.toml").unlink()
    os.chdir(inner)
    check(capsys, str(project))
    assert kept(project / "a")


def test_nothing_is_kept_where_there_is_no_project(project: Path, capsys: Capture) -> None:
    (project / "pyproject.toml").unlink()
    before = sorted(project.rglob("*"))
    assert check(capsys)[0] == 1
    assert sorted(project.rglob("*")) == before
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "There is no cache.\n"


def test_settings_elsewhere(project: Path, capsys: Capture, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("else")
    (place / "own.toml").write_text("[tool.torchleak]\n")
    check(capsys, f"--config={place / 'own.toml'}")
    assert kept(project)
    assert not kept(place)


def test_a_folder_of_ones_choice(project: Path, capsys: Capture, linted: list[str]) -> None:
    check(capsys, "--cache-dir=mine")
    assert not (project / folder.NAME).exists()
    linted.clear()
    check(capsys, "--cache-dir=mine")
    assert linted == []
    check(capsys, "--no-cache", "--cache-dir=mine")
    assert len(linted) == 4
    (project / "mine" / "notes.txt").write_text("")
    (project / "mine" / ".gitignore").write_text("mine\n")
    assert main(["cache", "clear", "--cache-dir=mine"]) == 0
    assert capsys.readouterr().out == "Removed mine.\n"
    assert sorted(each.name for each in (project / "mine").iterdir()) == [".gitignore", "notes.txt"]
    assert main(["cache", "clear", "--cache-dir=none"]) == 0
    assert capsys.readouterr().out == "There is no cache.\n"


def test_clear(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    check(capsys)
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", lambda path: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        assert main(["cache", "clear"]) == 2
    assert "Permission denied" in capsys.readouterr().err
    assert main(["cache", "clear"]) == 0
    assert not (project / folder.NAME).exists()


def test_what_git_tracks_is_not_read(project: Path, capsys: Capture, linted: list[str]) -> None:
    git = ["git", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True, timeout=600)
    check(capsys)
    subprocess.run([*git, "add", "leak.py"], check=True, timeout=600)
    linted.clear()
    check(capsys)
    assert linted == []
    subprocess.run([*git, "add", "-f", folder.NAME], check=True, timeout=600)
    before = kept(project)[0].read_bytes()
    (project / "leak.py").write_text("import torch\n")
    check(capsys)
    assert len(linted) == 4
    assert kept(project)[0].read_bytes() == before
    assert main(["cache", "clear"]) == 0
    assert kept(project)


@pytest.mark.parametrize(
    ("content", "tracked"),
    [
        ("gitdir: elsewhere", False),
        ("gitdir: tracking", True),
        ("gitdir: four", True),
        ("gitdir: nowhere", True),
        ("gitdir: ", True),
        ("oops", True),
    ],
)
def test_checkouts_whose_index_lies_elsewhere(project: Path, content: str, tracked: bool) -> None:
    head = b"DIRC\0\0\0\2\0\0\0\1"
    for name, index in (("elsewhere", head), ("tracking", head + b"x/cache/y"), ("four", head.replace(b"\2", b"\4"))):
        (project / name).mkdir()
        (project / name / "sharedindex.0" if name == "tracking" else project / name / "index").write_bytes(index)
    (project / ".git").write_text(content)
    place = project / "x" / "cache"
    place.mkdir(parents=True)
    assert folder.is_ours(str(place)) is not tracked


def test_a_link_is_not_followed(project: Path, capsys: Capture, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("elsewhere")
    (project / folder.NAME).symlink_to(place)
    assert check(capsys)[0] == 1
    assert list(place.iterdir()) == []
    assert main(["cache", "clear"]) == 0
    assert (project / folder.NAME).is_symlink()


def test_a_link_in_it_is_not_followed(project: Path, capsys: Capture, linted: list[str]) -> None:
    check(capsys)
    (file,) = kept(project)
    other = project / "other.json"
    file.rename(other)
    file.symlink_to(other)
    before = other.read_bytes()
    linted.clear()
    check(capsys)
    assert len(linted) == 4
    assert other.read_bytes() == before


def test_a_folder_of_somebody_else_is_not_read(
    project: Path, capsys: Capture, linted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(capsys)
    linted.clear()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    check(capsys)
    assert len(linted) == 4
    monkeypatch.delattr(os, "geteuid")
    assert folder.is_ours(str(project / folder.NAME))
    assert store._user() == 0


@pytest.mark.parametrize("name", [folder.NAME, f"{folder.NAME}/.gitignore"])
def test_a_checkout_that_cannot_be_written(project: Path, capsys: Capture, name: str) -> None:
    if "/" in name:
        (project / name).mkdir(parents=True)
    else:
        (project / name).write_text("a file")
    assert check(capsys)[0] == 1
    assert check(capsys)[0] == 1


def test_a_read_only_checkout(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refuse)
    assert check(capsys)[0] == 1
    assert not (project / folder.NAME).exists()


# -- What it may grow to, and what ends early -----------------------------------------------------------------


def test_only_so_many_sets_of_settings_are_kept(project: Path, capsys: Capture) -> None:
    for count in range(1, 12):
        check(capsys, f"--min-literal={count}")
    assert len(kept(project)) == 8
    assert "min_literal=11" in "".join(file.read_text() for file in kept(project))


def test_it_grows_only_so_large(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, linted: list[str]
) -> None:
    check(capsys)
    (file,) = kept(project)
    size = file.stat().st_size
    (project / "clean.py").write_text("import torch  # once more\n")
    monkeypatch.setattr(store, "_MOST", size - 1000)
    linted.clear()
    check(capsys, "clean.py")
    assert linted == ["clean.py"]  # and nothing else is kept, for it is too large to be read
    entries = data(project)[-1]
    assert isinstance(entries, dict)
    assert [Path(path).name for path in entries] == ["clean.py"]
    monkeypatch.setattr(store, "_MOST", 10)
    file.unlink()
    check(capsys)
    assert kept(project) == []


def test_the_others_go_first(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    check(capsys)
    (file,) = kept(project)
    raw = file.read_bytes()
    (project / "clean.py").write_text("import torch  # once more, and a little longer\n" * 50)
    monkeypatch.setattr(store, "_MOST", len(raw))
    (project / "clean2.py").write_text("import torch\n")
    check(capsys, "clean.py", "clean2.py")
    entries = data(project)[-1]
    assert isinstance(entries, dict)
    assert sorted(Path(path).name for path in entries) == ["clean.py", "clean2.py"]


def test_what_ends_early_writes_nothing(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> list[Finding]:
        raise KeyboardInterrupt

    monkeypatch.setattr("flake8_torchleak.lint.lint", interrupt)
    assert main(["check"]) == 130
    assert not (project / folder.NAME).exists()


def test_what_cannot_be_written_is_not(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8_torchleak.fixing import write

    def fail(*_: object) -> None:
        raise write.WriteError("no space left")

    monkeypatch.setattr(write, "put", fail)
    assert check(capsys)[0] == 1
    assert kept(project) == []


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_goes_on_as_before(project: Path, capsys: Capture, collects: bool) -> None:
    (gc.enable if collects else gc.disable)()
    try:
        for _ in range(2):
            check(capsys)
            assert gc.isenabled() is collects
    finally:
        gc.enable()


# -- Nothing in it is trusted -------------------------------------------------------------------------------


def spoilt(change: Callable[[list[Any]], object]) -> Callable[[bytes], bytes]:
    def spoil(raw: bytes) -> bytes:
        found = json.loads(raw)
        replaced = change(found)
        return json.dumps(found if replaced is None else replaced).encode()

    return spoil


def asked(all: list[Any]) -> dict[str, list[int]]:
    """The numbers of the questions that the files' findings rest on."""
    found: dict[str, list[int]] = json.loads(all[4])[2]
    return found


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "cut": lambda raw: raw[: len(raw) // 2],
    "no text": lambda raw: b"\xff" * 100,
    "deep": lambda raw: b"[" * 100_000,
    "another thing": lambda raw: b"{}",
    "other settings": spoilt(lambda all: all.__setitem__(0, "another key")),
    "no lists": spoilt(lambda all: all.__setitem__(2, {})),
    "no entries": spoilt(lambda all: all.__setitem__(5, 7)),
    "entries of another form": spoilt(lambda all: all.__setitem__(5, dict.fromkeys(all[5], 7))),
    "entries that are short": spoilt(lambda all: [each.pop() for each in all[5].values()] and None),
    "watched of another form": spoilt(lambda all: all.__setitem__(3, [7] * 3)),
    "nothing watched": spoilt(lambda all: all.__setitem__(3, [])),
    "no text of questions": spoilt(lambda all: all.__setitem__(4, [])),
    "questions of another form": spoilt(lambda all: all.__setitem__(4, json.dumps([[], [7] * 99, asked(all)]))),
    "no questions": spoilt(lambda all: all.__setitem__(4, json.dumps([[], [], asked(all)]))),
    "no such kind": spoilt(lambda all: all.__setitem__(4, all[4].replace('"has"', '"what"'))),
    "nobody asks": spoilt(lambda all: all.__setitem__(4, "[[],[],{}]")),
    "numbers that no question has": spoilt(
        lambda all: all.__setitem__(4, json.dumps([*json.loads(all[4])[:2], {path: [10**6] for path in asked(all)}]))
    ),
    "no places": spoilt(lambda all: all.__setitem__(2, [])),
    "places of another form": spoilt(lambda all: all.__setitem__(2, [[7, 7, 7]] * 99)),
    "places with names that no file has": spoilt(lambda all: all.__setitem__(2, [["\0", "x", "x"]] * 99)),
    "findings of another form": spoilt(lambda all: [each.__setitem__(4, [7]) for each in all[5].values()] and None),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILT)
def test_whatever_is_wrong_is_as_if_it_were_not_there(project: Path, name: str, capsys: Capture) -> None:
    first = check(capsys)
    (file,) = kept(project)
    spoilt = SPOILT[name](file.read_bytes())
    file.write_bytes(spoilt)
    assert check(capsys, "-j1") == first
    file.write_bytes(spoilt)
    for path in ("uses.py", "."):  # what was not looked up is not trusted either when it is written down again
        assert check(capsys, path) == check(capsys, path, "--no-cache")
    assert check(capsys) == first
    assert json.loads(kept(project)[0].read_bytes())


def test_a_table_that_is_made_of_itself_does_not_hold(project: Path) -> None:
    tables = [["by_name", [str(project), "marked"], [0]], ["what", [], [1]]]
    questions = [["by_name", 0, "wrong", ["x"]], ["what", 1, "", ["x"]]]
    details = json.dumps([tables, questions, {}])
    known = evidence.Evidence(reading.Reader(notes=True), [], [[], [], []], details)
    assert not known.holds(0)
    with pytest.raises(ValueError, match="no table"):
        known.holds(1)


FINDING = Finding(
    "TLK401", "slug", "message", Span(1, 0, 1, 5), Severity.ERROR, FixLevel.SAFE,
    notes=(Note(Span(2, 0, 2, 1), "here"), Note(Span(2, 0, 2, 1), "there", "helper.py")),
    fixes=(Fix(FixLevel.SAFE, "title", (Edit(Span(1, 0, 1, 0), "x"),), early=True),),
    remedy="remedy", unfixed="unfixed", under=("TLK501", Span(1, 0, 1, 1)), conventions=("`x` is a loss",),
)  # fmt: skip


def test_findings_come_back_as_they_were() -> None:
    plain = Finding("TLK402", "slug", "message", Span(1, 0, 1, 5), Severity.NOTE, FixLevel.HINT)
    assert codec.unpacked(json.loads(json.dumps(codec.packed([FINDING, plain])))) == [FINDING, plain]


def test_a_place_that_no_text_has() -> None:
    for span in ([0, 0, 1, 0], [1, 0, 0, 0], [1, -1, 1, 0], [1, 0, 1, -1]):
        (row,) = codec.packed([FINDING])
        assert isinstance(row, list)
        row[3] = span
        with pytest.raises(ValueError, match="no place in a text"):
            codec.unpacked([row])


WRONG: tuple[object, ...] = (7, "x", None, [7], [[7]], [[[0, 0, 0, 0], 7]], [[7, 7, 7, 7]], {"a": 1})
ANY_TEXT = {0, 1, 2, 8, 9}
"""Where any text will do: code, slug, message, remedy, and why it was not fixed."""


@pytest.mark.parametrize(
    ("at", "wrong"), [(at, each) for at in range(12) for each in WRONG if not (each == "x" and at in ANY_TEXT)]
)
def test_findings_that_are_none(at: int, wrong: object) -> None:
    (row,) = codec.packed([FINDING])
    assert isinstance(row, list)
    row[at] = wrong
    with pytest.raises((ValueError, TypeError)):
        codec.unpacked([row])


def test_everything_about_other_files_is_asked_of_one_reader(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that shows other texts is enough to show them to the whole analysis."""
    from flake8_torchleak.lint import lint

    class Unsaved(reading.Reader):
        def content(self, path: str) -> bytes:
            return DROPS.encode() if path.endswith("helper.py") else super().content(path)

    with reading.reading(Unsaved()):
        assert [each.code for each in lint(USES, path="uses.py")] == []
    assert [each.code for each in lint(USES, path="uses.py")] == ["TLK402"]
    reading.forget()


def test_what_is_said_of_modes_does_not_matter(project: Path, capsys: Capture, linted: list[str]) -> None:
    check(capsys)
    linted.clear()
    os.chmod("leak.py", stat.S_IRUSR)  # another time of change, the same content
    check(capsys)
    assert linted == []


def test_another_installation_is_another_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = store._installed()
    package = Path(store.__file__).parent.parent.parent
    shutil.copytree(package / "shells" / "cache", tmp_path / "p" / "shells" / "cache")
    monkeypatch.setattr(store, "__file__", str(tmp_path / "p" / "shells" / "cache" / "store.py"))
    other = store._installed()
    assert own != other
    (tmp_path / "p" / "shells" / "cache" / "codec.py").write_text("")
    assert store._installed() != other
