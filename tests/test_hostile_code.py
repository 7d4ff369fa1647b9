"""Texts that cannot be decoded, and exceptions that nobody foresaw: a line each, and the other files are checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flake8_torchleak.lint
from flake8_torchleak.lint import lint
from flake8_torchleak.shells.cli import main
from flake8_torchleak.source import SourceError, decode
from flake8_torchleak.wording import trouble
from tests.conftest import LEAK, flake8

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_folder(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)


COOKIES = [
    "undefined",
    "punycode",
    "idna",
    "no-such",
    "rot13",
    "rot_13",
    "hex",
    "zlib",
    "bz2",
    "base64",
    "uu",
    "quopri",
]


@pytest.mark.parametrize("first", ["", "#!/usr/bin/env python\n"], ids=["line 1", "line 2"])
@pytest.mark.parametrize("name", COOKIES)
def test_a_cookie_that_cannot_be_decoded_is_one_line(name: str, first: str, capsys: Capture) -> None:
    Path("bad.py").write_text(f"{first}# coding: {name}\n{LEAK}")
    assert main(["check", "--output-format=concise"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("leak.py:9:")
    assert next(line.startswith("torchleak: error: bad.py: cannot decode: ") for line in err.splitlines())
    assert err.count("torchleak: error: ") == 1


@pytest.mark.parametrize(
    "raw",
    [b"\xef\xbb\xbf# coding: latin-1\n", b"\xff\xfe", b"\xfe\xff\0a", b"# coding: utf-16\n", b"# coding: utf-7\n+x"],
)
def test_what_contradicts_itself_is_one_line(raw: bytes) -> None:
    with pytest.raises(SourceError, match=r"^cannot decode: [^\n]+$"):
        decode(raw + LEAK.encode() + b"#")


@pytest.mark.parametrize("name", ["undefined", "punycode", "rot13"])
def test_flake8_and_a_cookie_that_cannot_be_decoded(name: str) -> None:
    """In the file itself, flake8 says what it has to say; in a helper, nobody asks."""
    # flake8 itself does not take codecs that are not of text (it ends with a LookupError), with us or without.
    checked = "leak.py" if name == "rot13" else "."
    Path("bad.py").write_text(f"# coding: {name}\n{LEAK}")
    Path("leak.py").write_text("from bad import anything\n" + LEAK)
    run = flake8("--select=TLK,E9", checked, cwd=Path())
    assert b"Traceback" not in run.stderr
    assert b"leak.py:10:9: TLK401" in run.stdout
    assert b"TLK000" not in run.stdout


# Exceptions


class Odd(Exception):
    """With an address in its text, and more than a line."""

    def __str__(self) -> str:
        return f"no {object()!r}\nor {self.__init__}"  # type: ignore[misc]


@pytest.fixture
def _as_users_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flake8_torchleak.lint, "reraise", False)


WHERE = {
    "reading": "flake8_torchleak.shells.texts.decode",
    "linting": "flake8_torchleak.lint.lint",
    "statements": "flake8_torchleak.lint.Outline",
    "comments": "flake8_torchleak.shells.policy.Suppressions",
    "rendering": "flake8_torchleak.shells.formats.text._excerpt",
    "fixing": "flake8_torchleak.shells.repair.fix",
    "notebooks": "flake8_torchleak.shells.notebook.read",
}


@pytest.mark.parametrize(
    "error", [Odd(), RecursionError("too deep"), MemoryError(), KeyError("x"), ValueError("no"), OSError(5, "I/O")]
)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.usefixtures("_as_users_see_it")
def test_an_exception_costs_a_line_and_no_other_file(
    where: str, error: Exception, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("bad.ipynb" if where == "notebooks" else "bad.py").write_text(LEAK)
    target, name = WHERE[where].rpartition(".")[::2]
    real = getattr(__import__(target, fromlist=["x"]), name)
    calls = []

    def failing(*arguments: object, **names: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise error
        return real(*arguments, **names)

    monkeypatch.setattr(WHERE[where], failing)
    fixing = ["--fix"] if where == "fixing" else []
    assert main(["check", *fixing]) == 2
    out, err = capsys.readouterr()
    assert re.fullmatch(r"torchleak: error: bad\.(py|ipynb): [^\n]+\n", err)
    assert ("internal error" in err and type(error).__name__ in err) or isinstance(error, OSError)
    assert "0x" not in err
    assert "Fixed 1 finding in 1 file." in out if fixing else "leak.py:9:" in out
    if not fixing:
        assert main(["check"]) in (1, 2)


def test_the_tests_themselves_see_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("reading", "statements"):
        with monkeypatch.context() as patched:
            patched.setattr(WHERE[where], lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                main(["check"])


def test_an_exception_has_no_address_in_it() -> None:
    assert trouble(KeyError(object())) == "KeyError: <object>"
    assert trouble(Odd()) == "Odd: no <object> or <bound method Odd.__init__ of Odd()>" or "0x" not in trouble(Odd())
    assert trouble(ValueError()) == "ValueError"
    assert len(trouble(ValueError("x" * 10_000))) < 400
    assert trouble(ValueError("\x1b[2J")) == r"ValueError: \u001b[2J"


@pytest.mark.parametrize(
    "body",
    [
        "for _ in loader:\n    for y in loader:\n        y.detach\n    x.append(y)\n",
        "for _ in loader:\n    for y in loader: y.detach\n    x.append(y)\n",
        "for _ in loader:\n    if (y := next(loader)):\n        y.detach\n    x.append(y)\n",
        "for _ in loader:\n    while (y := next(loader)):\n        y.detach\n    x.append(y)\n",
        "for _ in loader:\n    with a as y:\n        y.detach\n    x.append(y)\n",
        "for _ in loader:\n    try: pass\n    except E as y:\n        y.detach\n    x.append(y)\n",
        "for _ in loader:\n    match a:\n        case y:\n            y.detach\n    x.append(y)\n",
    ],
)
def test_a_definition_around_its_own_use(body: str) -> None:
    head = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(ds, num_workers=4)\n"
    for text in (head + body, head + "def f():\n" + "".join(f"    {line}\n" for line in body.splitlines())):
        lint(text, fixes=True)


def test_what_a_loop_runs_for_every_element_proves_its_variable() -> None:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(ds, num_workers=4)\nx = []\n"
        "for _ in loader:\n    for y in loader:\n        {}z = y.unsqueeze(0)\n    x.append(y)\n"
    )
    (found,) = (each for each in lint(text.format(""), fixes=True) if each.code == "TLK404")
    assert found.fixes
    for way_out in ("if y.a: break\n        ", "if y.a: "):
        (found,) = (each for each in lint(text.format(way_out), fixes=True) if each.code == "TLK404")
        assert not found.fixes
    (found,) = (each for each in lint(text.format("pass\n    else:\n        "), fixes=True) if each.code == "TLK404")
    assert not found.fixes


@pytest.mark.usefixtures("_as_users_see_it")
def test_flake8_shows_an_exception_as_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError(object())

    monkeypatch.setattr(flake8_torchleak.lint, "Outline", fail)
    assert [(each.code, each.message) for each in lint(LEAK)] == [("TLK000", "internal error: KeyError: <object>")]
    with pytest.raises(SyntaxError):
        lint(LEAK + "(")
