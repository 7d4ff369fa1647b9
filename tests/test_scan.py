"""`torchleak scan`: the list, the task, what is written, and each engine (of Dask and Ray, stand-ins)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flake8_torchleak.config import ConfigError
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.scan import command, dataset, engines, repositories, task
from tests.conftest import LEAK

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]

WORKER = """\
import torch
def gather(model, loader):
    model.eval()
    for x, y in loader:
        print(model(x).sum().item())
"""
"""TLK501 on line 5."""


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout of git, made once: five processes."""
    path = tmp_path_factory.mktemp("scan") / "one"
    path.mkdir()
    (path / "file0.py").write_text(LEAK)
    git(path)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: Path) -> Path:
    """Three checkouts: one of git with a leak, a folder with two, and one whose file does not parse."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(committed, tmp_path / "one")
    for name, texts in {"two": [LEAK, WORKER], "odd": ["import torch\ndef f(:\n"]}.items():
        (tmp_path / name).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / name / f"file{number}.py").write_text(text)
    (tmp_path / "repos.txt").write_text("# checkouts\none\n\ntwo\nowner/odd\todd\n")
    return tmp_path


CHECKED: dict[object, subprocess.CompletedProcess[bytes]] = {}


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout with the same files, checked with the same arguments, takes a process once: the tests have few."""

    def run(command: list[str], *, cwd: str, timeout: float, **more: Any) -> subprocess.CompletedProcess[bytes]:
        around = list(Path(cwd).absolute().parent.glob("pyproject.toml"))
        files = sorted(path for path in Path(cwd).rglob("*") if path.is_file() and ".git" not in path.parts)
        texts = tuple((os.path.relpath(path, cwd), path.read_bytes()) for path in [*around, *files])
        known = (tuple(command), timeout, texts)
        if known not in CHECKED:
            CHECKED[known] = subprocess.run(command, cwd=cwd, timeout=timeout, **more)
        return CHECKED[known]

    ours = types.SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(task, "subprocess", ours)


def git(path: Path, remote: str = "https://example.org/owner/one.git") -> str:
    """Make a folder a repository with one commit, and return that."""
    own = ["git", "-c", "user.name=test", "-c", "user.email=test", "-C", str(path)]
    for arguments in (["init", "-q"], ["remote", "add", "origin", remote], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*own, *arguments], check=True, capture_output=True, timeout=600)
    return (
        subprocess.run([*own, "rev-parse", "HEAD"], check=True, capture_output=True, timeout=600)
        .stdout.decode()
        .strip()
    )


def rows(folder: Path, table: str = "findings") -> list[Row]:
    return [json.loads(line) for line in (folder / "out" / f"{table}.jsonl").read_text().splitlines()]


def scan(*arguments: str) -> int:
    return main(["scan", "repos.txt", "--output=out", *arguments])


# -- the list ----------------------------------------------------------------------------------------------------------


def test_the_list(folder: Path) -> None:
    one, two, odd = repositories.repositories("repos.txt")
    assert (one.name, one.path, len(one.commit)) == ("owner/one", "one", 40)
    assert two == ("two", "two", "")
    assert odd == ("owner/odd", "odd", "")


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("git@example.org:owner/some.name.git", "owner/some.name"),
        ("ssh://git@example.org/deep/owner/name/", "owner/name"),
        ("/srv/mirror", "srv/mirror"),
        ("mirror", "two"),
    ],
)
def test_names_of_remotes(remote: str, name: str, folder: Path) -> None:
    git(folder / "two", remote)
    assert repositories.repositories("repos.txt")[1].name == name


def test_a_commit_is_of_the_folder_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "one" / "sub").mkdir()
    (folder / "repos.txt").write_text("one/sub\n")
    assert repositories.repositories("repos.txt") == [("one/sub", "one/sub", "")]
    monkeypatch.setenv("PATH", "")  # no git at all
    (folder / "repos.txt").write_text("one\n")
    assert repositories.repositories("repos.txt") == [("one", "one", "")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\none\n", "repos.txt:2: 'owner/one' is 'one' already: put another name and a tab before it"),
        ("# nothing\n", "repos.txt: lists no folder"),
        (None, "repos.txt: No such file or directory"),
    ],
)
def test_a_list_that_is_wrong(text: str | None, said: str, folder: Path, capsys: Capture) -> None:
    (folder / "repos.txt").unlink()
    if text is not None:
        (folder / "repos.txt").write_text(text)
    assert scan() == 2
    assert capsys.readouterr().err == f"torchleak: error: scan: {said}\n"


# -- what is written ---------------------------------------------------------------------------------------------------


def test_the_tables(folder: Path, capsys: Capture) -> None:
    assert scan("--workers=2") == 0
    out, err = capsys.readouterr()
    assert (
        out == "     2 TLK401 accumulated-graph\n     1 TLK501 grad-in-evaluation\n3 findings in 2 of 3 repositories.\n"
    )
    assert err == ""
    found = rows(folder)
    assert [(each["repository"], each["path"], each["line"], each["code"]) for each in found] == [
        ("owner/one", "file0.py", 9, "TLK401"),
        ("two", "file0.py", 9, "TLK401"),
        ("two", "file1.py", 5, "TLK501"),
    ]
    assert (len(found[0]["commit"]), found[1]["commit"]) == (40, "")
    assert all(note["line"] < 9 for note in json.loads(found[0]["notes"]))
    assert found[0]["notes"] != "[]"
    one, two, odd = rows(folder, "repositories")
    assert (two["findings"], two["errors"], two["warnings"], two["notes"], two["failed"]) == (2, 0, 2, 0, "")
    assert (one["findings"], one["complaints"]) == (1, [])
    (complaint,) = odd["complaints"]
    assert complaint.startswith("file0.py:2:7: syntax error: ")
    assert rows(folder, "rules") == [
        {"code": "TLK401", "slug": "accumulated-graph", "findings": 2, "repositories": 2, "files": 2},
        {"code": "TLK501", "slug": "grad-in-evaluation", "findings": 1, "repositories": 1, "files": 1},
    ]


def test_parquet_holds_the_same(folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs Python 3.11: pyarrow came with that")
    (folder / "two" / os.fsdecode(b"\xff.py")).write_text(LEAK)  # its name is no text
    assert scan() == scan("--output-format=parquet") == 0
    for table in dataset.TABLES:
        assert parquet.read_table(folder / "out" / f"{table}.parquet").to_pylist() == rows(folder, table)


def test_parquet_needs_pyarrow_before_anything_is_done(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert scan("--output-format=parquet") == 2
    assert capsys.readouterr().err.endswith("needs pyarrow: pip install 'flake8-torchleak[scan]'\n")
    assert not (folder / "out").exists()


@pytest.mark.parametrize("output", ["repos.txt", "repos.txt/sub"])
def test_a_place_where_nothing_can_be_written(output: str, capsys: Capture) -> None:
    assert main(["scan", "repos.txt", f"--output={output}"]) == 2
    assert capsys.readouterr().err.startswith(f"torchleak: error: scan: {output}: ")


def test_a_table_that_cannot_be_written(folder: Path, capsys: Capture) -> None:
    (folder / "out" / "rules.jsonl").mkdir(parents=True)
    assert scan() == 2
    assert "error: scan: out/rules.jsonl: " in capsys.readouterr().err


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that tasks were made for."""
    found: list[str] = []
    real = engines.ENGINES["local"]

    def noted(tasks: Any, place: engines.Place) -> Iterator[engines.Done]:
        found.extend(sorted(os.path.basename(each.arguments[0]) for each in tasks.values()))
        yield from real(tasks, place)

    monkeypatch.setattr(command, "ENGINES", {"local": noted})
    return found


def test_what_is_known_is_not_asked_again(folder: Path, asked: list[str], capsys: Capture) -> None:
    assert scan() == 0
    first = rows(folder)
    capsys.readouterr()
    assert scan() == 0
    assert asked == ["odd", "one", "two"]
    assert rows(folder) == first
    assert capsys.readouterr().err == "torchleak: 3 of 3 repositories are known from an earlier scan\n"


def test_what_has_changed_is_asked_again(folder: Path, asked: list[str]) -> None:
    assert scan() == 0
    asked.clear()
    (folder / "one" / "file0.py").write_text("import torch\n")
    subprocess.run(
        ["git", "-C", "one", "-c", "user.name=t", "-c", "user.email=t", "commit", "-qam", "two"],
        check=True,
        timeout=600,
    )
    (part,) = [each for each in (folder / "out" / "parts").iterdir() if '"name": "owner/odd"' in each.read_text()]
    part.write_text("half of a par")
    assert scan() == 0
    assert asked == ["odd", "one"]
    assert [each["repository"] for each in rows(folder)] == ["two", "two"]
    asked.clear()
    assert scan("--", "--select=TLK5") == 0
    assert asked == ["odd", "one", "two"]
    assert [each["code"] for each in rows(folder)] == ["TLK501"]


def test_what_failed_is_said_and_asked_again(folder: Path, asked: list[str], capsys: Capture) -> None:
    (folder / "two").rename(folder / "gone")
    assert scan() == 2
    out, err = capsys.readouterr()
    assert out.endswith("1 finding in 1 of 3 repositories, 1 could not be checked.\n")
    assert err == f"torchleak: error: two: {folder}/two: no such folder\n"
    assert [each["failed"] for each in rows(folder, "repositories")] == ["", f"{folder}/two: no such folder", ""]
    asked.clear()
    (folder / "gone").rename(folder / "two")
    assert scan() == 0
    assert asked == ["two"]
    assert len(rows(folder)) == 3


def test_progress_is_said(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "INTERVAL", 0.0)
    assert scan("--workers=1") == 0
    said = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert said == ["1", "2", "3"]


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_settings_are_those_of_the_scan(folder: Path) -> None:
    (folder / "one" / "pyproject.toml").write_text("[tool.torchleak]\nignore = ['TLK']\n")
    (folder / "pyproject.toml").write_text("[tool.torchleak]\nignore = ['TLK5']\n")
    assert scan() == 0
    assert [each["code"] for each in rows(folder)] == ["TLK401", "TLK401", "TLK501"]
    assert scan("--", "--config=pyproject.toml") == 0
    assert [each["code"] for each in rows(folder)] == ["TLK401", "TLK401"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers=0"], "--workers and --timeout take at least 1"),
        (["--retries=-1"], "--workers and --timeout take at least 1"),
        (["--timeout=0"], "--workers and --timeout take at least 1"),
        (["--address=x"], "scan: --address is of a cluster"),
        (["--", "--fix"], "scan: --fix behind -- is of no use"),
        (["--", "--output-format=json"], "scan: --output-format behind -- is of no use"),
        (["--", "two"], "scan: a path behind -- is of no use"),
        (["--", "--select=TLK8"], "select: no rule begins with 'TLK8'"),
        (["--", "--config=gone.toml"], "gone.toml: No such file or directory"),
    ],
)
def test_arguments_that_are_wrong(arguments: list[str], said: str, capsys: Capture) -> None:
    assert scan(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


@pytest.mark.parametrize(
    "arguments", [["scan"], ["scan", "repos.txt"], ["scan", "repos.txt", "--output=x", "--", "--fixx"]]
)
def test_arguments_that_argparse_refuses(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- the task ----------------------------------------------------------------------------------------------------------


def test_a_checkout_never_runs(folder: Path) -> None:
    for name in ("flake8_torchleak.py", "argparse.py", "ast.py"):
        (folder / "one" / name).write_text("raise SystemExit(7)\n")
    assert len(task.check("one", ("--isolated",), 60)["findings"]) == 1


def test_a_checkout_that_takes_too_long() -> None:
    with pytest.raises(task.Failed, match=r"took more than 0\.001 seconds"):
        task.check("one", (), 0.001)


@pytest.mark.parametrize(
    ("script", "said"), [("import os; os.kill(os.getpid(), 9)", "status -9: no word"), ("1/0", "status 1: Zero")]
)
def test_a_process_that_ends_as_none_of_ours_does(script: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_START", script)
    with pytest.raises(task.Failed, match=said):
        task.check("one", (), 60)


# -- engines -----------------------------------------------------------------------------------------------------------


class Flaky:
    """Fails so many times, then gives its argument back."""

    def __init__(self, failures: int) -> None:
        self.left = failures

    def __call__(self, value: int) -> int:
        if self.left:
            self.left -= 1
            raise ValueError(value)
        return value


PLACE = engines.Place(2, "", 1)


def tasks(*failures: int) -> dict[str, engines.Task]:
    return {f"task{number}": engines.Task(Flaky(count), (number,)) for number, count in enumerate(failures)}


def outcomes(done: Iterator[engines.Done]) -> dict[str, str]:
    return {name: repr(result) for name, result in done}


EXPECTED = {"task0": "0", "task1": "1", "task2": "ValueError(2)"}


def test_local_tries_again() -> None:
    assert outcomes(engines.local(tasks(0, 1, 2), PLACE)) == EXPECTED


class Future:
    def __init__(self, value: object) -> None:
        self.value, self.released = value, False

    def exception(self) -> BaseException | None:
        return self.value if isinstance(self.value, BaseException) else None

    def result(self) -> object:
        return self.value

    def release(self) -> None:
        self.released = True


class Dask(types.ModuleType):
    """As much of `distributed` as is used: it runs at once."""

    def __init__(self) -> None:
        super().__init__("distributed")
        self.made: list[object] = []

    def LocalCluster(self, **options: object) -> Dask:
        self.made.append(options)
        return self

    def Client(self, cluster: object, **options: object) -> Dask:
        if cluster == "tcp://nobody:1":
            raise OSError("Timed out trying to connect\nto nobody")
        self.made.append(cluster if isinstance(cluster, str) else "own")
        return self

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, function: Callable[..., object], *values: object, retries: int, **options: object) -> Future:
        try:
            return Future(engines._again(engines.Task(function, values), retries))
        except Exception as error:
            return Future(error)

    def as_completed(self, futures: list[Future]) -> Iterator[Future]:
        for each in futures:
            yield each
            assert each.released


class RayError(Exception):
    """With or without a `cause`, as Ray's own."""


class Ray(types.ModuleType):
    """As much of `ray` as is used."""

    def __init__(self, crashes: bool = False) -> None:
        super().__init__("ray")
        self.made: list[object] = []
        self.crashes = crashes
        self.exceptions = types.SimpleNamespace(RayError=RayError)

    def init(self, **options: object) -> None:
        if options.get("address") == "nobody:1":
            raise ConnectionError("no cluster")
        self.made.append(options)

    def shutdown(self) -> None:
        self.made.append("down")

    def remote(self, max_retries: int, retry_exceptions: bool) -> Callable[[Any], object]:
        assert retry_exceptions

        def made(function: Callable[..., object]) -> object:
            return types.SimpleNamespace(remote=lambda *values: Dask().submit(function, *values, retries=max_retries))

        return made

    def wait(self, futures: list[Future], num_returns: int) -> tuple[list[Future], list[Future]]:
        return futures[:num_returns], futures[num_returns:]

    def get(self, future: Future) -> object:
        if isinstance(future.value, BaseException):
            error = RayError("crashed")
            if not self.crashes:
                error.cause = future.value  # type: ignore[attr-defined]
            raise error
        return future.value


def test_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    dask = Dask()
    monkeypatch.setitem(sys.modules, "distributed", dask)
    assert outcomes(engines.dask(tasks(0, 1, 2), PLACE)) == EXPECTED
    assert dask.made == [{"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}, "own"]
    assert outcomes(engines.dask(tasks(0, 1, 2), PLACE._replace(address="tcp://a:1"))) == EXPECTED
    assert dask.made[2:] == ["tcp://a:1"]


def test_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert outcomes(engines.ray(tasks(0, 1, 2), PLACE)) == EXPECTED
    assert outcomes(engines.ray(tasks(0, 1, 2), PLACE._replace(address="auto"))) == EXPECTED
    first, _, second, _ = ray.made
    assert isinstance(first, dict)
    assert (first["num_cpus"], second) == (2, {"address": "auto", "log_to_driver": False})
    monkeypatch.setitem(sys.modules, "ray", Ray(crashes=True))
    assert outcomes(engines.ray(tasks(2), PLACE)) == {"task0": "RayError('crashed')"}


def test_ray_takes_one_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", Ray())
    same = Flaky(0)
    assert outcomes(engines.ray({str(each): engines.Task(same, (each,)) for each in range(2)}, PLACE)) == {
        "0": "0",
        "1": "1",
    }


@pytest.mark.parametrize(("engine", "module"), [("dask", Dask()), ("ray", Ray())])
def test_a_cluster_that_is_not_there(
    engine: str, module: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, module.__name__, module)
    address = "tcp://nobody:1" if engine == "dask" else "nobody:1"
    assert scan(f"--on={engine}", f"--address={address}") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"torchleak: error: scan: there is no cluster at {address}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(("engine", "module", "extra"), [("dask", "distributed", "scan"), ("ray", "ray", "ray")])
def test_an_engine_that_is_not_installed(
    engine: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert scan(f"--on={engine}") == 2
    assert capsys.readouterr().err.endswith(f" needs {module}: pip install 'flake8-torchleak[{extra}]'\n")


def test_a_wrong_engine_is_an_error_even_if_all_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="cluster"):
        list(engines.local({}, PLACE._replace(address="x")))
