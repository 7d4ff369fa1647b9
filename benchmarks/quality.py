"""How good the linter is: every measure that we have of what it finds, in one Markdown table, with the counts.

    python benchmarks/quality.py [--only laws,truth,...] [--out FILE]
        [--labels FILE] [--benches FOLDER] [--trees FOLDER] [--mutants FOLDER]

Run it before and after a change to the analysis. By itself it measures what needs nothing but this checkout: the laws
(tests/laws) over the fixtures, the truth (tests/truth) over a seeded sample of programs, and training kept by safe
fixes (tests/training). The rest is measured where folders are given:

--labels    a file of labels of generated programs: what is there is not run again (running is what takes time; a label
            counts only for the very same text), what is missing is added
--benches   programs that judge a linter: reshape.py, check.py and score.py, each in the folder of its bench
            (laws/, trials/, leakbench/, fieldbench/, mutbench/)
--trees     what the benches are about: leakbench/, leakbench2/, dsbench/ and loopbench/ as their programs lay them out
--mutants   mutants as mutbench.py makes them

Cases that a bench sets aside (by a hash of the repository's name) are counted apart, and never named.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.laws.__main__ import rows as law_rows  # noqa: E402
from tests.laws.table import FAMILIES, FIXTURES, LAWS, Rate, baseline, fixtures  # noqa: E402

HERE = Path(sys.executable).parent
GRAPH = frozenset(
    {"loss_retained", "outputs_with_graph", "hidden_state", "missing_no_grad", "hook_retained", "graph_cycle"}
)
"""Kinds of labelled leaks that autograd keeps."""
ASIDE = 3
"""One repository of so many is set aside."""
OPERATORS = {
    "R1-sum": "sums",
    "R1-append": "appends",
    "R1-meter": "meters",
    "R8-return": "returns",
    "R5-clear": "outputs",
}


@dataclass(frozen=True)
class Line:
    """One row: what was measured, its figure, the counts behind it, and what is to be reached (empty: no goal)."""

    measure: str
    figure: str
    counts: str = ""
    goal: str = ""

    def __str__(self) -> str:
        return f"| {self.measure} | {self.figure} | {self.counts} | {self.goal} |"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(MEASURES), help=f"of {', '.join(MEASURES)}")
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    parser.add_argument("--laws", default="", metavar="LAW,...", help="these laws alone")
    parser.add_argument("--programs", type=int, default=3 * 632, help="of the truth")
    parser.add_argument("--seed", type=int, default=14, help="of the truth and of training")
    parser.add_argument("--training", type=int, default=400, help="programs whose fixes are tried")
    parser.add_argument("--jobs", type=int, default=1)
    for name in ("labels", "benches", "trees", "mutants"):
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    written = options.out.open("w", encoding="utf-8") if options.out else None
    for text in chain(["| measure | now | counts | to reach |\n|---|---|---|---|"], _tables(options)):
        print(text, flush=True)
        if written:
            print(text, file=written, flush=True)
    return 0


def _tables(options: argparse.Namespace) -> Iterator[str]:
    for name in options.only.split(","):
        yield from (str(line) for line in MEASURES[name](options))


# -- what needs nothing -------------------------------------------------------------------------------------


def laws(options: argparse.Namespace) -> Iterator[Line]:
    """Findings kept when fixtures are written another way."""
    texts = fixtures().values()
    found: Counter[str] = Counter(each.code[:4] for text in texts for each in baseline(text))
    families = ", ".join(f"{family} {count}" for family, count in sorted(found.items()))
    yield Line("fixtures: findings as they are", str(sum(found.values())), families, "not lower")
    quiet = Rate()
    chosen = options.laws.split(",") if options.laws else [*LAWS]
    for law, bad, good in law_rows(FIXTURES, chosen, options.jobs):
        shares = {family: bad.of(family) for family in FAMILIES}
        figure = " / ".join(share(*each) for each in shares.values())
        counts = ", ".join(f"{family} {kept} of {before}" for family, (kept, before) in shares.items() if before)
        new = f"; {bad.files} files, new {sum(bad.new.values())}, in look-alikes {sum(good.new.values())}"
        yield Line(f"law {law}: kept of {' / '.join(FAMILIES)}", figure, counts + new, "0.95 of TLK4 and TLK6")
        quiet.new.update(good.new)
    yield Line("laws: new findings in look-alikes", str(sum(quiet.new.values())), _listed(quiet.new), "0")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in counts.most_common())


def truth(options: argparse.Namespace) -> Iterator[Line]:
    """What is said of generated programs, beside what they retain."""
    from tests.truth.__main__ import row
    from tests.truth.census import Label
    from tests.truth.compare import compare
    from tests.truth.generate import program
    from tests.truth.table import Table

    made = [program(options.seed, number) for number in range(options.programs)]
    known = {key: Label(**_label(plain)) for key, plain in _labelled(options).items()}
    rows = [row(compare(each, known[_key(each.text)])) for each in made]
    table = Table(rows, least=1)
    yield from _rates("truth, all", table, "")
    sides = {
        "graph side": ("loss", "metric", "output", "hidden state", "buffer", "exception", "hook"),
        "memory side": ("batch", "view", "loader", "figure"),
        "data side": ("records", "cache", "sample"),
    }
    for side, kinds in sides.items():
        part = Table([each for each in rows if each.cell["kind"] in kinds], least=1)
        yield from _rates(f"truth, {side}", part, "false <= 2 %, missed <= 10 %" if side == "graph side" else "")
        if side == "graph side":
            yield _forms(part)


def _rates(name: str, table: object, goal: str) -> Iterator[Line]:
    from tests.truth.table import RESULTS, Table
    from tests.truth.table import share as percent

    assert isinstance(table, Table)
    rates = table.rates()
    counts = ", ".join(f"{result} {rates.counts[result]}" for result in RESULTS)
    noted = f"missed {percent(rates.missed_by_all)}, false {percent(rates.told_of_none)}"
    figure = f"missed {percent(rates.missed)}, false {percent(rates.false)}; notes counted: {noted}"
    yield Line(name, figure, f"{counts}; {rates.cells} cells, {sum(table.raised.values())} raised", goal)


def _forms(table: object) -> Line:
    """The share found of each form, the worst first."""
    from tests.truth.table import Table

    assert isinstance(table, Table)
    forms = {each.cell["form"] for each in table.rows}
    found = {form: table.rates("form", form).missed for form in forms}
    worst = sorted((1 - missed, form) for form, missed in found.items() if missed is not None)
    listed = ", ".join(f"{form} {part:.2f}" for part, form in worst)
    return Line("truth, graph side, worst form: found", f"{worst[0][0]:.2f}", listed, "0.7")


def _labelled(options: argparse.Namespace) -> dict[str, dict[str, object]]:
    """Labels of all programs, by a hash of their text; those that are missing are made, and written down."""
    known: dict[str, dict[str, object]] = {}
    if options.labels and options.labels.exists():
        for line in options.labels.read_text(encoding="utf-8").splitlines():
            each = json.loads(line)
            known[each.pop("key")] = each
    numbers = range(options.programs)
    parts = [[*numbers[at : at + 50]] for at in range(0, len(numbers), 50)]
    with ProcessPoolExecutor(options.jobs) as pool:
        for part in pool.map(partial(_labels, options.seed, frozenset(known)), parts):
            known.update(part)
            if options.labels:
                with options.labels.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps({"key": key, **plain}) + "\n" for key, plain in part.items())
    return known


def _labels(seed: int, known: frozenset[str], numbers: list[int]) -> dict[str, dict[str, object]]:
    from tests.training.run import warm
    from tests.truth.census import label
    from tests.truth.generate import program

    warm()
    missing = {key: made for number in numbers if (key := _key((made := program(seed, number)).text)) not in known}
    plain = {key: asdict(label(made)) for key, made in missing.items()}
    return {key: {**each, "made": sorted(each["made"])} for key, each in plain.items()}


def _label(plain: dict[str, object]) -> dict[str, object]:
    made, holders = plain["made"], plain["holders"]
    assert isinstance(made, list)
    assert isinstance(holders, (list, tuple))
    return {**plain, "made": frozenset((path, line) for path, line in made), "holders": tuple(holders)}


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def training(options: argparse.Namespace) -> Iterator[Line]:
    """Programs that train as they did after their safe fixes."""
    from tests.training.generate import program
    from tests.training.judge import judge
    from tests.training.run import warm
    from tests.training.table import Table

    warm()
    table = Table()
    for number in range(options.training):
        table.add(judge(program(options.seed, number)))
    counts = table.counts()
    kept = counts["changed"] - counts["failed"] - counts["looks"]
    told = f"{counts['programs']} programs, {counts['found']} with a finding, {counts['changed']} changed, "
    told += f"{counts['failed']} broken, {counts['looks']} only looked at; fixes {_listed(table.rules)}"
    yield Line("training kept by safe fixes", share(kept, counts["changed"]), told, "1.00, offered not fewer")


# -- what needs a folder ------------------------------------------------------------------------------------


def told(command: list[str], cwd: Path | None = None) -> str:
    """What a program prints; what it says of errors, too, where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-1000:]}")
    return done.stdout


def reshape(options: argparse.Namespace) -> Iterator[Line]:
    """The laws of the bench itself, over the fixtures: every finding as the command reports it."""
    program = options.benches / "laws" / "reshape.py"
    said = told([sys.executable, str(program), str(FIXTURES), "--torchleak", str(HERE / "torchleak")])
    for line in said.splitlines():
        match = re.match(r"(\w+) +(\d+) files +kept +(\d+) of +(\d+) = [\d.]+ +new +(\d+) +(.*)", line)
        if match is None:
            yield Line("reshape.py", line)
            continue
        law, files, kept, before, new, families = match.groups()
        fours = {name: (int(k), int(n)) for name, k, n in re.findall(r"(\d)xx (\d+)/(\d+)", families)}
        figure = " / ".join(share(*each) for each in (fours["4"], fours["6"], (int(kept), int(before))))
        goal = "0.95 of TLK4 and TLK6" if law in _OLD_LAWS else ">= 0.94"
        yield Line(
            f"reshape.py {law}: TLK4 / TLK6 / all", figure, f"{families.strip()}; {files} files, new {new}", goal
        )


_OLD_LAWS = ("rename", "outline", "outline_module", "in_record")


def trials(options: argparse.Namespace) -> Iterator[Line]:
    said = told([sys.executable, str(options.benches / "trials" / "check.py"), str(HERE / "torchleak")])
    *wrong, last = said.strip().splitlines()
    right, of = map(int, re.findall(r"\d+", last))
    yield Line("trials right", f"{right} of {of}", "wrong: " + ", ".join(each.split("_")[0] for each in wrong), "all")


def leakbench(options: argparse.Namespace) -> Iterator[Line]:
    """Leaks that someone fixed: every severity, by place or evidence; then as flake8 reports them."""
    yield from _leakbench(options, "leakbench", "not below")


def leakbench2(options: argparse.Namespace) -> Iterator[Line]:
    """More of them, mined without regard to what a linter finds."""
    yield from _leakbench(options, "leakbench2", "graph side at least twice")


def _leakbench(options: argparse.Namespace, name: str, goal: str) -> Iterator[Line]:
    folder = options.benches / "leakbench"
    noted = f"{sys.executable} {folder / 'with_notes.py'} {HERE / 'torchleak'} {{file}}"
    flake8 = f"{HERE / 'flake8'} --isolated --disable-noqa --select=TLK --format='%(path)s:%(row)d:%(code)s' {{file}}"
    for command, how in ((noted, "by place or evidence"), (flake8, "as flake8 reports")):
        cases = _scored(folder, name, options.trees / name, command)
        for part, chosen in _parts(name, cases):
            yield from _recall(f"{name}{part}, {how}", chosen, goal)


def _scored(folder: Path, name: str, cases: Path, command: str) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "result.json"
        words = ["--tree", "--jsonl", str(folder / f"{name}.jsonl"), "--cases", str(cases), "--timeout", "120"]
        words += ["--map", str(folder / "families.json"), "--json", str(out), "--cmd", command]
        told([sys.executable, str(folder / "score.py"), *words])
        result = json.loads(out.read_text())
    assert not result["errors"], f"{len(result['errors'])} errors of the linter"
    found: list[dict[str, str]] = result["cases"]
    return found


def _parts(name: str, cases: list[dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    if name == "leakbench":
        yield "", cases
        return
    aside = [int(hashlib.sha256(each["repo"].lower().encode()).hexdigest(), 16) % ASIDE == 0 for each in cases]
    yield " (open)", [each for each, hidden in zip(cases, aside) if not hidden]
    yield " (set aside)", [each for each, hidden in zip(cases, aside) if hidden]


def _recall(name: str, cases: list[dict[str, str]], goal: str) -> Iterator[Line]:
    leaks = [each for each in cases if not each["kind"].startswith("neg_")]
    fine = [each for each in cases if each["kind"].startswith("neg_")]
    graph = [each for each in leaks if each["kind"] in GRAPH]
    counts = Counter(each["kind"] for each in leaks if each["hit"])
    kinds = ", ".join(f"{kind} {counts[kind]} of {n}" for kind, n in Counter(e["kind"] for e in leaks).most_common())
    hits = [sum(bool(each["hit"]) for each in part) for part in (leaks, graph, fine)]
    figure = f"{share(hits[0], len(leaks))}, graph side {share(hits[1], len(graph))}"
    told_of = f"{hits[0]} of {len(leaks)}, graph side {hits[1]} of {len(graph)}; false {hits[2]} of {len(fine)}"
    yield Line(name, figure, f"{told_of}; {kinds}" if "aside" not in name else told_of, goal)


def fieldbench(options: argparse.Namespace) -> Iterator[Line]:
    """Ordinary code: as flake8 reports it."""
    folder = options.benches / "fieldbench"
    flake8 = f"{HERE / 'flake8'} --isolated --disable-noqa --select=TLK --format='%(path)s:%(row)d:%(code)s' {{file}}"
    shared = ["--split", "all", "--map", str(folder / "families.json"), "--cmd", flake8]
    said = told(
        [sys.executable, str(folder / "loopbench_score.py"), *shared, "--files", str(options.trees / "loopbench")]
    )
    yield from _field("fieldbench, loops", said)
    data = ["--files", str(options.trees / "dsbench" / "files"), "--repos", str(options.trees / "dsbench" / "repos")]
    for how, more in (("the file alone", []), ("its repository around it", ["--tree"])):
        said = told([sys.executable, str(folder / "dsbench_score.py"), *shared, *data, *more])
        yield from _field(f"fieldbench, Datasets, {how}", said)


def _field(name: str, said: str) -> Iterator[Line]:
    for line in said.splitlines():
        if line.startswith(("TOTAL", "functions flagged", "clean", "units")) or "clean" in line:
            yield Line(name, "", re.sub(r" *\| *", "; ", re.sub(r" {2,}", " ", line)), "not below")


def mutants(options: argparse.Namespace) -> Iterator[Line]:
    """Real code with one release taken out."""
    program = options.benches / "mutbench" / "mutbench.py"
    said = told([sys.executable, str(program), "score", str(options.mutants), "--torchleak", str(HERE / "torchleak")])
    for line in said.splitlines():
        match = re.match(r"(\S+) +(\d+) of +(\d+) = ([\d.]+) +(.*)", line)
        if match:
            operator, hit, of, rate, more = match.groups()
            name = f"{operator} ({OPERATORS[operator]})" if operator in OPERATORS else operator
            yield Line(f"mutants, {name}", rate, f"{hit} of {of}; {more}", "0.93" if operator in OPERATORS else "")


def _if(given: str, measure: Callable[[argparse.Namespace], Iterator[Line]]) -> Callable[..., Iterator[Line]]:
    """The measure, where the folders that it needs are given."""

    def measured(options: argparse.Namespace) -> Iterator[Line]:
        if all(getattr(options, each) for each in given.split()):
            yield from measure(options)
        else:
            yield Line(measure.__name__, "not measured", f"needs {' and '.join(f'--{each}' for each in given.split())}")

    return measured


MEASURES: dict[str, Callable[[argparse.Namespace], Iterator[Line]]] = {
    "laws": laws,
    "truth": truth,
    "training": training,
    "reshape": _if("benches", reshape),
    "trials": _if("benches", trials),
    "leakbench": _if("benches trees", leakbench),
    "leakbench2": _if("benches trees", leakbench2),
    "fieldbench": _if("benches trees", fieldbench),
    "mutants": _if("benches mutants", mutants),
}

if __name__ == "__main__":
    sys.exit(main())
