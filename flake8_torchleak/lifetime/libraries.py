"""What functions of libraries do with what they are given, as data: rows, not code.

Of torch only what differs from "the result is a tensor that carries the history of what it is made of".
"""

from __future__ import annotations

import re

from flake8_torchleak.model.effects import FORWARDS as FORWARDS
from flake8_torchleak.model.effects import MODULE_SELF as MODULE_SELF

RECURRENT = frozenset({"LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"})
"""Those that are handed a state beside their input, and give a new one."""

NO_HISTORY_FUNCTIONS = frozenset({
    "zeros", "ones", "empty", "full", "tensor", "arange", "linspace", "logspace", "eye", "rand", "randn", "randint",
    "randperm", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like",
    "argmax", "argmin", "argsort", "eq", "ne", "gt", "lt", "ge", "le", "isnan", "isinf", "isfinite", "from_numpy",
    "multinomial", "bincount", "histc", "logical_and", "logical_or", "logical_not", "allclose", "equal", "load",
    "one_hot", "is_tensor", "numel", "device", "manual_seed", "no_grad", "searchsorted", "bucketize", "normal",
    "bernoulli", "isclose", "Tensor", "FloatTensor", "LongTensor", "DoubleTensor", "HalfTensor", "IntTensor",
    "BoolTensor", "ByteTensor", "nonzero", "argwhere", "isin", "count_nonzero", "unique", "tril_indices",
    "triu_indices", "Generator",
})  # fmt: skip
"""Functions of torch whose result never carries history."""

RANDOM = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "bernoulli",
    "multinomial",
})  # fmt: skip
"""Functions of torch that give something else each time."""

NO_HISTORY_METHODS = frozenset({
    "item", "tolist", "numpy", "detach", "long", "int", "bool", "short", "byte", "char", "argmax", "argmin",
    "argsort", "eq", "ne", "gt", "lt", "ge", "le", "nonzero", "argwhere", "multinomial", "isnan", "isinf",
    "isfinite", "any", "all", "size", "dim", "ndim", "numel", "nelement", "stride", "element_size", "is_contiguous",
    "data_ptr", "get_device", "storage", "equal", "new_zeros", "new_ones", "new_tensor", "new_full", "new_empty",
    "count_nonzero", "unique", "bincount", "type", "is_floating_point", "has_names", "logical_and", "logical_or",
    "logical_not", "__len__", "keys", "startswith", "endswith", "lower", "upper", "strip", "encode", "decode",
    "split_name", "exists", "is_file", "isclose", "__float__", "__int__", "__bool__", "__index__",
})  # fmt: skip
"""Methods of tensors whose result never carries history; `type` only where it is told nothing."""

WHOLE = frozenset(
    f"torch.{name}"
    for name in (
        *("long", "int", "short", "bool", "int8", "int16", "int32", "int64", "uint8"),
        *("LongTensor", "IntTensor", "ShortTensor", "ByteTensor", "BoolTensor", "CharTensor"),
    )
) | {"int", "bool"}
"""Types of whole numbers."""
OF_WHOLE = frozenset({"LongTensor", "IntTensor", "BoolTensor", "ByteTensor", "randint", "randperm", "randint_like"})
"""Functions of torch that give tensors of whole numbers, whatever they are told."""
INTEGERS = "whole numbers"
"""Marks a tensor of whole numbers: what is copied into it has no history there."""
AS_ANOTHER = frozenset({"expand_as", "reshape_as", "to", "type_as", "view_as"})
"""Methods that take shape, type or place of another tensor, and nothing of its history: measured on torch 2.13."""
WHOLE_ARGUMENTS = {
    "ctc_loss": {1: "targets", 2: "input_lengths", 3: "target_lengths"},
    "gather": {2: "index"},
    "index_add": {2: "index"},
    "index_select": {2: "index"},
    "masked_fill": {1: "mask"},
    "masked_select": {1: "mask"},
    "nll_loss": {1: "target"},
    "pack_padded_sequence": {1: "lengths"},
    "repeat_interleave": {1: "repeats"},
    "scatter": {2: "index"},
    "scatter_add": {2: "index"},
    "take": {1: "index"},
    "take_along_dim": {1: "indices"},
    "where": {0: "condition"},
    "Tensor.where": {1: "condition"},  # a method: its tensor is no condition
}
"""Functions of torch -> their arguments that are whole numbers or true and false, by place and by name.

Measured with torch 2.13: all but `pack_padded_sequence` refuse other numbers there. It takes them as lengths, and they
get no gradient. Methods have their tensor in the first place.
"""
OF_SEQUENCES = {
    "pack_padded_sequence": ("data", "batch_sizes", "sorted_indices", "unsorted_indices"),
    "pack_sequence": ("data", "batch_sizes", "sorted_indices", "unsorted_indices"),
    "pad_packed_sequence": ("padded", "lengths"),
}
"""Functions of torch -> the parts of what they give: the first has history, the others are whole numbers.

Measured with torch 2.13: `packed.data` is an entry of a named tuple, and no tensor's `data`, which has no history.
"""
SAME_NUMBERS = frozenset({
    "to", "cuda", "cpu", "clone", "contiguous", "view", "reshape", "expand", "repeat", "squeeze", "unsqueeze",
    "pin_memory", "share_memory_", "detach",
})  # fmt: skip
"""Methods after which a tensor's numbers are what they were."""
DISTRIBUTION = "a distribution"
"""What an object of `torch.distributions` is: what is drawn by its `sample()` carries no history."""

ONLY_TENSORS = frozenset({
    "detach", "backward", "requires_grad_", "cuda", "cpu", "unsqueeze", "squeeze", "softmax", "log_softmax", "sigmoid",
    "tanh", "relu", "matmul", "expand", "contiguous", "permute", "transpose", "view_as", "clamp", "logsumexp",
})  # fmt: skip
"""Methods that only tensors have."""

PLAIN_ATTRIBUTES = frozenset({
    "shape", "ndim", "dtype", "device", "requires_grad", "is_cuda", "is_leaf", "grad_fn", "data", "layout", "itemsize",
    "nbytes", "names", "grad", "__name__", "__class__", "__dict__",
})  # fmt: skip
"""Attributes of tensors that carry no history."""

READ_ONLY = frozenset({
    "print", "len", "float", "int", "str", "bool", "repr", "format", "isinstance", "issubclass", "hash", "id", "round",
    "ord", "chr", "hasattr", "callable", "type", "open", "input", "vars", "dir", "any", "all", "range", "complex",
    "bytes", "slice", "object",
})  # fmt: skip
"""Built-in functions that keep nothing of their arguments and give a plain value."""

ORDERINGS = frozenset({"list", "tuple", "sorted", "reversed", "set", "frozenset", "iter"})
"""Built-in functions whose result has the elements of their first argument."""

READ_ONLY_METHODS = frozenset({
    "add_scalar", "add_scalars", "set_postfix", "set_description", "set_postfix_str", "log_metric", "log_metrics",
    "info", "debug", "warning", "error", "exception", "critical", "write", "add_image", "add_histogram", "add_text",
    "log", "log_dict", "print", "format",
})  # fmt: skip
"""Methods of loggers, on whatever they are called: nothing is kept with its history."""

WRAPPERS = frozenset({
    "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DataParallel",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_shard", "torch.quantization.prepare_qat", "torch.ao.quantization.prepare_qat",
    "torch.fx.symbolic_trace", "torch.jit.trace", "torch.nn.utils.spectral_norm", "torch.nn.utils.weight_norm",
    "torch.nn.utils.remove_weight_norm", "torch.nn.utils.remove_spectral_norm",
    "torch.nn.utils.parametrizations.spectral_norm", "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrizations.orthogonal", "apex.parallel.DistributedDataParallel",
    "apex.parallel.convert_syncbn_model",
})  # fmt: skip
"""Functions that take a network, and give it back or one that runs it."""
SAME = WRAPPERS | {
    "copy.copy", "copy.deepcopy", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "rich.progress.track",
    "typing.cast", "torch.compile", "torch.jit.script", "types.MethodType", "functools.lru_cache", "functools.cache",
}  # fmt: skip
"""Functions whose result stands for their argument (of `cast`, the last one)."""
PREPARING = frozenset({"apex.amp.initialize"})
"""Functions that give back each of what they are handed, one after the other: networks, optimizers."""

CARRYING = frozenset(
    f"{package}.{name}"
    for package, names in {
        "einops": ("rearrange", "reduce", "repeat", "einsum"),
        "opt_einsum": ("contract",),
        "torch_scatter": ("scatter", "scatter_add", "scatter_sum", "scatter_mean", "scatter_mul"),
        "torch_geometric.nn": ("global_add_pool", "global_mean_pool", "global_max_pool"),
        "torch_geometric.utils": ("scatter", "softmax"),
        "torchvision.ops": ("box_convert", "box_iou", "generalized_box_iou", "roi_align", "sigmoid_focal_loss"),
        "torchvision.transforms.functional": ("crop", "normalize", "pad", "resize"),
    }.items()
    for name in names
)
"""Functions of other libraries whose result is a tensor with the history of what it is made of."""

PROVE_NETWORK = frozenset({
    "parameters", "named_parameters", "zero_grad", "state_dict", "load_state_dict", "eval", "train", "named_modules",
    "modules", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook",
})  # fmt: skip
"""Methods that an `nn.Module` has and tensors have not: who calls one shows what it is called on."""
OF_OPTIMIZERS = frozenset({"zero_grad", "state_dict", "load_state_dict"})
"""Those of them that optimizers have, too."""

WITHOUT_HISTORY = {
    "sentence_transformers.SentenceTransformer": frozenset({"encode", "encode_query", "encode_document"}),
    "sentence_transformers.CrossEncoder": frozenset({"predict", "rank"}),
}
"""Classes of libraries that are networks -> their methods that turn gradients off themselves.

Measured with sentence-transformers 6.2 and torch 2.13, with parameters that need gradients.
"""
EVALUATING = re.compile(
    r"(?:transformers\.(?:\w+\.)*(?!TF|Flax)\w*(?:Model|For[A-Z])\w*|diffusers\.(?:\w+\.)*(?!Flax)\w*Model)\.from_pretrained"
)
"""Constructors of libraries that give networks in evaluation mode, whose parameters need gradients.

Measured with transformers 5.24 and diffusers 0.42. What is of other frameworks, or a pipeline, is none.
"""
NO_NETWORKS = re.compile(
    r"(?:transformers|diffusers)\.(?:\w+\.)*"
    r"(?:TF\w+|Flax\w+|\w*(?:Tokenizer|Processor|FeatureExtractor|Config|Scheduler|Pipeline)\w*(?<!Model))"
    r"\.from_pretrained"
)
"""Constructors of the same libraries that give no module of torch's: none of the 1,537 of transformers 5.24 does."""
PARAMETERS = frozenset({"parameters", "named_parameters"})
MODULE_METHODS = PROVE_NETWORK | MODULE_SELF | PARAMETERS | {"children", "named_children", "buffers", "named_buffers"}
"""Methods that every `nn.Module` has."""
EACH = "each of its modules"
"""What stands for every network in a network, and for itself, as `modules()` gives them."""

GRAD_OFF = frozenset({"torch.no_grad", "torch.inference_mode"})
GRAD_ON = frozenset({"torch.enable_grad"})

DIFFERENTIATING = frozenset({"backward", "manual_backward"})
"""Methods that differentiate: what they are called on, or, of a helper's, their first argument."""

CONTAINERS = {
    "list": "list", "dict": "dict", "set": "set", "collections.deque": "deque", "collections.defaultdict": "dict",
    "collections.OrderedDict": "dict", "collections.Counter": "dict", "queue.Queue": "deque",
    "multiprocessing.Queue": "deque", "queue.SimpleQueue": "deque", "queue.deque": "deque",
}  # fmt: skip
"""What makes a container, and of which kind."""

ALONE = "without workers"
"""A DataLoader whose batches are made in the process itself."""

WITH_INDICES = frozenset({"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"})
"""Operations that, along a dimension, give a pair: values, which carry history, and indices, which do not."""
ALWAYS_WITH_INDICES = frozenset({"sort", "topk", "mode", "kthvalue"})
"""Those that give a pair whatever they are told."""

WHOLE_NUMBERS = frozenset({
    "argmax", "argmin", "argsort", "multinomial", "nonzero", "argwhere", "bincount", "searchsorted", "bucketize",
    "eq", "ne", "gt", "lt", "ge", "le", "isnan", "isinf", "long", "int", "bool", "short", "byte",
})  # fmt: skip
"""Functions of torch, and methods of tensors, that give whole numbers or truths, whatever they are made of."""
JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})
"""Functions that make one tensor of several, as torch has them."""

ARRAY = "array"
"""A tensor's memory as numpy has it."""

SCALER = "a gradient scaler"
"""A GradScaler: what it scales has the history of what it is given."""

OUTSIDE = "an object of a library's class"
"""The mark of what nothing is known of but that a library's class makes it: it may keep, copy or detach."""

METRICS = frozenset({"torchmetrics", "torcheval", "ignite"})
"""Packages whose metrics keep no graph of what they are updated with."""
METRIC = "a library's metric"
"""What an object of theirs is."""

NAMED = "by its name"
"""Marks what carries history only because its name speaks of a loss; of its parts nothing is known."""

MANY_NUMBERS = frozenset({
    "arange", "array", "where", "argsort", "nonzero", "flatnonzero", "argwhere", "unique", "permutation", "linspace",
    "argpartition", "tril_indices", "triu_indices", "zeros", "ones", "full", "concatenate", "hstack", "vstack", "stack",
})  # fmt: skip
"""Functions of numpy that give an array, by which an index copies."""
WITH_SIZE = {"choice": 2, "randint": 3, "integers": 3}
"""Functions of numpy.random -> with how many arguments they draw an array."""

METER = "a library's meter"
SUMMING = frozenset({
    "timm.utils.AverageMeter", "timm.utils.metrics.AverageMeter", "fairseq.meters.AverageMeter",
    "fairseq.logging.meters.AverageMeter", "torchnet.meter.AverageValueMeter", "torchnet.meter.MovingAverageValueMeter",
})  # fmt: skip
"""Meters of libraries whose `update(value)`, or `add(value)`, adds the value to a sum as it comes, until `reset()`."""

UNBOUND = frozenset({
    "torch.Tensor", "torch.nn.Module", "numpy.ndarray", "list", "dict", "set", "collections.deque",
    "collections.OrderedDict", "collections.defaultdict", "torch.optim.Optimizer",
})  # fmt: skip
"""Classes whose methods are called with the object first: `torch.Tensor.detach(x)`."""
MADE_BY_CLASS = frozenset({"fromkeys", "_make_subclass", "as_subclass"})
"""Methods of theirs that are not."""
OF_OBJECTS = {
    "torch.detach": "detach", "torch.detach_": "detach_", "operator.delitem": "__delitem__",
}  # fmt: skip
"""Functions that call this method of what they are given first."""
CONTAINER_METHODS = frozenset({
    "append", "appendleft", "add", "insert", "extend", "extendleft", "pop", "popleft", "popitem", "remove", "discard",
    "clear", "get", "setdefault", "update", "keys", "values", "items",
})  # fmt: skip
"""What objects of a project's own containers have of the built-in ones that they derive from."""
