"""Names for what a program binds: what it is called says what it is, says something else, or says nothing."""

from __future__ import annotations

import builtins
import keyword
import random

_MEANT = {
    "model": ("model", "net", "network", "self_net", "student"),
    "optimizer": ("optimizer", "opt", "optim", "solver"),
    "loader": ("loader", "train_loader", "batches", "data", "dl"),
    "input": ("x", "inputs", "images", "xb", "features"),
    "target": ("y", "targets", "labels", "yb", "truth"),
    "output": ("out", "outputs", "pred", "logits", "output"),
    "loss": ("loss", "l", "cost", "objective", "mse"),
    "losses": ("losses", "history", "loss_history", "kept", "log"),
    "total": ("total", "running_loss", "total_loss", "epoch_loss", "acc_loss"),
    "meter": ("meter", "stats", "tracker", "average"),
    "train": ("train", "fit", "main", "train_epoch", "run"),
    "trainer": ("Trainer", "Runner", "Solver", "Experiment"),
    "step": ("step", "train_step", "one_batch", "training_step"),
    "helper": ("store", "push", "remember", "record", "add_to"),
    "finish": ("optimise", "apply", "update", "finish", "learn"),
    "criterion": ("criterion", "loss_fn", "objective_fn", "crit"),
    "module": ("helpers", "utils", "engine", "common", "lib"),
    "index": ("i", "step_no", "n", "it", "k"),
    "epoch": ("epoch", "e", "ep"),
    "rows": ("rows", "records", "samples", "items", "annotations"),
    "dataset": ("Rows", "Samples", "Records", "Images"),
    "collate": ("collate", "collate_fn", "merge", "to_batch"),
    "sample": ("sample", "item", "row", "record"),
    "crops": ("crops", "patches", "parts", "thumbs"),
    "temp": ("v", "t", "value", "each", "part"),
}
_MISLEADING = (
    "accuracies", "numbers", "floats", "count", "np_losses", "evaluate", "validate", "predict", "best", "scores",
    "metrics", "detached", "loss", "criterion", "loader", "model", "batch", "results", "outputs", "log", "no_grad_sum",
    "val_losses", "test_step", "to_numpy", "print_stats", "class_names", "labels", "queue", "cache", "writer", "ema",
    "meter", "total", "history", "batch_idx", "image", "array", "preds", "inference", "eval_model", "dataset", "step",
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
STYLES = ("meant", "meant", "misleading", "letters", "mixed")


class Names:
    """New names, each once in a program. style: one of STYLES."""

    def __init__(self, rng: random.Random, style: str) -> None:
        self._rng, self.style = rng, style
        self._taken = set(keyword.kwlist) | set(vars(builtins)) | _LIBRARIES

    def new(self, meaning: str) -> str:
        """A name for something of that meaning (a key of the table, or any word)."""
        while True:
            name = self._drawn(meaning)
            if name not in self._taken:
                self._taken.add(name)
                return name

    def _drawn(self, meaning: str) -> str:
        rng = self._rng
        style = rng.choice(STYLES[:-1]) if self.style == "mixed" else self.style
        if style == "letters":
            name = "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 5)))
        else:
            name = rng.choice(_MEANT.get(meaning, (meaning,)) if style == "meant" else _MISLEADING)
            if name in self._taken:
                name += rng.choice(("_", "2", "_all", "s", "_a", "_b", "3", f"_{rng.choice(_LETTERS)}"))
        return name.capitalize() if meaning in _CLASSES and name[0].islower() else name


_CLASSES = frozenset({"trainer", "dataset", "class"})
_LIBRARIES = {
    "torch", "nn", "np", "F", "copy", "random", "math", "functools", "operator", "queue", "threading", "types",
    "collections", "contextlib", "dataclasses", "typing", "itertools", "weakref", "Dataset", "DataLoader", "self",
}  # fmt: skip
