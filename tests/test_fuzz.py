"""Laws of `lint` and `fix` on made programs: the same ones every time. `python -m tests.fuzz` makes others."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Finding, Span
from flake8_torchleak.fixing.fix import Fixed, fix
from flake8_torchleak.lint import lint as own
from tests.conftest import LEAK, ROOT, python
from tests.fuzz import laws
from tests.fuzz.corpus import corpus
from tests.fuzz.generated import generated
from tests.fuzz.laws import CONFIGS, check, failure
from tests.fuzz.mutate import LAYOUTS, MUTATIONS, mutant
from tests.fuzz.program import Program
from tests.fuzz.shrink import shrunk

# Made programs are full of what Python warns of.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("part", "numbers"),
    [
        pytest.param(0, range(20), id="0-some"),
        pytest.param(0, range(20, 60), id="0", marks=pytest.mark.long),
        *(pytest.param(part, range(60), id=str(part), marks=pytest.mark.long) for part in range(1, 10)),
    ],
)
def test_mutants(part: int, numbers: range) -> None:
    for number in numbers:
        rng = random.Random(f"mutant {part} {number}")
        text = mutant(rng, corpus())
        failed = failure(text, rng.choice(CONFIGS))
        assert not failed, f"{failed}:\n{text}"


@pytest.mark.long
@pytest.mark.parametrize("part", range(3))
def test_what_hypothesmith_makes(part: int) -> None:
    rng = random.Random(part)
    made = generated(rng, corpus(), 15)
    assert len(made) >= 5
    for text in made:
        failed = failure(text, rng.choice(CONFIGS))
        assert not failed, f"{failed}:\n{text}"


@pytest.mark.parametrize("change", list(dict.fromkeys(MUTATIONS)), ids=lambda each: each.__name__)
def test_every_mutation_makes_programs(change: Callable[[random.Random, Program, Program], str]) -> None:
    rng = random.Random(0)
    program, donor = Program(LEAK), Program(corpus()[0])
    made = set()
    for _ in range(40):
        text = change(rng, program, donor)
        try:
            made.add(Program(text).text)
        except SyntaxError:
            continue
    assert made - {LEAK}


def test_every_layout_is_another_text_of_the_same_program() -> None:
    text = LEAK + "\n\nx = 1\n"
    laid_out = {layout(text) for layout in LAYOUTS}
    assert len(laid_out - {text}) == len(LAYOUTS)
    assert {ast.dump(ast.parse(each)) for each in laid_out} == {ast.dump(ast.parse(text))}


def wrong(change: Callable[[Finding], Finding]) -> Callable[..., list[Finding]]:
    """A `lint` whose findings are changed."""
    return lambda *arguments, **options: [change(each) for each in own(*arguments, **options)]


BEYOND = Span(99, 0, 99, 1)


@pytest.mark.parametrize(
    ("law", "lint"),
    [
        ("spans lie in the text", wrong(lambda each: replace(each, span=BEYOND))),
        ("spans lie in the text", wrong(lambda each: replace(each, span=replace(each.span, end_col=99)))),
        ("what is said is one line", wrong(lambda each: replace(each, remedy="two\nlines"))),
        ("findings are unique", lambda *arguments, **options: own(*arguments, **options) * 2),
        (
            "a tree that is handed in changes nothing",
            lambda *given, **options: own(*given[:2], **options)[len(given) > 2 :],
        ),
        ("asking for fixes changes no finding", lambda *given, **options: own(*given, **options) if options else []),
        ("the gate loses no TLK401", lambda *given, **options: own(*given, **options) if "  # x" in given[0] else []),
    ],
)
def test_a_law_of_lint_that_is_broken_is_named(
    law: str, lint: Callable[..., list[Finding]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = LEAK.replace("torch\n", "torch  # x\n")
    assert failure(text) == ""
    monkeypatch.setattr(laws, "lint", lint)
    assert failure(text) == law


@pytest.mark.parametrize(
    ("law", "after", "more", "options"),
    [
        ("a fixed text parses", "x = (", "", {}),
        ("fixing twice changes nothing more", LEAK, "y", {}),
        ("without a fix the text stays", LEAK + "y\n", "", {"fixed": ()}),
        ("what is left is what is found", LEAK, "", {"left": tuple(own(LEAK))}),
        ("what was fixed is gone", LEAK, "", {"found": 0}),
        ("nothing new is there", LEAK * 2, "", {}),
    ],
)
def test_a_law_of_fix_that_is_broken_is_named(
    law: str, after: str, more: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = fix(LEAK, DEFAULT, False, lambda code: True)
    given = {LEAK: replace(done, text=after, **options)}  # type: ignore[arg-type]
    monkeypatch.setattr(laws, "fix", lambda text, *others: given.pop(text, Fixed(text + more, (), (), 0, 0, ())))
    assert failure(LEAK) == law


def test_an_exception_is_named_by_where_it_was_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_torchleak.lint.all_rules", lambda: 1)
    assert failure(LEAK) == "TypeError in lint.py:_asked"
    monkeypatch.setattr(laws, "lint", len)
    assert failure(LEAK) == "TypeError in elsewhere"


def test_a_failing_program_is_made_small() -> None:
    text = corpus()[0] + LEAK
    assert shrunk(text, lambda each: "loss.backward()" in each) == "loss.backward()\n"
    assert shrunk(text, lambda each: "backward()" in each, seconds=0) == text


@pytest.mark.long
def test_a_seed_makes_the_same_programs_again() -> None:
    runs = [python("-m", "tests.fuzz", "--seed", "3", "--only", number, cwd=ROOT) for number in ("7", "7")]
    assert [run.returncode for run in runs] == [0, 0]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith(b"1 programs, ")
    assert mutant(random.Random(7), corpus()) == mutant(random.Random(7), corpus())
    assert check(LEAK).fixes == 2
