"""Who wants no notes is told of all else as it would be with them: only work is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.gate import speaks_of_evaluation
from flake8_torchleak.lint import lint
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tree import FUNCTIONS
from tests.laws.program import Program
from tests.laws.table import LAWS, MAIN, fixtures
from tests.test_fixtures import FILES, found_in, unmarked
from tests.test_following_reach import TRAIN
from tests.test_project_stars import NET
from tests.training.program import on_disk
from tests.truth.generate import program


def worse(findings: list[Finding]) -> list[tuple[object, ...]]:
    """What is more than a note, as it is told."""
    return [(each.code, each.span, each.message, each.severity) for each in findings if each.severity != Severity.NOTE]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name[:6]}/{path.stem}")
def test_fixtures(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert worse(lint(unmarked(text), least=Severity.WARNING)) == worse(found_in(text))


@pytest.mark.long
def test_fixtures_with_helpers_in_another_module() -> None:
    """Of the laws this one writes a second file."""
    seen = 0
    for path, source in fixtures().items():
        program = Program(ast.parse(source))
        if LAWS["outline_module"](program):
            seen += 1
            text = ast.unparse(program.tree)
            with on_disk({MAIN: text, **program.others}) as folder:
                place = str(folder / MAIN)
                assert worse(lint(text, path=place, least=Severity.WARNING)) == worse(lint(text, path=place)), path
    assert seen > 50


@pytest.mark.long
@pytest.mark.parametrize("config", [DEFAULT, Config(assume_workers="yes")], ids=["as it is", "with workers"])
def test_fixtures_in_two_files(config: Config) -> None:
    """Functions, bases and classes of what a Dataset holds are in another file, up to each definition in turn."""
    seen = 0
    for path, source in fixtures().items():
        for main, other in in_two(source):
            seen += 1
            with on_disk({MAIN: main, "other.py": other}) as folder:
                for text, place in ((main, str(folder / MAIN)), (other, str(folder / "other.py"))):
                    without = lint(text, config, path=place, least=Severity.WARNING)
                    assert worse(without) == worse(lint(text, config, path=place)), f"{path}\n{main}"
    assert seen > 130


def in_two(source: str) -> Iterator[tuple[str, str]]:
    """A module as two files, cut behind each definition whose name, or one above it, the rest uses."""
    body = ast.parse(source).body
    imports = [each for each in body if isinstance(each, (ast.Import, ast.ImportFrom))]
    rest = [each for each in body if each not in imports]
    for at, last in enumerate(rest[:-1], 1):
        defined = {each.name for each in rest[:at] if isinstance(each, (*FUNCTIONS, ast.ClassDef))}
        defined |= {each.id for statement in rest[:at] for each in stored(statement)}
        used = {each.id for one in rest[at:] for each in ast.walk(one) if isinstance(each, ast.Name)} & defined
        if used and isinstance(last, (*FUNCTIONS, ast.ClassDef)):
            link = ast.ImportFrom("other", [ast.alias(each) for each in sorted(used)], 0)
            main, other = ast.Module([*imports, link, *rest[at:]], []), ast.Module([*imports, *rest[:at]], [])
            yield ast.unparse(main), ast.unparse(other)


def stored(statement: ast.stmt) -> list[ast.Name]:
    """The variables that a statement at the top of a module binds."""
    inside = () if isinstance(statement, (*FUNCTIONS, ast.ClassDef)) else ast.walk(statement)
    return [each for each in inside if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


LOADERS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    test_loader = DataLoader(torch.arange(8.0).view(8, 1), batch_size=4)
    net = nn.Linear(1, 1)
"""
PROGRAMS = {
    "once a call, by a function of another one's loop": """
        net.eval()

        def predict(x):
            out = net(x)
            return out.argmax(1).tolist()

        def test():
            return [predict(x) for x in test_loader]
    """,
    "by its use, in a loop over numbers and in one over a loader": """
        def scores():
            return [net(torch.randn(1, 1)).item() for _ in range(1000)]

        def levels():
            found = []
            for x in test_loader:
                out = net(x)
                found.append(out.argmax().item())
            return found
    """,
    "a target network, over a loader and not": """
        def train(target, optimizer):
            for x in test_loader:
                best = target(x).max().detach()
                loss = (net(x) - best).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        def step(x, target, optimizer):
            best = target(x).max().detach()
            loss = (net(x) - best).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "a network once a call, and a loop that a helper runs it in": """
        def run(x):
            return net(x)

        def evaluate(x):
            net.eval()
            first = net(x)
            out = [run(each) for each in test_loader]
            return first.item(), [each.mean().item() for each in out]
    """,
    "by the use of one network, by the mode of another": """
        def work(first, second, items, extra):
            total = 0.0
            for each in extra:
                total += first(each).detach().sum().item()
            for each in items():
                total += second(each).detach().mean().item()
            return total

        def main():
            one, two = nn.Linear(1, 1), nn.Linear(1, 1)
            optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], 0.1)
            for epoch in range(100):
                one.train()
                two.train()
                for x in test_loader:
                    optimizer.zero_grad()
                    (one(x) + two(x)).sum().backward()
                    optimizer.step()
                one.eval()
                print(work(two, one, lambda: test_loader, torch.randn(100, 1)))

        main()
    """,
    "under a condition": """
        def epoch(optimizer=None):
            net.train(optimizer is not None)
            for x in test_loader:
                loss = net(x).mean()
                if optimizer is not None:
                    loss.backward()
                    optimizer.step()
            return net(x).item()

        epoch(torch.optim.SGD(net.parameters(), 0.1))
        epoch()
    """,
    "under a condition, once a call": """
        def step(x, optimizer=None):
            loss = net(x).mean()
            if optimizer is not None:
                loss.backward()
                optimizer.step()
            return loss.item()

        for x in test_loader:
            step(x)
    """,
    "a container of a Dataset for evaluation, and of another one below it": """
        import json

        class TestRecords(Dataset):
            def __init__(self, path):
                self.records = json.load(open(path))

            def __len__(self):
                return len(self.records)

            def __getitem__(self, i):
                return self.records[i]["text"]

        class Records(TestRecords):
            def __getitem__(self, i):
                return self.records[i]["text"], i

        def main(path):
            loaders = [DataLoader(each(path), batch_size=2, num_workers=2) for each in (TestRecords, Records)]
            for batch in DataLoader(Records(path), batch_size=2, num_workers=2):
                print(batch, loaders)
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("config", [DEFAULT, Config(assume_workers="yes")], ids=["as it is", "with workers"])
def test_programs(text: str, config: Config) -> None:
    text = dedent(LOADERS) + dedent(text)
    assert worse(lint(text, config, least=Severity.WARNING)) == worse(lint(text, config))


def test_the_network_that_is_switched_is_told() -> None:
    """Not another one of the function, of which only the outputs' use is known."""
    text = dedent(LOADERS) + dedent(PROGRAMS["by the use of one network, by the mode of another"])
    assert [each.message.split("`")[3] for each in lint(text) if each.code == "TLK501"] == ["second(...)"]


def test_less_is_found() -> None:
    """Notes that cost work are not looked for."""
    once, _, _ = dedent(PROGRAMS["once a call, by a function of another one's loop"]).partition("def test")
    text = dedent(LOADERS) + once
    assert [each.code for each in lint(text)] == ["TLK501"]
    assert lint(text, least=Severity.WARNING) == []


BASE = """
    import json
    from torch.utils.data import Dataset

    class Base(Dataset):
        def __init__(self, path):
            self.records = {read}

        def __len__(self):
            return len(self.records)
"""
BELOW = """
    from torch.utils.data import DataLoader, Dataset
    from base import Base

    class RecordDataset(Base):
        def __init__(self, path):
            super().__init__(path)
            self.path = path

        def __getitem__(self, i):
            return self.records[i]["text"]

    def main(path):
        for batch in DataLoader(RecordDataset(path), batch_size=2, num_workers=2):
            print(batch)
"""


@pytest.mark.parametrize(("read", "codes"), [("json.load(open(path))", ["TLK101"]), ("[*open(path)]", [])])
def test_a_base_class_of_another_file(tmp_path: Path, read: str, codes: list[str]) -> None:
    base = dedent(BASE).replace("{read}", read)
    (tmp_path / "base.py").write_text(base if codes else base.replace("import json\n", ""))
    place, text = tmp_path / "below.py", dedent(BELOW)
    place.write_text(text)
    found = lint(text, path=str(place), least=Severity.WARNING)
    assert [each.code for each in found] == codes
    assert worse(found) == worse(lint(text, path=str(place)))


def test_a_file_that_asks_for_none(tmp_path: Path) -> None:
    place = tmp_path / "below.py"
    text = dedent(BELOW).replace("from base import Base\n", "").replace("(Base)", "(Dataset)")
    place.write_text(text)
    assert lint(text, path=str(place), least=Severity.WARNING) == []


def test_a_base_class_of_another_file_where_workers_are_assumed(tmp_path: Path) -> None:
    config = Config(assume_workers="yes")
    (tmp_path / "base.py").write_text(dedent(BASE).replace("{read}", "[line.split() for line in open(path)]"))
    place, text = tmp_path / "below.py", dedent(BELOW).replace(", num_workers=2", "")
    place.write_text(text)
    found = lint(text, config, path=str(place), least=Severity.WARNING)
    assert worse(found) == worse(lint(text, config, path=str(place))) != []


TENSORS = """
    import numpy as np
    import torch
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, file):
            self.rows = torch.from_numpy(np.load(file))

        def __len__(self):
            return len(self.rows)
"""
SENT = """
    from torch.utils.data import DataLoader
    from rows import Rows

    class Sent(Rows):
        def __getitem__(self, i):
            return self.rows[i]

    loader = DataLoader(Sent("x"), batch_size=8, num_workers=2, collate_fn=tuple)
"""


def test_a_base_class_of_another_file_and_another_way_to_collate(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(dedent(TENSORS))
    place, text = tmp_path / "sent.py", dedent(SENT)
    place.write_text(text)
    found = lint(text, path=str(place), least=Severity.WARNING)
    assert worse(found) == worse(lint(text, path=str(place)))
    assert [each.code for each in found] == ["TLK201", "TLK204"]


SCORED = """
    import torch
    from nets import Net, make

    class Scorer:
        def __init__(self, width):
            self.net, self.rows = {made}, {{}}

        def scores(self, loader):
            found, net = [], {made}
            for x in loader:
                self.rows.update(x)
                found.append({called}.score(x).max(1)[0].tolist())
            return found
"""
NETS = f"{NET}\n    def make(width):\n        return Net(width)\n"


@pytest.mark.parametrize(
    ("made", "called", "codes"),
    [
        ("Net(width).cpu()", "self.net", ["TLK501"]),
        ("Net(width)", "net", ["TLK501"]),
        ("make(width)", "net", []),
        ("object()", "net", []),
        ("Net(width)", "other(width)", ["TLK501"]),
    ],
)
def test_a_network_s_method_of_another_file(tmp_path: Path, made: str, called: str, codes: list[str]) -> None:
    (tmp_path / "nets.py").write_text(dedent(NETS))
    place, text = tmp_path / "scorer.py", dedent(SCORED).format(made=made.replace("width", "8"), called=called)
    text = text.replace("other(width)", "Net(width)")
    place.write_text(text)
    found = lint(text, path=str(place), least=Severity.WARNING)
    assert worse(found) == worse(lint(text, path=str(place)))
    assert [each.code for each in found] == codes


@pytest.mark.parametrize("where", ["old", "broken", ""])
def test_files_whose_findings_are_notes_are_not_looked_at(tmp_path: Path, where: str) -> None:
    """A folder that says so by its name, an import of the project that fails."""
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    folder = tmp_path / "job" / ("deprecated" if where == "old" else "new")
    folder.mkdir(parents=True)
    for each in (tmp_path / "job", folder):
        (each / "__init__.py").write_text("", encoding="utf-8")
    text = "import torch\n" + "from job.gone import rows\n" * (where == "broken")
    text += TRAIN.format(before="pass", keep="kept.append(loss)")
    path = folder / "main.py"
    path.write_text(text, encoding="utf-8")
    assert bool(lint(text, path=str(path), least=Severity.WARNING)) is (not where)
    severities = {each.severity for each in lint(text, path=str(path))}
    assert severities
    assert (severities == {Severity.NOTE}) is bool(where)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for x in rows:\n    print(net(x))", False),
        ("for x in loader:\n    print(net(x))", True),
        ("def validate(net):\n    return [net(x) for x in rows]", True),
        ("def validate(net):\n    return net(rows)", False),
        ("def run(net):\n    return [net(x) for x in rows]", False),
        ("torch.no_grad()\nfor x in rows:\n    print(net(x))", True),
        ("loss.backward()\nfor x in val_rows:\n    print(net(x))", True),
        ("loss.backward()\nprint(net(x).detach())", True),
        ("loss.backward()\nprint(net(x))", False),
        ("if train:\n    loss.backward()", True),
    ],
)
def test_what_speaks_of_an_evaluation(text: str, expected: bool) -> None:
    assert speaks_of_evaluation(Outline(ast.parse(text), text, notes=False)) is expected


@pytest.mark.parametrize(
    ("above", "over", "found"),
    [
        ("batches = DataLoader(rows)", "batches", ["TLK501"]),
        ("batches = DataLoader(rows)", "range(9)", []),
        ("batches = rows", "batches", []),
    ],
)
def test_evaluations_by_what_becomes_of_the_outputs(above: str, over: str, found: list[str]) -> None:
    """Neither a mode nor a name says so: more than a note where it goes over batches, and is followed."""
    text = f"import torch\nfrom torch.utils.data import DataLoader\n\ndef f(net, rows):\n    {above}\n"
    text += f"    for x in {over}:\n        print(net(x).argmax(1).tolist())\n"
    without = [each.code for each in lint(text, least=Severity.WARNING) if each.code == "TLK501"]
    assert without == found
    assert {each.code for each in lint(text) if each.code == "TLK501"} >= set(found)


def is_default(code: str) -> bool:
    """Whether a rule is on unless somebody says otherwise."""
    return not code.startswith("TLK9")


@pytest.mark.long
def test_generated_programs() -> None:
    """Nearly all that is told with notes is told without: what is missed rests on other files, and on what fails."""
    told = lost = 0
    for number in range(632):
        files = program(14, number).files
        with on_disk(files) as folder:
            for path, text in sorted(files.items()):
                place = str(folder / path)
                found = set(worse(lint(text, path=place, wanted=is_default)))
                without = set(worse(lint(text, path=place, wanted=is_default, least=Severity.WARNING)))
                assert without <= found
                told, lost = told + len(found), lost + len(found - without)
    assert told > 200
    assert lost <= told / 50
