"""What functions of well-known libraries do with a tensor that they are handed: data, for `escapes.py`.

A function that stands here neither keeps what it gets, nor differentiates it, nor looks at its history.
"""

from __future__ import annotations

READ_ONLY = frozenset({
    "print", "len", "float", "int", "bool", "str", "repr", "format", "isinstance", "issubclass", "type", "hash",
    "callable", "round", "pprint.pprint", "math.isnan", "math.isfinite", "math.isinf", "math.sqrt", "math.exp",
    "math.log", "math.floor", "math.ceil", "math.pow", "warnings.warn", "json.dump", "json.dumps", "pickle.dump",
    "pickle.dumps", "torch.save", "torch.is_tensor", "torch.isnan", "torch.isfinite", "torch.isinf", "torch.argmax",
    "torch.equal", "torch.allclose", "wandb.log", "mlflow.log_metric", "mlflow.log_metrics", "sys.stdout.write",
    "sys.stderr.write", "del", "numpy.isnan", "numpy.isfinite",
})  # fmt: skip
"""Functions, by their qualified name, that only read."""
READ_ONLY_ROOTS = frozenset({"numpy", "statistics", "logging", "math", "matplotlib", "loguru", "scipy", "sklearn"})
"""Packages whose functions know nothing of autograd: they read numbers, or refuse a tensor that requires grad."""
OF_IMAGES = frozenset({"cv2", "PIL", "imageio", "skimage"})
"""Those that read and write images."""
READ_ONLY_METHODS = frozenset({
    "add_scalar", "add_scalars", "add_histogram", "add_text", "set_postfix", "set_postfix_str", "set_description",
    "set_description_str", "log_metric", "log_metrics", "info", "debug", "warning", "error", "critical", "writerow",
    "writelines", "isnan", "zero_grad", "format", "join",
})  # fmt: skip
"""Methods of progress bars, loggers and writers, by names that nothing else has."""
ASKING = frozenset({"id", "copy.deepcopy"})
"""Functions that tell one tensor from another, or raise for one that has history."""
MOVING = frozenset({
    "list", "dict", "tuple", "set", "sorted", "reversed", "zip", "enumerate", "iter", "next", "sum",
    "min", "max", "copy.copy", "itertools.chain", "itertools.islice", "collections.deque",
    "abs", "range",
})  # fmt: skip
"""Functions whose result holds what they get, or is made of it."""
APPLYING = frozenset({"map", "filter", "functools.reduce"})
"""Functions that call their first argument with the elements of the others."""
ENDING = frozenset(
    {"item", "tolist", "detach", "numpy", "data", "size", "dim", "numel", "nelement", "argmax", "argmin"}
)
"""Methods and attributes of tensors whose result has no history."""
DRAWN = "sample"
"""The method of `torch.distributions` that draws with gradients off."""
OF_DISTRIBUTIONS = frozenset({"rsample", "log_prob", "entropy", "cdf", "icdf"})
"""Those that carry the history of the parameters."""
PLAIN_ATTRIBUTES = frozenset({"shape", "dtype", "device", "ndim", "is_cuda", "data", "nbytes", "itemsize"})
"""Attributes of tensors that tell nothing of history."""
HISTORY = frozenset({
    "requires_grad", "grad_fn", "grad", "is_leaf", "retain_grad", "register_hook", "retains_grad", "requires_grad_",
    "register_post_accumulate_grad_hook", "detach_", "_version", "_backward_hooks", "output_nr",
})  # fmt: skip
"""What a tensor tells of its history: to read it is to see the difference."""
CONTAINER_METHODS = frozenset({
    "append", "appendleft", "extend", "insert", "add", "clear", "remove", "count", "index", "sort", "reverse", "put",
    "rotate", "discard", "keys", "put_nowait", "empty", "full", "qsize",
})  # fmt: skip
"""Methods of containers that hand out none of what they hold."""
ELEMENT_METHODS = frozenset({
    "pop", "popleft", "popitem", "values", "items", "get", "setdefault", "copy", "update", "get_nowait", "__getitem__",
})  # fmt: skip
"""Methods of containers that hand out what they hold."""
