"""Laws of notebooks: any layout, any cut into cells, and what IPython itself takes for Python."""

from __future__ import annotations

import ast
import json
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flake8_torchleak.lint import lint
from flake8_torchleak.shells import jsontext, magics
from flake8_torchleak.shells.notebook import Notebook, read
from flake8_torchleak.source import Place, Source, SourceError
from tests.fixer import mended
from tests.notebooks import LAYOUTS, code, notebook, prose, written
from tests.test_fix_properties import BAD, done

LINES = st.sampled_from(
    ["x = 1\n", "\n", "é = '☃'\n", "'\\n'\n", "'\\\\'\n", "# \t\x1f\n", "y = 2\r\n", "z\r", "'🙂'\n", "# /\x7f\u2028\n"]
)
SOURCES = st.lists(LINES, max_size=6).map("".join)
TEXTS = st.one_of(SOURCES, SOURCES.map(lambda text: text.rstrip("\r\n")))


def as_list(text: str) -> list[str]:
    """The source of a cell as Jupyter writes it."""
    return Source(text).lines


def whole(content: Any, layout: dict[str, Any]) -> str:
    return json.dumps(content, **layout)


@given(TEXTS, TEXTS, st.booleans(), LAYOUTS)
def test_a_changed_source_is_laid_out_like_the_old_one(
    old: str, new: str, listed: bool, layout: dict[str, Any]
) -> None:
    if not old:
        return
    # From the outside in: what stands around the source, and how lists are indented there.
    before, after = (whole({"a": [{"source": as_list(text) if listed else text}]}, layout) for text in (old, new))
    start, end = next(iter(jsontext.sources(before.replace('"a"', '"cells"')).values()))
    start, end = start - 4, end - 4
    changed = before[:start] + jsontext.changed(before[start:end], new) + before[end:]
    value = json.loads(changed)["a"][0]["source"]
    assert "".join(value) == new
    assert isinstance(value, list) is listed
    # What one line does not show: how several are laid out, and whether other characters would be escaped.
    lines_known = not listed or (len(as_list(old)) > 1 and new)
    if lines_known and (layout["ensure_ascii"] or new.isascii() or not old.isascii()):
        assert changed == after


@given(st.lists(TEXTS, max_size=4), st.data(), LAYOUTS)
def test_the_places_of_sources(texts: list[str], data: st.DataObject, layout: dict[str, Any]) -> None:
    cells = [code(as_list(text) if data.draw(st.booleans()) else text, outputs=["[{"]) for text in texts]
    odd: list[Any] = [None, [], {}, {"a": {"source": "no"}}, 3.5, "]"]
    mixed = data.draw(st.permutations([*cells, *odd]))
    content = {"a": {"cells": [{"source": "no"}]}, "cells": mixed, "z": "}"}
    raw = whole(content, layout)
    found = {index: json.loads(raw[start:end]) for index, (start, end) in jsontext.sources(f" {raw}".lstrip()).items()}
    assert found == {i: each["source"] for i, each in enumerate(mixed) if isinstance(each, dict) and "source" in each}


def test_unusual_json_keeps_its_bytes() -> None:
    value = r'[ "\u0061\/\u000a", "b\u000D\nc\r", "d = 1" ]'
    assert jsontext.changed(value, "a/\nb\r\nc\rd = 2") == r'[ "\u0061\/\u000a", "b\u000D\n", "c\r", "d = 2" ]'
    assert jsontext.changed(r'"\u0061\/\u000Ab\\nc\\\nd"', "a/\nb\\nc\\\ne") == r'"\u0061\/\u000Ab\\nc\\\ne"'
    assert jsontext.changed('["a"]', "a\nb") == r'["a\n","b"]'
    assert jsontext.changed('[\n  "a\\n"\n]', "é\na\n") == '[\n  "\\u00e9\\n",\n  "a\\n"\n]'
    assert jsontext.changed('["é"]', "éa") == '["éa"]'
    # Where a name stands twice, the last one counts, as in json.loads.
    raw = '{"cells": [{"source": "a"}], "cells": [{"source": "a", "source": "b"}]}'
    ((start, end),) = jsontext.sources(raw).values()
    assert raw[start:end] == '"b"'


def cut(text: str, data: st.DataObject) -> list[str]:
    """A module cut between some of its top-level statements."""
    lines = Source(text).lines
    starts = [
        min([each.lineno, *(d.lineno for d in getattr(each, "decorator_list", ()))]) for each in ast.parse(text).body
    ]
    ends = {each.end_lineno for each in ast.parse(text).body}
    places = [
        start - 1 for start in starts[1:] if start - 1 in ends or start - 1 > max(e for e in ends if e and e < start)
    ]
    chosen = sorted(data.draw(st.sets(st.sampled_from(places)))) if places else []
    return ["".join(lines[a:b]) for a, b in zip([0, *chosen], [*chosen, len(lines)])]


@settings(max_examples=15)
@given(st.sampled_from(sorted(BAD)), st.booleans(), st.data(), LAYOUTS)
def test_a_module_cut_into_cells_is_the_same_module(
    name: str, unsafe: bool, data: st.DataObject, layout: dict[str, Any]
) -> None:
    compare_cut(name, unsafe, data, layout)


@pytest.mark.long
@settings(max_examples=100)
@given(st.sampled_from(sorted(BAD)), st.booleans(), st.data(), LAYOUTS)
def test_modules_cut_into_cells_are_the_same_modules(
    name: str, unsafe: bool, data: st.DataObject, layout: dict[str, Any]
) -> None:
    compare_cut(name, unsafe, data, layout)


def compare_cut(name: str, unsafe: bool, data: st.DataObject, layout: dict[str, Any]) -> None:
    """Cut a bad fixture into cells somehow: the notebook is found in and fixed as the module is."""
    text = BAD[name]
    cells = [each for piece in cut(text, data) for each in (prose("# x"), code(as_list(piece)))]
    raw = whole(notebook(*cells), layout).encode()
    book = read(raw)
    assert book is not None
    starts, line = {}, 0
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            starts[number] = line
            line += len(cell["source"])
    source = book.source(book.text)

    def there(line: int) -> int:
        return starts[source.place(line).cell] + source.place(line).line

    assert [(each.code, there(each.span.line), each.span.col) for each in lint(book.text)] == [
        (each.code, each.span.line, each.span.col) for each in lint(text)
    ]
    after = book.encoded(mended(book.text, unsafe, "TLK").text)
    nbformat.validate(nbformat.reads(after.decode(), as_version=4))  # type: ignore[no-untyped-call]
    content = json.loads(after)
    joined = "".join("".join(each["source"]) for each in content["cells"] if each["cell_type"] == "code")
    assert joined == done(name, unsafe).text
    for cell, new in zip(cells, content["cells"]):
        cell["source"] = new["source"]
    # All but the sources is as it was.
    assert content == notebook(*cells)
    assert book.encoded(book.text) == raw


def loaded(*sources: str) -> Notebook:
    """A notebook of code cells."""
    book = read(written(notebook(*sources)))
    assert book is not None
    return book


def test_what_is_not_pythons_must_stay() -> None:
    book = loaded("!ls", "%%time\nx = !ls", "y = 1")
    lines = Source(book.text).lines
    assert book.encoded(book.text + "z = 2\n") == written(notebook("!ls", "%%time\nx = !ls", "y = 1\nz = 2"))
    for text in (
        "import copy\n" + book.text,
        "".join(lines[1:]),
        book.text.replace("pass", "pass;"),
        book.text.replace("get_ipython()", "get_ipython().copy()"),
        "".join([*lines[2:4], *lines[:2], *lines[4:]]),
    ):
        assert text != book.text
        with pytest.raises(SourceError, match="only IPython understands"):
            book.encoded(text)


def test_our_own_lines_are_told_from_the_users() -> None:
    book = loaded("# ~cell1\n# ~cell~2\n!ls", "pass  # noqa ~cell~~1.2")
    assert [book.source(book.text).place(line) for line in (2, 3, 4)] == [Place(1, 1), Place(2, 1), Place(3, 1)]
    assert book.encoded(book.text + "x\n") == written(
        notebook("# ~cell1\n# ~cell~2\n!ls", "pass  # noqa ~cell~~1.2\nx")
    )


def test_original_lines_are_shown() -> None:
    book = loaded("%%time\n\nx = !ls \\\n -l\n%time f()\ny")
    source = book.source(book.text)
    assert source.lines == ["%%time\n", "\n", "x = !ls \\\n", "%time f()\n", "y\n"]
    assert [source.place(line) for line in range(1, 7)] == [Place(line, 1) for line in (2, 2, 3, 5, 6, 7)]


CELLS = """
  x = 1
  %ls
--
%time f()
--
for i in x:
    %time f(i)
    !ls {i}
--
d["a"] = !ls -l "unbalanced
--
a.b, c = %who_ls
--
x: int = !ls
--
x = a?
--
foo??
--
?foo
--
*foo*?
--
foo.bar[0]?
--
%time?
--
/f x
--
,f a b
--
;f a
--
!ls \\
 -l 'a
x = 1
--
%run a \\
 b
x
--
%timeit -n 10 -r3 f(x)
--
%timeit -n 10 -r3 f(x
--
!!ls
--
# a comment

%%time
x
--
x = '''
%no
!no
no?
'''
!ls
--
f(a
%b)
%ls
--
x = f(1, # = !no
  "= !no")
y = !ls
--
a = 1 # foo?
%ls
--
f();
await g();
%ls
--
async with a as b:
    await c
%ls
--
try:
    %x
except E:
    !y
else:
    z = %w
--
x = 1
x += 2
%ls
""".strip("\n").split("\n--\n")


@pytest.mark.parametrize("source", CELLS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_ipython_takes_we_take_too(source: str, end: str) -> None:
    manager = pytest.importorskip("IPython.core.inputtransformer2", reason="IPython needs Python 3.11")
    theirs = manager.TransformerManager().transform_cell(source + "\n")
    source = source.replace("\n", end) + end
    compile(theirs, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    book = loaded(source)
    assert book.broken == ()
    ours = ast.parse(book.text)
    assert len(ours.body) == len(ast.parse(theirs).body) or source.startswith("  ")
    # The same names are bound.
    assert bound(ours) == bound(ast.parse(theirs))
    assert book.encoded(book.text + f"added{end}") == written(notebook(f"{source}added{end}"))


def bound(tree: ast.Module) -> list[str]:
    """The targets of assignments, in the order of the text."""
    return [ast.unparse(t) for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets if "_" not in str(t)]


@pytest.mark.parametrize(
    ("source", "taken"),
    [("x\n%%time\n", 0), ("%%time -x\nx\n", 1), ("\n \n%%capture out\n\n%%time\nx\n", 5), ("\n\n", 0), ("", 0)]
    + [(f"{head}\nx\n", None) for head in ("%%bash", "%%", "%% time", "%%timer", "%%time\n%%sh", "%%!", "%%html x")],
)
def test_the_magics_of_a_cell(source: str, taken: int | None) -> None:
    assert magics.head(as_list(source)) == taken


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("pip install x\n", "pass"),
        ("  pip install -q x\n", "  pass"),
        ("%time f(x)  # c\n", "f(x)  # c"),
        ("%timeit -n 10 -r3 f(\\\n x)\n", "f(  x)"),
        ("%time f(\n", "pass"),
        ("%timeit\n", "pass"),
        ("ls -l\n", None),
        ("pip = 3\n", None),
        ("pip.x y\n", None),
        ("x = 'a = !b'\n", None),
        ("x == !a\n", None),
        ("x += !a\n", None),
        ("# x = !a\n", None),
        ("x = y = !a\n", "x = y = get_ipython()"),
        ("'what?'\n", None),
        ("\n", None),
        ("x = (\n!a\n)\n", None),
        ("x = (\n!a\n", None),
        ("  x\n y\n", None),
    ],
)
def test_lines_of_magics(source: str, python: str | None) -> None:
    lines = as_list(source)
    runs = list(magics.split(lines))
    assert runs[0][0] == python
    assert [line for _, run in runs for line in run] == lines


@given(
    st.lists(
        st.sampled_from([*"%!?/,;=()[]'\"\\ \n\t#\r:x.1\0\ud800", "'''", "pip ", "x = !", "%%", "%time "]), max_size=15
    )
)
def test_any_text_is_split_and_kept(pieces: list[str]) -> None:
    source = "".join(pieces)
    lines = as_list(source)
    assert [line for _, run in magics.split(lines) for line in run] == lines
    raw = json.dumps(notebook(source)).encode()
    book = read(raw)
    assert book is not None
    assert book.encoded(book.text) == raw
    if book.text:
        ast.parse(book.text)
    assert not (book.broken and book.text)
