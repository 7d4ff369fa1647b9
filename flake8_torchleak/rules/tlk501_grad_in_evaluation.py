"""grad-in-evaluation: an evaluation loop builds autograd graphs that nothing uses.

Leaks
-----
    def validate(model, loader):
        model.eval()
        correct = 0
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum()
        return correct

Instead
-------
    @torch.no_grad()
    def validate(model, loader):
        model.eval()
        correct = 0
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum()
        return correct

Why
---
`model.eval()` changes dropout and batch norm, not autograd: every call still records a graph with all
activations. At the peak a batch or two of them are alive (two if the last output still has a name), and all of
them if any output is kept: what the loop keeps so (TLK401 to TLK403) is named in the notes of this finding.

Measured
--------
Alive at the peak of a step, a network of four 512-wide layers, batch 64 (530 KB of activations): two graphs,
1081 KB, as the last output still has its name while the next is computed; one, 546 KB, where it has none;
three, 1869 KB, with two calls a batch. Fixed: 21, 13 and 158 KB, inputs made in the step among them. A no_grad
block after the call, or `torch.no_grad()` without `with`, changes nothing. None of it grows; with a kept output
it does (TLK402).

Run by `fixtures/TLK501_grad_in_evaluation/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- Gradients are off: no_grad, inference_mode or set_grad_enabled is around the call, on a decorator, on every caller in
  the file or in the project's other files (through up to three callers of these), or in the framework (Lightning's
  validation_step).
- All parameters of the network were frozen (`requires_grad_(False)`), here or by who hands it over: then nothing is
  recorded.
- The loop needs gradients: attacks, saliency, `backward`, also where a helper differentiates, or the network's own
  forward pass (forces that are the derivative of an energy, adaptation at test time). Where a function also trains,
  what it asks for outside of the loop is of its training.
- It sets gradients back (`zero_grad()`), and what the network gives is not only read in the function, an optimizer
  steps, or a method of the same object, or of the network, is called, which may train.
- A loss, by its name, gets first what a call of an object gave with gradients off.
- A condition decides between training and evaluation, and all who call the function, in a program, train.
- Another file differentiates what the function gives: `torch.autograd.grad(train.loss(net, data), weights)`.
- Code that nobody can see may train: what it gets has a graph, and it was made of the network or an optimizer, or gets
  an optimizer as well (`scaler(loss, optimizer)`).
- The network that is run is another one than the one in evaluation mode, or holds that as a part, or trains again.
- Gradients are turned off for good before: by the constructor, or where the file is run as a program.
- The file imports another library with networks (JAX, MegEngine, Paddle, TensorFlow and others), and not PyTorch.
- The network is run by a function that a decorator gets which is given something, and may train
  (`@captured(model, optimizer)`).
- A generator expression that is gone through elsewhere. Those that `sum`, `list` and `extend` take are loops like
  others, as comprehensions are, if the network is given what they go over.

`from_pretrained` of transformers and diffusers gives networks in evaluation mode, whose parameters need gradients:
measured with transformers 5.24 and diffusers 0.42. `encode` of a SentenceTransformer and `predict` of a CrossEncoder
turn gradients off themselves (sentence-transformers 6.2).

`torch.no_grad()` as a statement says what is meant, and does nothing: a loop behind it is told of, whatever it is
called, and whatever it goes over.

A note where the loop goes over no loader, the network is not put in evaluation mode (here, or by all who call the
function from other files), and nothing shows that it is run beside training; where there is no loop, or one that makes
each input by itself, of a path, a number, noise or the answer to the last output, in no loop over batches, or one that
is left after a few rounds; where names say that it makes pictures of a few samples (a last resort, and only to say
less); where the file, or one that imports it, freezes parameters; where the batch is one item; where nothing shows the
network's class, and a network class of the project turns gradients off, or differentiates, itself; and in programs of
before PyTorch 0.4, which make inputs volatile and know no `no_grad`.

Where neither `eval()` nor a name says that it evaluates, its use does: all that is made of the outputs is only read, by
all who get them, in any file. In a loop over a loader that is a warning, unless the network seems to be frozen: the
file, one that imports it or one that it imports freezes parameters, or a name says so (`freeze(teacher)`). Elsewhere it
is a note, and told only where the function takes numbers, or a tensor without its graph, out of something, in a file
that never speaks of `no_grad`.

In a program that differentiates nothing, no graph is of use, whatever becomes of the outputs: the file, those that
import it and all that these import of the project have no `backward`, ask for no gradients nor for the graph, do not
call `set_grad_enabled`, and use no library that trains. Only in projects, and for outputs that are used as tensors;
a note where code that nobody sees gets the output, and nothing if that gets the network as well.

A note where all of the network may be frozen: by a variable of its name, in this file or one that uses it, or by what
those hand over. What freezes a part leaves the graph of the rest. Measured, eight 512-wide layers and a head, batch 64:
a pass saves 1,180 KB, 131 KB with the layers frozen, and 1,180 KB with the head frozen. So it is a note where the
network's class freezes all but a head of linear layers, or runs the rest without gradients.

A network that runs once a call, in no loop (predictors, request handlers), is a note where it is in evaluation mode by
an `eval()` above, its own among them (`self.eval()` in a network's method), or where its output is only read. Such
files are not read for it if they speak of `no_grad` and have nothing else to evaluate. One that is called in a loop is
left to whoever calls it, if a network is seen to be run there.

While something is trained, a network whose outputs are only used without their graph is told as well: a target network
(`target(x).max(1)[0].detach()`), a generator that makes samples for a critic's step, a network that chooses what to do
next. That is a note where the same loop trains, as its steps may need as much memory anyway: of 14 such ones that
readers judged, 2 were worth a change. Not where parameters of it may be frozen, nor where what is cut off is only kept
or logged (`outputs.append(net(x).detach())`), as other messages advise, but in a loop over batches that trains nothing:
that evaluates, whatever stands around it. Measured, two networks of four 512-wide
layers, batch 16,384: the peak of a training step is 302 MB where the output keeps a name
(`out = target(x); y = out.detach()`), as its graph lives until the next step, and 206 MB under `no_grad`. Detached
at once it is 206 MB too, and the pass of the target network alone takes 206 instead of 110 MB: that matters where it
is the larger network. An output that nobody reads is told, too, if all classes of the network are seen, and leave
nothing behind after a pass (`self.kl = ...` in `forward`, hooks, code that gets the network): its graph lives as long
as its name. Saved for one step, four 512-wide layers, batch 2,048: 39.9 MB with such a pass beside the one that is
trained with, 23.6 MB with it under `no_grad`. In a function that trains as well each loop that does not is told; of any
other function one finding shows up to three more calls.

Methods under other names (`model.predict(users, items)`, `trainer.generate(x)`) run a network where the class of the
object shows that they do, with gradients on: where it is made, or by what is handed over for it, in any file. What a
loss or layer of torch's own gives is made of what it gets, wherever it is made or handed over in sight; of any other
nobody knows whether it trains. A loss, by its name, or a method of the network itself that gets what this gave under
`no_grad` is taken to build no graph, unless its class is seen to run layers. Where some class of the project has a
method of that name that turns gradients off, it is a note; and so is a teacher, by its name, where a file that this one
imports freezes parameters.

Where nobody sees the class, the project's classes count: a method that only its networks have, and which runs them with
gradients on, is told as a note, if what it gives is detached, or the object is asked for its parameters; and so is
`forward`, if what it gives is used as a tensor.

A function that trains under a condition (`if optimizer is not None:`, `if mode == "train":`, `if net.training:`) is
told where it is also run when that does not hold, with gradients on: by a call with such constants, in any file, a
value of a loop (`for phase in ("train", "val")`), or behind `net.eval()`; and where the same condition decides over the
network's mode, `net.train(split == "train")`. It needs `set_grad_enabled` of the condition.

How to fix it
-------------
Unsafe, because a caller may need gradients: `@torch.no_grad()` on the function. It goes above decorators that only wrap
the function, and below those that register it or change its kind (staticmethod, property).
By hand, for a loop at module level, in a function that also trains, or where another function runs the network:
`with torch.no_grad():` around it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.evaluations import evaluations
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject, imports_pytorch, speaks_of_evaluation
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.model.evaluated import Evaluation
from flake8_torchleak.model.fed import rounds_over_batches
from flake8_torchleak.model.minor import OLD, why_minor
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.olden import is_ended, is_old
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_OTHER = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+(?:jax|jittor|megengine|mindspore|mxnet|oneflow|paddle|tensorflow)\b", re.MULTILINE
)
"""Imports of what has networks, losses and `eval()` as well, and other rules for what builds a graph."""


def _may_tell(outline: Outline, module: Module) -> bool:
    """Whether something speaks for more than a note, or a network is seen to record a graph."""
    if speaks_of_evaluation(outline):
        return True
    seen = followed(module).run.seen
    return bool(seen.evaluated) or any(seen.recording.values())


@rule(
    "TLK501",
    "grad-in-evaluation",
    fix=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.EVALUATION,
    telling=_may_tell,
)
def check(module: Module) -> Iterator[Report]:
    text = module.source.text
    if _OTHER.search(text) and not imports_pytorch(text):
        return
    if is_ended(text) and "volatile" in text:
        return
    for each in evaluations(module):
        unit = "every batch" if rounds_over_batches(module, each.call) else "every pass"
        named = each.function is not None and not module.loops.trains(each.function)
        where = f"{unit} of `{each.function.name}`" if each.function is not None and named else f"{unit} of this loop"
        if each.loop is None:
            where = f"every call of `{each.function.name}`" if each.function is not None else where
        called = short(each.call.func)
        if "..." in called:
            called = last_name(each.call.func)
        where, remedy = f"on {where}", "evaluate under `torch.no_grad()`"
        if each.test and each.function is not None:
            where = f"where `{each.function.name}` does not train"
            remedy = f"use `torch.set_grad_enabled({each.test})`"
        if each.in_training:
            remedy = "run it under `torch.no_grad()`"
        why = OLD if is_old(text) else why_minor(module, each)
        yield Report(
            each.call,
            f"memory is wasted {where}: `{called}(...)` builds an autograd graph; {remedy}",
            notes=(
                *([(each.loop, "evaluation loop")] if each.loop is not None and not each.in_training else []),
                *each.evidence,
            ),
            severity=Severity.NOTE if why else None,
            target=each,
            why=why,
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`@torch.no_grad()` on the function: above plain wrappers, below what must get or give the function itself."""
    evaluation, module = report.target, build.module
    assert isinstance(evaluation, Evaluation)
    function = evaluation.function
    if evaluation.by_use:
        raise Unfixable("nothing but what becomes of the outputs says that it evaluates: look whether it does")
    if evaluation.followed:
        raise Unfixable("other functions are involved, which may train: put this call under `with torch.no_grad():`")
    if isinstance(function, ast.AsyncFunctionDef):
        raise Unfixable("no_grad as a decorator does not reach into an async function")
    if not isinstance(function, ast.FunctionDef):
        raise Unfixable("the loop is at module level: put it under `with torch.no_grad():`")
    if evaluation.test:
        way = f"put what it runs under `with torch.set_grad_enabled({evaluation.test}):`"
        raise Unfixable(f"`{function.name}` trains as well: {way}")
    if module.loops.trains(function):
        raise Unfixable(f"`{function.name}` trains as well: put the loop under `with torch.no_grad():`")
    if module.release.callers.may_train(function) is not None:
        raise Unfixable(f"a caller uses the result of `{function.name}` in training")
    if not module.release.callers.are_known(function):
        raise Unfixable(f"`{function.name}` is used in too many modules to see whether its result is used in training")
    no_grad, imported = build.reference("torch.no_grad", function)
    below = len(function.decorator_list) - module.grad.plain_wrappers(function)
    decorated = build.decorated(function, f"{no_grad}()", below)
    yield Fix(FixLevel.UNSAFE, f"decorate `{function.name}` with `@{no_grad}()`", (*imported, *decorated), early=True)
