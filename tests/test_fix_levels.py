"""`extend-safe-fixes`, `extend-unsafe-fixes`, `unfixable`: what is applied, what is offered, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flake8_torchleak.finding import Edit, Finding, Fix, FixLevel, Severity, Span
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.levels import Levels
from tests.conftest import LEAK, torchleak
from tests.test_fix_command import EVALUATION, FIXED, NUMBER, SHOWN

Capture = pytest.CaptureFixture[str]
SAFE, UNSAFE, HINT = FixLevel.SAFE, FixLevel.UNSAFE, FixLevel.HINT


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def reported(*arguments: str, capsys: Capture) -> str:
    """The text report of `check`, which finds something."""
    assert main(["check", *arguments]) == 1
    return capsys.readouterr().out


def test_a_promoted_rule(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "a.py"
    file.write_text(EVALUATION)
    told = reported("--extend-safe-fixes=TLK501", capsys=capsys)
    assert "    fix (safe): decorate `validate` with `@torch.no_grad()`\nCan be fixed: 1 with --fix.\n" in told
    assert main(["check", "--fix", "--extend-safe-fixes=TLK501"]) == 0
    assert "@torch.no_grad()\n" in file.read_text()
    # The best of its fixes, not the mildest, now that all are taken for safe.
    file.write_text(SHOWN)
    assert "    fix (safe): add a number: `loss.item()`" in reported("--extend-safe-fixes=TLK4", capsys=capsys)
    assert main(["check", "--fix", "--extend-safe-fixes=TLK4"]) == 0
    assert file.read_text() == NUMBER


def test_a_demoted_rule(leak: Path, capsys: Capture) -> None:
    (leak / "pyproject.toml").write_text('[tool.torchleak]\nextend-unsafe-fixes = ["TLK401"]\n')
    told = reported(capsys=capsys)
    assert "    fix (unsafe): use `loss.detach()`\nCan be fixed: 1 with --fix --unsafe-fixes.\n" in told
    told = reported("--fix", capsys=capsys)
    assert "    not fixed: it needs --unsafe-fixes\n" in told
    assert "Can be fixed with --unsafe-fixes: 1.\n" in told
    assert (leak / "leak.py").read_text() == LEAK
    run = torchleak("check", "--fix", "--unsafe-fixes", cwd=leak)
    assert run.returncode == 0
    assert (leak / "leak.py").read_text() == FIXED


def test_an_unfixable_rule(leak: Path, capsys: Capture) -> None:
    told = reported("--unfixable=TLK4", "--extend-safe-fixes=TLK401", capsys=capsys)
    assert "    remedy: use `loss.detach()`\n1 finding in 1 file" in told
    told = reported("--unfixable=TLK4", "--fix", "--unsafe-fixes", capsys=capsys)
    assert "    remedy: use `loss.detach()`\nFixed 0 findings in 0 files.\n1 finding" in told
    assert (leak / "leak.py").read_text() == LEAK
    assert main(["check", "--unfixable=TLK4", "--output-format=json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["fix"], row["fixes"], row["unfixed"]) == ("hint", [], "the setting unfixable names TLK401")
    assert "Can be fixed: 1 with --fix.\n" in reported("--unfixable=TLK402", capsys=capsys)


def found(*levels: FixLevel, rule: FixLevel = UNSAFE, remedy: str = "") -> Finding:
    """A TLK401 with fixes of these levels."""
    place = Span(1, 0, 1, 1)
    fixes = tuple(Fix(level, f"do {number}", (Edit(place, "x"),)) for number, level in enumerate(levels))
    return Finding("TLK401", "slug", "text", place, Severity.ERROR, rule, fixes=fixes, remedy=remedy)


@pytest.mark.parametrize(
    ("levels", "level"),
    [
        (Levels(safe=["TLK4"]), SAFE),
        (Levels(unsafe=["TLK4"]), UNSAFE),
        (Levels(safe=["TLK"], unsafe=["TLK4"]), UNSAFE),
        (Levels(safe=["TLK401"], unsafe=["TLK4", "TLK402"]), SAFE),
        (Levels(safe=["TLK4"], unsafe=["TLK4"]), UNSAFE),
    ],
)
def test_the_longest_prefix_decides(levels: Levels, level: FixLevel) -> None:
    after = levels.apply(found(UNSAFE, SAFE))
    assert [each.level for each in after.fixes] == [level, level]
    assert [each.title for each in after.fixes] == ["do 0", "do 1"]
    assert after.fix is after.fixable is level
    # A rule that takes a person stays one, whatever it can do at times.
    assert levels.apply(found(UNSAFE, rule=HINT)).fix is HINT
    assert levels.apply(found(rule=HINT)).fixable is None


def test_what_no_setting_names_stays() -> None:
    finding = found(UNSAFE, SAFE)
    assert Levels(["TLK402"], ["TLK5"], ["TLK1"]).apply(finding) is finding


def test_the_remedy_of_what_is_not_to_be_fixed() -> None:
    never = Levels(never=["TLK401"])
    assert never.apply(found(UNSAFE, SAFE)).remedy == "do 0"
    assert never.apply(found(UNSAFE, remedy="think")).remedy == "think"
    assert never.apply(found(rule=HINT)).remedy == ""
