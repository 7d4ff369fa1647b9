"""Other files, definition by definition: what is parsed piece by piece is what the whole file has."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchleak.model.files import File
from flake8_torchleak.model.firstparty import Finder, parsed, whole
from flake8_torchleak.model.pieces import split
from flake8_torchleak.source import parse

ROOT = Path(__file__).parents[1]
OWN = sorted(ROOT.glob("flake8_torchleak/**/*.py"))
OTHERS = sorted([*ROOT.glob("fixtures/**/*.py"), *ROOT.glob("tests/*.py")])
SOURCES = [*OWN[::4], *(pytest.param(path, marks=pytest.mark.long) for path in [*OWN, *OTHERS] if path not in OWN[::4])]

DECORATED = """
import functools


@functools.cache
# why
@functools.wraps(
    len,
)
async def first(a,
    b=(1,
    2),
):
    return '''
    text
    '''


LIMIT = 3
class Second(Base): pass
if LIMIT:
    def third(): ...
def first(): ...
"""


def definitions(root: ast.Module) -> list[tuple[str, str]]:
    """Name and form, positions too, of the functions and classes at the left margin."""
    found = (each for each in root.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)))
    return [(each.name, ast.dump(each, include_attributes=True)) for each in found]


def by_pieces(text: str) -> list[tuple[str, str]]:
    """The same, as a File has them."""
    file = File("module.py", text)
    names = dict.fromkeys(name for name, _ in definitions(parse(text)))
    found = [each for name in names for each in file.binding(name)]
    return definitions(ast.Module(sorted(found, key=lambda each: each.lineno), []))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_pieces_are_what_the_whole_has(path: Path) -> None:
    text = path.read_text()
    assert by_pieces(text) == definitions(parse(text))


def test_decorators_belong_to_their_definition() -> None:
    cut = split(DECORATED)
    assert cut is not None
    rest, pieces = cut
    assert [(piece.name, piece.above) for piece in pieces] == [("first", 4), ("Second", 19), ("first", 22)]
    assert rest.count("\n") == DECORATED.count("\n")
    assert ast.unparse(parse(rest)).splitlines()[:2] == ["import functools", "LIMIT = 3"]
    assert by_pieces(DECORATED) == definitions(parse(DECORATED))


@pytest.mark.parametrize(
    "text",
    [
        '"""Text.\n\ndef no(): ...\n"""\ndef yes(): ...\n',
        "def yes():\n    '''Text.\n\nclass No: ...\n    '''\n",
        "def yes(): return 1 == \\\n2\n",
        "@wrapped(\n'by'\n)\ndef yes(): ...\n",
        "x = 1\n\fdef yes(): ...\n",
        "x = 1\rdef yes(): ...\r",
    ],
)
def test_where_cuts_are_not_sure_the_whole_is_parsed(text: str) -> None:
    assert split(text) is None
    assert [name for name, _ in by_pieces(text)] == ["yes"]


def test_a_wrong_cut_is_noticed() -> None:
    text = "def yes():\n    return [\n'a']\nx = 1\n"
    assert split(text) is not None
    assert by_pieces(text) == definitions(parse(text))


def test_a_piece_that_does_not_parse_is_no_definition() -> None:
    file = File("module.py", "def no(:\n    pass\ndef two(): ...\nx = 1\n")
    assert (file.binds("no"), file.binding("no"), len(file.binding("two")), len(file.binding("x"))) == (True, [], 1, 1)
    with pytest.raises(SyntaxError):
        File("module.py", "x = = 1\n")


def test_what_does_not_parse_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("x = = 1\n")
    assert parsed(str(path), str(tmp_path)) is None
    assert whole(str(path), str(tmp_path)) is None
    assert whole(str(tmp_path / "none.py"), str(tmp_path)) is None


LINES = ("def a():\n", "@a\n", "    x\n", '"""\n', "'''\n", "x = (\n", ")\n", "\\\n", "# b\n")


@given(st.lists(st.sampled_from(LINES)))
def test_no_text_is_cut_into_what_it_has_not(lines: list[str]) -> None:
    text = "".join(lines)
    try:
        root = parse(text)
    except SyntaxError:
        return
    assert by_pieces(text) == definitions(root)


@pytest.mark.parametrize(
    ("package", "top", "expected"),
    [
        (["setup.py", "__init__.py"], ["pyproject.toml"], "project"),  # a module of the package
        (["setup.py", "__init__.py"], [], "project"),  # the folder that holds the outermost package
        (["setup.py"], ["pyproject.toml"], "project/models"),
        (["setup.cfg", "__init__.py"], ["pyproject.toml"], "project/models"),
    ],
)
def test_a_module_of_a_package_may_be_called_setup(
    tmp_path: Path, package: list[str], top: list[str], expected: str
) -> None:
    models = tmp_path / "project" / "models"
    models.mkdir(parents=True)
    for folder, names in ((models, package), (tmp_path / "project", top)):
        for name in names:
            (folder / name).touch()
    assert Finder(str(models / "evaluate.py")).top == str(tmp_path / expected)
