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

_RECEIVES = re.compile(r"for .+ in .*(loader|starts|DataLoader)\b.*:$")
_FILLS = re.compile(r"\.append\(|\] = ")
"""Of the leaks in workers: what fills a container as it is read, apart from what only reads it."""

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def seeded(text: str, kind: str) -> tuple[str, set[str], int]:
    """A program with its leak of one kind, the names that its holder may have, and the line that is to be told.

    The names are those in the leak's lines. The line makes what is kept: a graph's is marked `# makes graph`, or the
    leak's own; a batch's is the loop that receives it; a worker's is the one that fills the container, or binds it.
    """
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines, 1) if f"# seed {kind}: " in line]
    assert at, kind
    names: set[str] = set()
    for number in at:
        line = lines[number - 1].replace(f"# seed {kind}: ", "")
        names |= set(re.findall(r"\w+", line))
        lines[number - 1] = line
    made = at[-1] if kind == "worker" and _FILLS.search(lines[at[-1] - 1]) else at[0]
    if kind == "batch":
        made = max(number for number in range(1, made) if _RECEIVES.search(lines[number - 1]))
    marked = [number for number, each in enumerate(lines, 1) if each.endswith("# makes graph")]
    return "\n".join(lines) + "\n", names, marked[0] if marked and kind == "graph" else made


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
    text, names, line = seeded(program.read_text(), kind)
    file = tmp_path / f"{program.stem}_{kind}.py"
    file.write_text(text)
    found = recorded(file).growing
    assert found, "not seen"
    for each in found:
        words = set(re.findall(r"\w+", each.pattern))
        assert each.kind == kind or (kind == "worker" and each.kind == "cache"), shown(each)
        # The holder is named in the leak's line, and the exact line that made what is kept is told.
        assert words & names, shown(each)
        assert (each.made[0].path, each.made[0].line) == (str(file), line), shown(each)
