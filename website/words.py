"""The few special words of the rules' pages, each in a paragraph for a reader who has never met it."""

from __future__ import annotations

import re
from typing import NamedTuple


class Word(NamedTuple):
    """A special word. said: a pattern of the ways in which a page says it."""

    title: str
    said: str
    text: str


WORDS = (
    Word(
        "autograd graph",
        r"\bgraphs?\b|requires? grad|grad_fn",
        "While gradients are on, every tensor that is computed from a parameter remembers how it was computed: its "
        "`grad_fn` refers to the operation, and that one to the operations before it, back to the parameters. This is "
        "the autograd graph, and each operation is a *node* of it. `backward()` walks along it. Operations save inputs "
        "and results that `backward()` will need (*activations*): this is most of the memory. As long as anything "
        "refers to the tensor, its graph stays; after `backward()` only its nodes do, 0.7 to 0.8 KB each. "
        "`.detach()` gives the same numbers without a graph.",
    ),
    Word(
        "copy-on-write",
        r"under fork|reference counts?|copy-on-write",
        "A forked worker process starts with all memory of its parent, shared and not copied. When either of them "
        "writes to a page (4 KiB), the writer gets a private copy of that page. Python writes even when a program only "
        "reads: each object holds a count of the references to it, and looking at an object changes the count.",
    ),
    Word(
        "start method",
        r"\bspawn(?:ed)?\b|\bforkserver\b",
        "How Python starts worker processes. `fork` copies the running process (Linux, before Python 3.14). `spawn` "
        "starts a new Python and sends it the Dataset by pickle (macOS, Windows). `forkserver` forks a small, clean "
        "server process and sends the Dataset by pickle, too (Linux, from Python 3.14).",
    ),
    Word(
        "file descriptor",
        r"\bdescriptors?\b",
        "The number by which a process knows an open file. A process may have a limited number of them, often 1,024 "
        "(`ulimit -n`). A tensor that a worker process sends is a piece of shared memory, and in the default sharing "
        "strategy of Linux each such piece is an open file.",
    ),
    Word(
        "view",
        r"\bviews?\b",
        "An array or tensor that has no memory of its own but shows a part of another one's: a slice `a[10:20]`, a "
        "transposed or reshaped array. Writing to the view writes to the array; keeping the view keeps all of the "
        "array's memory. `.copy()` (NumPy) and `.clone()` (torch) make a copy with its own memory.",
    ),
    Word(
        "private memory",
        r"\b[Pp]rivate (?:bytes|memory|MB)|\bprivate copy",
        "The memory that belongs to one process alone. What several processes share is counted once, unlike in the "
        "resident size (RSS) that `top` shows, which counts shared pages in every process.",
    ),
)


def said_in(text: str) -> list[Word]:
    """The special words that a page uses."""
    return [word for word in WORDS if re.search(word.said, text)]
