"""The families of rules, by the first digit of their codes: the place that a rule looks at."""

from __future__ import annotations

FAMILIES = {
    "TLK1": ("1xx: what a Dataset holds", "Data that every worker process ends up with a copy of."),
    "TLK2": ("2xx: what a sample is", "Samples that share memory with stored data, and who edits them."),
    "TLK3": ("3xx: worker processes", "What happens inside DataLoader workers."),
    "TLK4": ("4xx: training loops", "Values that are kept across steps with more than was meant."),
    "TLK5": ("5xx: evaluation", "Loops that record gradients, or keep outputs, that nobody asks for."),
    "TLK6": ("6xx: autograd state", "Modules, functions and hooks that keep a graph alive."),
    "TLK9": (
        "9xx: opinionated",
        "Off by default. `--extend-select=TLK9`, or one code, switches them on, in flake8 and in torchleak alike.",
    ),
}
