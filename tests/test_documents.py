"""What README and site tell people to write is right: every block of code is run, parsed or checked."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import itertools
import json
import os
import pickle
import re
import shlex
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from flake8_torchleak.addresses import SITE
from flake8_torchleak.config import DEFAULT
from flake8_torchleak.lint import lint
from flake8_torchleak.model.module import Module
from flake8_torchleak.shells import pages
from flake8_torchleak.shells.arguments import parsed
from flake8_torchleak.shells.cli import main
from flake8_torchleak.source import Source, parse
from tests.conftest import ROOT, torchleak
from tests.documents import FILES, Block, blocks
from tests.readme import README, filled, leak
from website import parts, rule_pages

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = {"python", "sh", "toml", "ini", "json", "yaml", "groovy", "lua", "elisp", "text", ""}
"""Those of editors (lua, elisp) are run by these, in tests/integration/test_editors.py."""


LINK = r"\]\(([^)#]+)"


def named(each: Block) -> str:
    return each.name


# README


def test_the_readme_is_short_and_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == filled(text), "run: python -m tests.readme"
    assert text.count("\n") <= 150
    assert [each.code for each in lint(leak(text))] == ["TLK401"]
    assert not lint(leak(text).replace("total += loss", "total += loss.detach()"))


def test_links_of_the_readme_lead_to_files_of_the_repository_and_to_pages_of_the_site() -> None:
    text = README.read_text(encoding="utf-8")
    pages = {f"docs/{name}" for name in (*rule_pages.pages(), *parts.root_pages())}
    for link, target in zip(re.findall(LINK, text), re.findall(LINK, parts.inside(text)), strict=True):
        assert link.startswith("https://") or (ROOT / link).is_file(), link
        assert target.startswith("https://") or f"docs/{target}" in pages or (ROOT / "docs" / target).is_file(), target


def test_the_address_is_the_same_everywhere() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["project"]["urls"]["Documentation"] == SITE
    hosts = {host for each in FILES for host in re.findall(r"https://[\w.-]*readthedocs[^\s)\"#]*", each.read_text())}
    assert all(each.startswith(SITE) or "torchleak" not in each for each in hosts)


# Blocks


def test_every_block_is_of_a_language_that_is_checked() -> None:
    assert {each.language for each in blocks(*LANGUAGES)} <= LANGUAGES
    for file in FILES:
        opened = set(re.findall(r"^```(\w*)$", file.read_text(encoding="utf-8"), re.MULTILINE))
        assert opened <= LANGUAGES, file.name


@pytest.mark.parametrize("block", blocks("python"), ids=named)
def test_python_parses(block: Block) -> None:
    compile(block.text, block.name, "exec")


@pytest.mark.parametrize("block", blocks("toml"), ids=named)
def test_settings_are_settings(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tomllib.loads(block.text)
    (tmp_path / "pyproject.toml").write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["config"]) == 0


@pytest.mark.parametrize("block", blocks("ini"), ids=named)
def test_ini_files_parse(block: Block) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(block.text)
    assert parser.sections()


@pytest.mark.parametrize("block", blocks("json"), ids=named)
def test_json_parses(block: Block) -> None:
    text = block.text if block.text.lstrip().startswith("{") else f"{{{block.text}}}"
    assert json.loads(text)


@pytest.mark.parametrize("block", blocks("yaml"), ids=named)
def test_yaml_parses_and_its_commands_are_ours(block: Block) -> None:
    assert yaml.safe_load(block.text)
    for line in re.findall(r"(?:run: |script: |- )(torchleak .*)$", block.text, re.MULTILINE):
        understood(line)


@pytest.mark.parametrize("block", blocks("groovy"), ids=named)
def test_commands_of_jenkins_are_understood(block: Block) -> None:
    commands = re.findall(r"^ *sh '(.*)'$", block.text, re.MULTILINE)
    assert commands
    for line in commands:
        understood(line)


@pytest.mark.parametrize("block", blocks("sh"), ids=named)
def test_commands_are_understood(block: Block) -> None:
    for line in block.text.splitlines():
        understood(line)


def understood(line: str) -> None:
    """Fail for a command that would be refused: options of torchleak, extras, modules that there are not."""
    words = shlex.split(re.sub(r"(?<=\s)[<>]\s*\S+", "", line), comments=True)
    for first, group in itertools.groupby(words, key=lambda word: word in {"&&", "||", "{", "}", "|"}):
        command = [] if first else [word.strip("{};") for word in group]
        if not command:
            continue
        program = os.path.basename(command[0])
        if program == "torchleak":
            assert parsed([word for word in command[1:] if word != ";"]).command
        elif program in ("pip", "python", "python3") and "install" in command:
            extras = re.findall(r"\[([\w,]+)\]", " ".join(command))
            known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            assert {each for extra in extras for each in extra.split(",")} <= set(known["optional-dependencies"])
        elif program in ("python", "python3") and "-m" in command:
            module = command[command.index("-m") + 1]
            assert importlib.util.find_spec(module) is not None, module
        elif command[:2] == ["npm", "run"]:
            package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
            assert command[2] in package["scripts"], line
        else:
            assert program in PROGRAMS, line


PROGRAMS = {
    "pytest", "flake8", "mkdocs", "mypy", "ruff", "lint-imports", "tox", "nox", "git", "[", "mkdir", "cd", "npm",
    "code", "reviewdog",
}  # fmt: skip
"""Others that the documents name; what they do is for the tests of the pages to run."""


# Code to paste


def pasted(heading: str) -> dict[str, Any]:
    """What a block of docs/remedies.md defines."""
    (block,) = [each for each in blocks("python") if each.file.name == "remedies.md" and each.heading == heading]
    namespace: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(block.text, block.name, "exec"), namespace)
    assert not lint(block.text), "what is recommended is not found"
    return namespace


def test_packed_records() -> None:
    records = [{"name": f"image {number}", "boxes": [[number] * 4]} for number in range(20)]
    packed = pasted("PackedRecords")["PackedRecords"](records)
    assert len(packed) == 20
    assert [packed[number] for number in range(20)] == records
    assert [packed[-1], packed[-20]] == [records[-1], records[0]]
    assert list(packed) == records  # which ends by an IndexError


def test_a_packed_dict() -> None:
    pytest.importorskip("torch")
    pages = [f"page {number}" for number in (7, 1, 30)]
    for keys in (pages, [7, 1, 30]):
        notes = {key: {"text": f"note of {key}"} for key in keys}
        packed = pasted("PackedDict")["PackedDict"](notes)
        assert {key: packed[key] for key in keys} == notes
        assert (len(packed), keys[0] in packed, type(keys[0])(0) in packed) == (3, True, False)
        assert dict(packed.items()) == notes
        assert (packed.get(keys[1]), packed.get(type(keys[0])(0), "")) == (notes[keys[1]], "")
        assert list(packed) == keys  # the order of the samples, where it is made of it
        assert [type(key) for key in packed] == [type(keys[0])] * 3
        with pytest.raises(KeyError):
            packed[type(keys[0])(99)]


@pytest.mark.parametrize(
    ("code", "heading"),
    [
        ("TLK101", "PackedDict"),
        ("TLK106", "PackedRecords"),
        ("TLK403", "A meter that keeps no graph"),
        ("TLK408", "Try again after running out of memory"),
    ],
)
def test_explain_prints_the_code_to_paste(code: str, heading: str) -> None:
    """An installed torchleak has no docs: what a remedy names stands in the page of its rule, word for word."""
    (block,) = [each for each in blocks("python") if each.file.name == "remedies.md" and each.heading == heading]
    shown = "\n".join(line.strip() for line in pages.page(code).splitlines() if line.strip())
    for defined in ast.parse(block.text).body:
        if isinstance(defined, (ast.ClassDef, ast.FunctionDef)):
            lines = block.text.splitlines()[defined.lineno - 1 : defined.end_lineno]
            assert "\n".join(line.strip() for line in lines if line.strip()) in shown


def test_packed_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensors = [torch.arange(length).float() for length in (3, 1, 4)]
    packed = pasted("Tensors of different lengths")["PackedTensors"](tensors)
    assert [packed[number].tolist() for number in range(len(packed))] == [each.tolist() for each in tensors]
    packed[0].zero_()
    assert packed[0].tolist() == [0, 1, 2]


def test_a_file_opened_in_the_worker(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.png", f"image {number}")
    namespace = pasted("Open a file in the worker")
    dataset = namespace["Archive"](str(tmp_path / "all.zip"))
    assert (len(dataset), dataset[1]) == (3, b"image 1")
    state = dataset.__getstate__()
    pickle.dumps(state)
    again = namespace["Archive"].__new__(namespace["Archive"])
    again.__dict__.update(state)
    assert again[2] == b"image 2"
    for each in (dataset, again):
        each._opened[1].close()


def test_a_meter_that_keeps_no_graph() -> None:
    torch = pytest.importorskip("torch")
    meter = pasted("A meter that keeps no graph")["Average"]()
    for value in (1.0, 3.0):
        meter.update(torch.tensor(value, requires_grad=True) * 1)
    assert not meter.total.requires_grad
    meter.update(2)
    assert meter.value == 2


def test_a_loader_repeated() -> None:
    repeated: Callable[[list[int]], Any] = pasted("Repeat a loader")["repeated"]
    assert list(itertools.islice(repeated([1, 2]), 5)) == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_divided_stream(workers: int, tmp_path: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    (tmp_path / "lines.txt").write_text("".join(f"{number}\n" for number in range(10)))
    stream = pasted("Divide a stream among workers")["Lines"](tmp_path / "lines.txt")
    start = "fork" if workers else None
    loader = data.DataLoader(stream, batch_size=None, num_workers=workers, multiprocessing_context=start)
    assert sorted(int(line) for line in loader) == list(range(10))


def test_a_smaller_batch() -> None:
    torch = pytest.importorskip("torch")
    tried = []

    def step(batch: list[int]) -> int:
        tried.append(len(batch))
        if len(batch) > limit:
            raise torch.OutOfMemoryError
        return sum(batch)

    with_smaller_batch = pasted("Try again after running out of memory")["with_smaller_batch"]
    limit = 2
    assert with_smaller_batch(step, [1] * 8) == 2
    assert tried == [8, 4, 2]
    limit = 0
    with pytest.raises(torch.OutOfMemoryError):
        with_smaller_batch(step, [1])


# Architecture, model, contributing


def page(name: str, language: str = "python") -> list[Block]:
    return [each for each in blocks(language) if each.file.name == name]


def test_the_walk_of_a_finding() -> None:
    (example,) = page("architecture.md")
    (found,) = lint(example.text)
    assert found.code == "TLK403"
    assert "meter.update(loss)" in example.text.splitlines()[found.span.line - 1]
    text = example.file.read_text(encoding="utf-8")
    walk = re.findall(r"^  \d  (\S+\.py)", text, re.MULTILINE)
    assert 3 < len(walk) <= 6
    named_files = re.findall(r"`((?:\w+/)*\w+(?:\.py|/))`", text)
    assert len(named_files) > 15
    for name in {*walk, *named_files}:
        assert (ROOT / "flake8_torchleak" / name).exists() or name.startswith(("fixtures/", "proof.py")), name


def test_what_the_model_can_be_asked() -> None:
    text = "import torch\n"
    module = Module(Source(text), parse(text), DEFAULT)
    text_of_page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    asked = re.findall(r"`module\.([\w.]+)", text_of_page)
    assert len(asked) > 22
    for path in asked:
        where: object = module
        for name in path.split("."):
            assert hasattr(where, name), path
            where = getattr(where, name)
    for name, file in re.findall(r"`(\w+)\([^`]*` of `flake8_torchleak/([\w/]+)\.py`", text_of_page):
        assert hasattr(importlib.import_module(f"flake8_torchleak.{file.replace('/', '.')}"), name), name


def test_the_rule_of_the_contributing_page(tmp_path: Path) -> None:
    """Two paths are added and none is changed; what the page says to run is run."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    files = re.findall(r"^`((?:fixtures|flake8_torchleak)/\S+/\w+\.py)`.*?\n```python\n(.*?)^```$", text, re.M | re.S)
    assert len(files) == 3
    shutil.copytree(
        ROOT / "flake8_torchleak", tmp_path / "flake8_torchleak", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, code in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert not path.exists()
        path.write_text(code, encoding="utf-8")
    run = torchleak(
        "check", "--select=TLK990", "--output-format=concise", "fixtures", cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )
    (line,) = run.stdout.decode().splitlines()
    assert line.startswith("fixtures/TLK990_collected_garbage/bad_every_step.py:14:9: TLK990 ")
    explained = torchleak("explain", "TLK990", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert explained.stdout.startswith(b"TLK990 collected-garbage\n")


def test_the_ten_leaks_are_found_where_the_comparison_says() -> None:
    text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)`: .*? \| (yes|no) \|", text, re.MULTILINE)
    programs = [path for path in (ROOT / "benchmarks" / "ten").glob("*.py") if path.stem != "common"]
    assert sorted(name for name, _ in rows) == sorted(path.stem for path in programs)
    for name, found in rows:
        code = (ROOT / "benchmarks" / "ten" / f"{name}.py").read_text(encoding="utf-8")
        marked = {number for number, line in enumerate(code.splitlines(), 1) if line.endswith("# LEAK")}
        lines = {each.span.line for each in lint(code) if not each.code.startswith("TLK9")}
        assert (found == "yes") == bool(lines & marked), name
        assert lines <= marked, name
