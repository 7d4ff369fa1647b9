"""mutated-sample: a collate function or transform changes a sample that is the Dataset's own object.

Leaks
-----
    class Boxes(Dataset):
        def __init__(self, file):
            self.targets = [json.loads(line) for line in open(file)]

        def __getitem__(self, i):
            return load(i), self.targets[i]

    def collate(batch):
        images, targets = [], []
        for image, target in batch:
            target["boxes"] = torch.tensor(target["boxes"])
            images.append(image)
            targets.append(target)
        return images, targets

    loader = DataLoader(Boxes(file), batch_size=8, collate_fn=collate)

Instead
-------
    class Boxes(Dataset):
        def __init__(self, file):
            self.targets = [json.loads(line) for line in open(file)]

        def __getitem__(self, i):
            return load(i), self.targets[i]

    def collate(batch):
        images, targets = [], []
        for image, target in batch:
            target = copy.copy(target)
            target["boxes"] = torch.tensor(target["boxes"])
            images.append(image)
            targets.append(target)
        return images, targets

    loader = DataLoader(Boxes(file), batch_size=8, collate_fn=collate)

Why
---
The Dataset of this file returns an object that it keeps (TLK202), and a function that gets it changes it. The change
stays in the Dataset: the second epoch finds a tensor where a list was, a key gone, a box scaled twice; and what was
put in stays in memory, one tensor after the other. With workers that happens in each worker's copy, until it ends.

Measured
--------
400 annotations whose boxes and labels the collate function turns into tensors, one epoch, `num_workers=0`: 400
of 400 changed and 505 KB more in use; fixed 0 and 10 KB. In a worker the tensors that it has sent are kept too:
772 descriptors more after an epoch, fixed none.

Run by `fixtures/TLK206_mutated_sample/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The sample is made anew (`dict(...)`, a literal, a copy, a parsed record), as Hugging Face collators' features are; the
collate function builds new objects; or the Dataset whose samples it gets is in another file, and no loader here is made
of it. What a function of another file changes is reported where this one hands it over: at the `collate_fn`, or at the
transform among the arguments of the Dataset.

How to fix it
-------------
`copy.copy(...)` of the sample where it gets its name, `copy.deepcopy(...)` where nested contents change; of a tensor
`.clone()`, of an array `.copy()` (`copy.copy` of a tensor shares its memory). Safe where every edit sets an entry to a
value that does not depend on that entry. Unsafe otherwise: from the second read on the samples differ, because they are
no longer edited twice. Not applied where the function reads the sample in another way too. Another remedy is to return
a copy from `__getitem__`, which protects the sample from everyone: the message says so where the function has no
variable of its own for the sample.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Edits, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.changed import Edit
from flake8_torchleak.model.collating import Handed, copied_variable, edited_samples
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.release.repeating import repeats
from flake8_torchleak.model.samples import is_plain
from flake8_torchleak.model.values import COPIES
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import copied_first, short


@rule(
    "TLK206",
    "mutated-sample",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    words=("collate", "ransform", "ugment"),
    beside=("Dataset", "__getitem__", "DataLoader("),
    elsewhere=True,
)
def check(module: Module) -> Iterator[Report]:
    seen: set[ast.AST] = set()
    for edit, handed in edited_samples(module):
        origin = edit.value.origin
        if edit.place in seen or origin is None:
            continue
        seen.add(edit.place)
        yield Report(
            edit.place,
            f"later epochs see {_change(edit)} part of `{origin.name}` of `{handed.dataset.name}`; "
            f"{_advice(module, edit, handed)}",
            notes=(
                (handed.given, f"`{handed.dataset.name}` returns it as a sample"),
                (origin.node, f"an element of `{origin.name}`, not a copy"),
                *(((edit.node, f"`{edit.function.name}` changes it here"),) if edit.call is not None else ()),
            ),
            target=edit,
        )


def _change(edit: Edit) -> str:
    """What is changed; of a function of another file, what this file names."""
    return f"this change of `{short(edit.target)}`," if edit.call is None else f"how `{short(edit.shown)}` changes a"


def _advice(module: Module, edit: Edit, handed: Handed) -> str:
    """A copy where the sample has a name of its own; else where the Dataset gives it out, which is always right."""
    found = copied_variable(module, edit) if edit.call is None else None
    if found is not None:
        return copied_first(found[0].key, _method(edit))
    function = module.tree.function(handed.given)
    where = function.name if function is not None else "__getitem__"
    copies = f".{_method(edit)}()" if _method(edit) else "copy.deepcopy"
    return f"copy it in `{handed.dataset.name}.{where}` (`{copies}`)"


def _method(edit: Edit) -> str:
    """What copies a tensor or an array that is edited itself."""
    return COPIES.get(edit.value.kind, "") if isinstance(edit.target, ast.Name) else ""


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """A copy under the same name where the sample gets it."""
    edit = report.target
    assert isinstance(edit, Edit)
    if edit.call is not None:
        raise Unfixable("the change is in another file")
    found = copied_variable(build.module, edit)
    if found is None:
        raise Unfixable(
            f"`{short(edit.target)}` is not a variable of its own, or the sample is read in another way too"
        )
    variable, nested = found
    copies, imported = f".{_method(edit)}()", Edits()
    text = f"{variable.key} = {variable.key}{copies}"
    if not _method(edit):
        called, imported = build.reference("copy.deepcopy" if nested else "copy.copy", edit.node)
        copies, text = f"{called}(...)", f"{variable.key} = {called}({variable.key})"
    statement = variable.statement
    if variable.how is How.ASSIGN and isinstance(statement, ast.stmt):
        edits = build.after(statement, text)
    elif isinstance(statement, (ast.For, ast.FunctionDef)):
        documented = isinstance(statement, ast.FunctionDef) and ast.get_docstring(statement) is not None
        edits = build.before(statement.body[1 if documented else 0], text)
    else:
        raise Unfixable(f"`{variable.key}` is assigned inside an expression")
    known = is_plain(edit.value) or not nested
    level = FixLevel.SAFE if known and repeats(build.module, edit) else FixLevel.UNSAFE
    yield Fix(level, f"edit a copy (`{copies}`)", (*imported, *edits))
