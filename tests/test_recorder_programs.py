"""Ten training programs, in the style of those that everybody knows: healthy ones report nothing, seeded ones a line.

Each has three leaks as comments, `# seed KIND: code`: a kept graph, a kept batch, objects or a cache in the workers.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from flake8_torchleak.recorder import Kept, Record
from flake8_torchleak.recorder.program import Program, run
from flake8_torchleak.recorder.recording import Options, Recording
from tests.recorded import few_modules as few_modules

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("*.py"))
KINDS = ("graph", "batch", "worker")

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def seeded(text: str, kind: str) -> tuple[str, set[str]]:
    """A program with its leak of one kind, and the names that its holder may have: those in the leak's lines."""
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines, 1) if f"# seed {kind}: " in line]
    assert at, kind
    names: set[str] = set()
    for number in at:
        line = lines[number - 1].replace(f"# seed {kind}: ", "")
        names |= set(re.findall(r"\w+", line))
        lines[number - 1] = line
    return "\n".join(lines) + "\n", names


def recorded(file: Path) -> Record:
    recording = Recording(Options())
    here = os.getcwd()
    ended = run(Program(str(file)), recording)
    os.chdir(here)
    assert ended == ""
    return recording.record


def shown(kept: Kept) -> str:
    return f"{kept.kind} {kept.pattern} {kept.made} {kept.growth}"


@pytest.mark.parametrize("program", PROGRAMS, ids=[each.stem for each in PROGRAMS])
def test_a_healthy_program(program: Path) -> None:
    record = recorded(program)
    told = [each for each in record.kept if each.grows or each.kind in ("data", "evaluation", "thread")]
    assert [shown(each) for each in told] == []
    assert sum(record.steps.values()) >= 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=[each.stem for each in PROGRAMS])
def test_a_seeded_leak(program: Path, kind: str, tmp_path: Path) -> None:
    text, names = seeded(program.read_text(), kind)
    file = tmp_path / f"{program.stem}_{kind}.py"
    file.write_text(text)
    found = recorded(file).growing
    assert found, "not seen"
    for each in found:
        words = set(re.findall(r"\w+", each.pattern))
        assert each.kind == kind or (kind == "worker" and each.kind == "cache"), shown(each)
        # The holder is named in the line; what is kept was made in the program.
        assert words & names, shown(each)
        assert all(site.path == str(file) for site in each.made[:1]), shown(each)
