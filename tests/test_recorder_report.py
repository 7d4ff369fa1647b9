"""What `torchleak run` says: findings beside what was seen, as text, JSON and a page."""

from __future__ import annotations

import json
import py_compile
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from flake8_torchleak.finding import Finding, FixLevel, Note, Severity, Span
from flake8_torchleak.recorder import frames, program, wording
from flake8_torchleak.recorder.growth import Growth
from flake8_torchleak.recorder.join import Verdict, holder_name, join
from flake8_torchleak.recorder.lines import Lines
from flake8_torchleak.recorder.live import Live
from flake8_torchleak.recorder.page import page
from flake8_torchleak.recorder.plots import by_holder, by_holder_in_workers, by_worker, whole_process
from flake8_torchleak.recorder.program import NoProgram, Program, own_files, run
from flake8_torchleak.recorder.recording import Options, Recording
from flake8_torchleak.recorder.result import Kept, Record, Site, Worker
from flake8_torchleak.recorder.text_report import as_json, text

GREW = Growth(2.0, 0.01, 200.0, 20, 120, 16)
SOURCE = """\
def train(loader):
    losses = []
    for x, y in loader:
        loss = criterion(x, y)
        losses.append(loss)
        a.append(loss)
""".splitlines()


def finding(line: int, code: str = "TLK402", *notes: Note) -> Finding:
    span = Span(line, 8, line, 27)
    return Finding(code, "stored-graph", "keeps <it>", span, Severity.ERROR, FixLevel.SAFE, notes)


def kept(kind: str = "graph", pattern: str = "train.losses[*]", line: int = 4, **more: Any) -> Kept:
    values: dict[str, Any] = {"growth": GREW, "size": 60_000.0, "size_per_step": 530_000.0, **more}
    return Kept(kind, pattern.replace("*", "7"), pattern, (Site("train.py", line, "train"),), **values)


def verdicts(found: Finding, *seen: Kept, hit: set[tuple[str, int]] | None = None) -> tuple[Verdict, int]:
    joined = join(Record(seen), {"train.py": [found]}, hit, lambda path: SOURCE)
    (judged,) = joined.judged
    return judged.verdict, len(joined.unexpected)


def test_a_finding_on_the_line_that_made_it_is_confirmed() -> None:
    assert verdicts(finding(4), kept()) == (Verdict.CONFIRMED, 0)


def test_a_finding_whose_line_names_the_holder_is_confirmed() -> None:
    assert verdicts(finding(5), kept()) == (Verdict.CONFIRMED, 0)
    assert verdicts(finding(5), kept(line=99)) == (Verdict.CONFIRMED, 0)


def test_a_holder_of_a_short_name_needs_the_place_where_its_value_was_made() -> None:
    elsewhere = Kept("graph", "b.a[7]", "b.a[*]", (Site("other.py", 4, "train"),), growth=GREW)
    assert verdicts(finding(6), elsewhere) == (Verdict.UNKNOWN, 1)
    note = Note(Span(4, 0, 4, 5), "computes the loss", "other.py")
    assert verdicts(finding(6, "TLK402", note), elsewhere) == (Verdict.CONFIRMED, 0)


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        (finding(5, "TLK101"), kept()),
        (finding(2), kept(pattern="train.other[*]")),
        (finding(5), kept(bound="a deque of at most 5")),
        (finding(5), kept(growth=None)),
    ],
)
def test_other_rules_holders_and_what_does_not_grow_confirm_nothing(found: Finding, seen: Kept) -> None:
    assert verdicts(found, seen)[0] is Verdict.UNKNOWN


def test_whether_the_line_ran() -> None:
    assert verdicts(finding(5), hit={("train.py", 5)}) == (Verdict.NOT_SEEN, 0)
    assert verdicts(finding(5), hit={("other.py", 5), ("train.py", 4)}) == (Verdict.NOT_REACHED, 0)
    assert verdicts(finding(5)) == (Verdict.UNKNOWN, 0)


def test_what_several_hold_is_told_of_one_of_them() -> None:
    """The line of the other one reads what was kept there; one that reads something else kept nothing."""
    ran = {("train.py", 5), ("train.py", 2)}
    other = kept(pattern="train.others[*]")
    assert verdicts(finding(5), other, hit=ran) == (Verdict.NOT_TOLD_APART, 1)
    assert verdicts(finding(2), other, hit=ran) == (Verdict.NOT_SEEN, 1)
    assert verdicts(finding(5, "TLK404"), other, hit=ran) == (Verdict.NOT_SEEN, 1)
    assert verdicts(finding(5), kept(pattern="train.others[*]", line=99), hit=ran) == (Verdict.NOT_SEEN, 1)


def test_what_a_meter_keeps_is_named_where_it_stores_that() -> None:
    """Where a holder begins others may begin as well: such a note tells nothing."""
    meter, other = kept(pattern="train.a.losses[*]", line=99), kept(pattern="train.b.losses[*]", line=99)
    stored, begun = (Note(Span(line, 0, line, 5), text) for line, text in ((5, "stored here"), (2, "`a` is set here")))
    assert verdicts(finding(6, "TLK403", stored), meter)[0] is Verdict.CONFIRMED
    assert verdicts(finding(6, "TLK403", begun), meter)[0] is Verdict.UNKNOWN
    assert verdicts(finding(6, "TLK403", stored), other)[0] is Verdict.UNKNOWN  # its line speaks of another one
    assert verdicts(finding(6, "TLK403", stored), meter, hit=set())[0] is Verdict.NOT_REACHED


def test_what_has_no_graph_is_not_judged() -> None:
    """Outputs that are kept grow, whether they have a graph or not; the recorder sees graphs."""
    assert verdicts(finding(5, "TLK502"), hit={("train.py", 5)}) == (Verdict.NOT_JUDGED, 0)
    assert verdicts(finding(5, "TLK502"), hit=set()) == (Verdict.NOT_REACHED, 0)
    assert verdicts(finding(5, "TLK502"), kept(), hit={("train.py", 5)}) == (Verdict.CONFIRMED, 0)


@pytest.mark.parametrize(("seen", "told"), [((), []), ((kept(),), [Verdict.CONFIRMED])])
def test_notes_are_told_where_a_run_confirms_them(seen: tuple[Kept, ...], told: list[Verdict]) -> None:
    joined = join(Record(seen), {"train.py": [finding(5)]}, None, lambda path: SOURCE, tells=lambda _: False)
    assert [each.verdict for each in joined.judged] == told
    assert joined.unexpected == ()


def test_what_does_not_grow_but_counts_is_told() -> None:
    idle = Kept("evaluation", "train", "train", (Site("train.py", 4, "train"),), note="builds graphs")
    assert verdicts(finding(4, "TLK501"), idle) == (Verdict.CONFIRMED, 0)


def test_names_of_holders() -> None:
    names = {"train.losses[*]": "losses", "run.meter.rows[*]['loss']": "rows", "losses": "losses", "[*]": ""}
    assert {each: holder_name(each) for each in names} == names


RECORD = Record(
    kept=(
        kept(called=Site("/somewhere/else.py", 3, "main")),
        kept("unheld", "x.py:3"),
        Kept("data", "Rows: self.rows[3]", "Rows: self.rows", note="changed while it was read"),
        kept("cache", "Photos.cache", clock="fetch", note="in each worker", size_per_step=0.0, count=12.0),
        kept("hook", "$look in _forward_hooks", size=0.0, bound="three"),
        kept("batch", "train.ys[*]", clock="loader"),
        kept("worker", "Photos.rows", clock="fetch", most=9e6),
    ),
    steps={"optimizer": 120, "loader": 1, "backward": 2, "manual": 1},
    steps_per_epoch=12_500,
    heap=((1, 10.0), (2, 20.0), (3, 5.0)),
    descriptors=((1, 1.0), (2, 2.0), (3, 3.0)),
    device=((1, 1.0), (2, 2.0), (3, 3.0)),
    series={
        ("graph", "train.losses[*]"): ((1, 1.0, 100.0), (2, 2.0, -300.0)),
        ("hook", "$look in _forward_hooks"): ((1, 1.0, 0.0), (2, 2.0, 0.0)),
        ("worker", "Photos.rows"): ((0, 0.0, 0.0), (64, 2000.0, 4e6)),
        ("cache", "Photos.cache"): ((0, 0.0, 0.0), (64, 12.0, 0.0)),
    },
    workers=(
        Worker("Photos, worker 0", ((0, 2e6), (60, 3e6))),
        Worker("Photos, worker 1", ((0, 2e6), (64, 5e6))),
        Worker("Other, worker 0", ((0, 9e6),)),
    ),
    notes=("a note",),
    seconds=1.25,
)
HEALTHY = Record(steps={"backward": 20}, heap=((1, 1.0),), descriptors=((1, 1.0), (2, 1.0), (3, 1.0)))


def all_verdicts() -> Any:
    found = [finding(5), finding(5, "TLK101"), finding(5, "TLK910")]
    return join(RECORD, {"train.py": found}, {("train.py", 5)}, lambda path: SOURCE)


def test_the_report_as_text() -> None:
    shown = text(RECORD, all_verdicts(), "it was interrupted")
    for words in (
        "120 optimizer steps, 1 batch in evaluation, 2 runs of backward, 1 step in 1.2 s; it was interrupted",
        "Confirmed: found in the source, and seen in the run",
        "train.py:5: TLK402 keeps <it> [stored-graph]",
        "`train.losses[*]` keeps an autograd graph: +530 KB a step, 60 KB after 120 steps;",
        "; an epoch of 12,500 steps: 6.62 GB",
        "for example `train.losses[7]`",
        "made at train.py:4 in train",
        "called from /somewhere/else.py:3 in main",
        "grew 2 ± 0.01 a step from step 20 to 120 (16 samples)",
        "Not seen: the line ran and kept nothing",
        "Seen at run time only",
        "tensors with an autograd graph stay in memory; what keeps them was not seen",
        "Rows: self.rows[3]: changed while it was read",
        "`Photos.cache`: a container that grows in each worker: +2 a batch, 12 after 120 batches",
        "in each worker",
        "+530 KB a batch",
        "more: torchleak explain TLK404",
        "memory in use, the whole process: -2 bytes a step from step 1 to 3",
        "an epoch of 12,500 batches: 6.62 GB\n",
        "; all of it: 9 MB in each worker",
        "private memory of workers: at most +3 MB after 64 batches (Photos, worker 1)",
        "open file descriptors, the whole process: +1 a step",
        "memory on the GPU, the whole process: +1 bytes a step",
        "note: a note",
        "growth: a straight line",
    ):
        assert words in shown, words
    assert "No growth" not in shown


def test_the_report_of_a_healthy_run() -> None:
    shown = text(HEALTHY, join(HEALTHY, {}, set(), lambda path: []), "")
    assert "20 runs of backward in 0.0 s\n" in shown
    assert "No growth was confirmed." in shown
    assert "whole process" not in shown
    assert "no steps" in wording.summary(Record())


def test_the_bound_of_what_grows_is_told() -> None:
    assert "bounded: three" in wording.details(RECORD.kept[4])


def test_the_report_as_json() -> None:
    found = json.loads(as_json(RECORD, all_verdicts(), ""))
    assert found["leaks"] is True
    assert [each["verdict"] for each in found["findings"]] == ["confirmed", "not told apart", "not seen"]
    assert found["findings"][0]["kept"][0]["holder"] == "train.losses[7]"
    assert {each["kind"] for each in found["run_time_only"]} == {"unheld", "data", "cache", "batch", "worker"}
    assert found["workers"][1] == {
        "name": "Photos, worker 1",
        "private": [{"fetched": 0, "bytes": 2e6}, {"fetched": 64, "bytes": 5e6}],
    }
    assert found["heap"][0] == {"step": 1, "bytes": 10.0}


def test_the_page() -> None:
    shown = page(RECORD, all_verdicts(), "<train>.py", "it raised <Error>")
    assert shown.startswith("<!doctype html>")
    assert "Growth was confirmed: 5 holders." in shown
    assert shown.count("<svg") == 4
    for title in ("by holder, in a worker", "of each worker, since its start", "of the whole process"):
        assert title in shown
    assert "keeps &lt;it&gt;" in shown
    assert "it raised &lt;Error&gt;" in shown
    assert "<script" not in shown
    # Names of XML's vocabularies, which nobody fetches, are all there is of addresses.
    assert {each.partition("/")[0] for each in shown.split("http://")[1:]} == {"www.w3.org"}
    assert "https://" not in shown
    assert "url(h" not in shown
    assert "@import" not in shown
    assert '<meta name="viewport" content="width=device-width' in shown
    assert "`" not in shown
    assert "(prefers-color-scheme: dark)" in shown
    assert "currentColor" in shown
    assert "#010203" not in shown
    healthy = page(HEALTHY, join(HEALTHY, {}, set(), lambda path: []), "train.py", "")
    assert "No growth was confirmed." in healthy
    assert "<svg" not in healthy


def test_what_was_not_judged_is_not_called_healthy() -> None:
    short = Record(steps={"optimizer": 19})
    words = "Nothing was judged: growth shows over at least 20 steps only."
    assert words in text(short, join(short, {}, set(), lambda path: []), "")
    assert f'class="verdict open">{words}' in page(short, join(short, {}, set(), lambda path: []), "train.py", "")


def test_plots() -> None:
    for plot in (by_holder, by_holder_in_workers, by_worker, whole_process):
        assert plot(HEALTHY) == ""
    counts = Record(RECORD.kept[4:5], series=RECORD.series)
    assert "<!-- $look in _forward_hooks: 2 -->" in by_holder(counts)
    assert by_holder_in_workers(counts) == ""


def test_plots_of_workers() -> None:
    """What grew in workers stands by itself, over the batches they fetched; sizes are drawn if anything has one."""
    shown = by_holder_in_workers(RECORD)
    assert "<!-- Photos.rows: 4 MB -->" in shown
    assert "Photos.cache" not in shown
    assert "Photos" not in by_holder(RECORD)
    assert "<!-- Photos.cache: 12 -->" in by_holder_in_workers(replace(RECORD, kept=RECORD.kept[3:4]))
    each = by_worker(RECORD)
    assert each.index("<!-- Photos, worker 1: 3 MB -->") < each.index("<!-- Photos, worker 0: 1 MB -->")
    assert "Other" not in each  # it fetched nothing
    assert "batches fetched by the worker" in each


def test_long_names_are_cut_in_the_middle_of_a_plot() -> None:
    name = f"train.{'a' * 60}.history['{'b' * 60}']"
    kept = replace(RECORD.kept[4], pattern=name)
    series = {(kept.kind, name): ((1, 1.0, 0.0), (2, 2.0, 0.0))}
    shown = by_holder(Record((kept,), series=series))
    assert f"<!-- {name[:45]}...{name[-45:]}: 2 -->" in shown
    assert name not in shown


def test_a_cache_grows_in_all_workers() -> None:
    grown = kept("cache", "Photos.cache", clock="fetch")
    assert wording.cost(grown, RECORD).endswith("; an epoch of 12,500 batches: 6.62 GB, in all workers together")


def test_an_error_of_the_arithmetic_is_none() -> None:
    line = Growth(slope=100.0, error=1.1e-15, gain=900.0, start=5, end=24, samples=13)
    (words,) = (each for each in wording.details(replace(RECORD.kept[0], growth=line)) if each.startswith("grew"))
    assert words.startswith("grew 100 ± 0 a ")


@pytest.mark.parametrize(
    ("count", "words"),
    [(5, "5 bytes"), (1500, "1.5 KB"), (530_000, "530 KB"), (2.5e6, "2.5 MB"), (6.625e9, "6.62 GB")],
)
def test_sizes(count: float, words: str) -> None:
    assert wording.size(count) == words


def test_places_below_here_are_relative(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert wording.place(Site(str(tmp_path / "a.py"), 3)) == "a.py:3"
    assert wording.place(Site("b.py", 3)) == "b.py:3"


def test_progress_is_shown_on_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Live(10) as live:
        live.step(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with Live(0) as live:
        for count in range(1, 100):
            live.step(count)
    assert "recording" in capsys.readouterr().err


def test_lines_that_ran(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def f(x):\n    y = x\n    if x:\n        y = 2\n    return y\n\ndef g():\n    return 1\n")
    space: dict[str, Any] = {}
    tracer = sys.gettrace()
    sys.settrace(None)
    asked: list[str] = []

    def lines_of(path: str) -> set[int]:
        asked.append(path)
        return {2, 4, 8} if path == str(file) else set()

    lines = Lines(lines_of)
    try:
        lines.start()
        exec(compile(file.read_text(), str(file), "exec"), space)
        space["f"](0)
        lines.settle()
        assert sys.gettrace() is not None
        space["f"](1)
        space["f"](1)
        space["g"]()
        lines.settle()
        assert sys.gettrace() is None
    finally:
        sys.settrace(tracer)
    assert lines.hit == {(str(file), 2), (str(file), 4), (str(file), 8)}
    assert asked.count(str(file)) == 1


def test_lines_are_told_by_hand_as_by_python() -> None:
    """The same without a tracer, so that its own lines can be measured."""
    here = sys._getframe()
    lines = Lines(lambda path: {here.f_code.co_firstlineno + 3})
    lines.watching = True
    assert lines._called(here, "call", None) == lines._ran

    class Frame:
        f_code = here.f_code
        f_lineno = here.f_code.co_firstlineno + 3

    assert lines._ran(here, "line", None) == lines._ran
    fake: Any = Frame()
    assert lines._ran(fake, "line", None) is None
    assert lines._called(here, "call", None) is None
    assert lines.hit == {(__file__, here.f_code.co_firstlineno + 3)}
    outside: Any = type("Frame", (), {"f_code": json.loads.__code__})()
    assert lines._called(outside, "call", None) is None
    lines.settle()


def test_another_tracer_is_left_alone() -> None:
    def tracer(frame: FrameType, event: str, arg: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    lines = Lines(lambda path: set())
    try:
        lines.start()
        assert not lines.watching
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def written(folder: Path, text: str, name: str = "train.py") -> Program:
    (folder / name).write_text(text)
    return Program(str(folder / name), ("--lr", "0.1"))


def ran(program: Program) -> tuple[str, Record]:
    recording = Recording(Options(steps=5, ends=True))
    ended = run(program, recording)
    return ended, recording.record


@pytest.mark.filterwarnings("ignore")
def test_how_programs_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = "import torch\np = torch.zeros(1, requires_grad=True)\nopt = torch.optim.SGD([p])\nwhile True: opt.step()\n"
    argv, path = sys.argv[:], sys.path[:]
    cases = {
        "import sys; assert sys.argv[1:] == ['--lr', '0.1']; assert __name__ == '__main__'": "",
        "raise SystemExit": "",
        "import sys; sys.exit(0)": "",
        "import sys; sys.exit(3)": "it exited with 3",
        "raise KeyboardInterrupt": "it was interrupted",
        "def f():\n    raise ValueError('no\\nway')\nf()": "it raised ValueError: no",
        "import beside": "it raised ModuleNotFoundError: No module named 'beside'",
        loop: "",
    }
    for code, ended in cases.items():
        assert ran(written(tmp_path, code))[0] == ended, code
    error = capsys.readouterr().err
    assert "ValueError: no" in error
    assert "runpy" not in error
    assert (sys.argv, sys.path) == (argv, path)


def test_errors_outside_own_code_are_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        json.loads("{")
    except ValueError as error:
        trace = error.__traceback__
        assert trace is not None
        error.__traceback__ = trace.tb_next
        program._show(error)
    assert "json/decoder.py" in capsys.readouterr().err


def test_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(frames, "_adopted", [])
    folder = tmp_path / "site-packages" / "installed_one"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "__main__.py").write_text("print('run')")
    (folder / "train.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    assert Program("installed_one", is_module=True).find() == str(folder / "__main__.py")
    assert Program("installed_one.train", is_module=True).find() == str(folder / "train.py")
    assert frames.owner_of_file(str(folder / "train.py")) == frames.OWN
    assert frames.owner_of_file(str(folder / ".venv" / "site-packages" / "x.py")) == frames.LIBRARY
    assert ran(Program("installed_one", is_module=True))[0] == ""
    for missing in ("no_such_module", "no_such_package.train"):
        with pytest.raises(NoProgram, match="no such module"):
            Program(missing, is_module=True).find()
    with pytest.raises(NoProgram, match="no such file"):
        Program("missing.py").find()
    frames._owners.clear()
    frames.known.clear()


def test_a_compiled_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_adopted", [])
    source, compiled = tmp_path / "train.py", tmp_path / "train.pyc"
    source.write_text("import sys\nassert sys.argv[1:] == ['--lr', '0.1']\nraise SystemExit(3)\n")
    py_compile.compile(str(source), str(compiled), doraise=True)
    source.unlink()
    program = Program(str(compiled), ("--lr", "0.1"))
    assert program.find() == str(compiled)
    assert ran(program)[0] == "it exited with 3"


def test_own_files() -> None:
    found = own_files(before=())
    assert __file__ in found
    assert not any("site-packages" in each for each in found)
    assert __file__ not in own_files(before={__name__})


def test_owners() -> None:
    assert frames.owner_of_file("<frozen importlib._bootstrap>") == frames.LIBRARY
    assert frames.owner_of_file("<string>") == frames.OWN
    assert frames.owner_of_file(json.__file__) == frames.LIBRARY
    assert frames.owner_of_file(frames.__file__) == frames.INTERNAL
