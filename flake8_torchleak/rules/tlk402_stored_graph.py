"""stored-graph: a value that carries an autograd graph is kept in a container or attribute across steps.

Leaks
-----
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.append(loss)

Instead
-------
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.append(loss.detach())

Why
---
A tensor that requires grad keeps the graph that made it. After `backward()` the graph's nodes stay, one
graph per entry; without it (outputs collected in evaluation without no_grad, a metric of its own) all
activations stay as well. `.cpu()`, `.clone()`, `sigmoid` and `/ n` keep the graph.
Source: the PyTorch FAQ, "Don't accumulate history across your training loop".

Measured
--------
Kept per entry, a network of four 512-wide layers, batch 64: 12 KB after `backward()` (16 graph nodes; storing
under no_grad changes nothing), 530 KB for an output without it. Fixed: 1 KB and 3 KB, which are the stored
values themselves. In a dict, a tuple or `+=`, after `.clone()` or `.cpu() / n`, the same graph is kept (17
nodes). `deque(maxlen=20)`, the best and the last loss: 0.1 KB per step.

Run by `fixtures/TLK402_stored_graph/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The container feeds `backward()`: a list that is stacked and differentiated, a policy-gradient buffer.
- It is emptied in every step, also by a helper, or it is bounded (`deque(maxlen=...)`, `if len(kept) < 5`).
- One slot is overwritten (`best = loss`), or the loop ends right after the store. A dict that is filled from another
  dict's `.items()` and read by names (`last["total"]`) has one slot for each of these names.
- A loop over a dict or a list set each entry to a number before: `for k in losses: losses[k] = losses[k].item()`.
- The loop is part of one step (over networks, over what one batch is trained on) and makes the container anew.
- A function that changes no parameters gives the container back, and what it keeps was not differentiated: terms of a
  loss, beside the passes of an attack. Whoever gets them may differentiate them.
- It keeps slices of a leaf that lasts: a node of the graph each (1.2 KB measured, detached 0.1 KB).
- The network is frozen (`requires_grad_(False)`, here or in a helper), or the value is of whole numbers or `sample()`d.
- It is a part of an output that the network's own forward pass detaches: `return y, h.detach()`, or makes whole
  numbers of: `return scores, scores.argmax(1)`.
- Gradients are off wherever the function is seen to be called, and nobody hands it on.

Some findings are notes, because little is kept: one freed graph an epoch, those of one update, or freed graphs in what
is made anew for each epoch (of eleven such ones that readers judged none was worth a change); what a decoder
collects of one sample; what is gathered of ranges of one tensor (`net(x[:, t])`), or of its rows for one round of a
loop; what is also part of a loss that is differentiated behind the loop, and that holds the same graph; one entry for
each of a few tasks, or for each network, in a list that stays in the function; what a loop that goes over no batches,
and in which no optimizer steps, puts into something that was made for it; and what Lightning collects until the epoch
ends. So are outputs of an evaluation where all of its network may be frozen, and what is only seen to carry a graph by
where it is detached: behind the loop which fills a list with it (`torch.cat(outputs).detach()`).

How to fix it
-------------
Safe: `.detach()` on what is proven to be a tensor, where that cannot change what is trained. Either the value is
differentiated, and its graph freed, on every path of the same iteration. Or what is stored is only printed, logged or
turned into numbers. Unsafe, where it is only shown: `.item()`. No fix for what goes through a helper.
For outputs in evaluation, no_grad around the loop (TLK501) is better still.

Of what `training_step` returns to Lightning 1.6 to 1.9, which keep it where there is a `training_epoch_end` (1.4 and
1.5 cut it off themselves): return `loss` as it is, for it is what is differentiated, and Lightning keeps it without
its graph; all else with `.detach()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED, Said, reports
from flake8_torchleak.gate import Subject
from flake8_torchleak.lasting import lasting_stores
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.cutlater import WORDS, CutLater
from flake8_torchleak.model.joined import is_of_tasks
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.stores import Store, evidence, stored
from flake8_torchleak.model.values import Kind
from flake8_torchleak.releases import releases, remedy
from flake8_torchleak.rule import Report, never, rule
from flake8_torchleak.wording import its_graph, short
from flake8_torchleak.words import holds_any


@rule(
    "TLK402",
    "stored-graph",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.STEPS,
    apart=never,
)
def check(module: Module) -> Iterator[Report]:
    told: set[ast.AST] = set()
    for each in reports(module, "TLK402", partial(_said, module)):
        told.add(module.tree.statement(each.node) if each.node in module.tree.parents else each.node)
        yield each
    if module.notes and holds_any(module.source.text, WORDS):
        yield from _cut_later(module, told)


def _cut_later(module: Module, told: set[ast.AST]) -> Iterator[Report]:
    """What is seen to carry a graph by where it is detached: behind the loop that fills a list with it."""
    later = CutLater(module)
    for store in lasting_stores(module):
        cut = later.place(store) if module.tree.statement(store.node) not in told else None
        if cut is not None:
            yield Report(
                store.node,
                f"memory grows every step: `{short(store.holder)}` keeps `{short(store.value)}` with its autograd "
                "graph; detach it before it is stored",
                notes=(*evidence(module, store), (cut, "it is detached only here")),
                severity=Severity.NOTE,
                why="the `.detach()` behind the loop is the only sign that it carries a graph",
                target=None,
            )


def _said(module: Module, kept: Kept) -> Said | None:
    store = stored(kept.at)
    if store is None:
        return None
    is_tensor = module.infer.value(store.value).kind is Kind.TENSOR
    advice = remedy(module, "store", store.value) if is_tensor else "store tensors with `.detach()`"
    name = short(store.holder)
    return Said(
        f"memory grows every step: `{name}` keeps `{short(store.value)}` with {its_graph(kept.nodes)}; {advice}",
        store,
        notes=evidence(module, store),
        severity=Severity.NOTE if is_of_tasks(module, store.key, store.node) else None,
        why="it gets one entry for each task: how many there are is not seen",
    )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on what is stored, entry by entry in a display."""
    if report.target is None:
        raise Unfixable("nothing proves that it is a tensor")
    if not isinstance(report.target, Store):
        raise Unfixable(FOLLOWED)
    return releases(report.target, build)
