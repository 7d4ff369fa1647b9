"""What names tell: the vocabulary that PyTorch code shares, used only where the source says nothing better."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

CONVENTIONS = {
    "model": "a network",
    "loader": "a DataLoader",
    "loss": "a loss",
    "tensor": "a tensor",
    "dataset": "a Dataset",
    "evaluation": "evaluation",
}
"""What a name may be taken for: key -> in words. Names that only silence a rule are not among them."""

_distrusted: ContextVar[frozenset[str]] = ContextVar("distrusted", default=frozenset())
_ignored: ContextVar[set[tuple[str, str]] | None] = ContextVar("ignored", default=None)


@contextmanager
def distrusted(conventions: frozenset[str]) -> Iterator[set[tuple[str, str]]]:
    """Take no name for any of some CONVENTIONS; yields the (convention, name) that would have told something."""
    ignored: set[tuple[str, str]] = set()
    before, known = _distrusted.set(conventions), _ignored.set(ignored)
    try:
        yield ignored
    finally:
        _distrusted.reset(before)
        _ignored.reset(known)


def _convention(key: str) -> Callable[[Callable[[str], bool]], Callable[[str], bool]]:
    """Make a question about a name one that can be distrusted; the same names are asked about again and again."""

    def made(question: Callable[[str], bool]) -> Callable[[str], bool]:
        known = lru_cache(maxsize=1 << 14)(question)

        def asked(name: str) -> bool:
            told = known(name)
            if told and key in _distrusted.get():
                ignored = _ignored.get()
                assert ignored is not None
                ignored.add((key, name))
                return False
            return told

        asked.__doc__, asked.__name__ = question.__doc__, question.__name__
        return asked

    return made


_MODEL = re.compile(
    r"(?:^|_)(?:model|models|net|nets|network|netg|netd|net_g|net_d|generator|discriminator|encoder|decoder|backbone|"
    r"classifier|critic|actor|unet|vae|gan|resnet|bert|module|learner|student|transformer|lstm|gru|rnn|cnn|mlp|gcn|gnn|"
    r"dnn|seq2seq|ddp_model|policy_net|target_net|teacher)(?:_?[a-z0-9]|_module)?$",
    re.IGNORECASE,
)
_FACTORY = re.compile(
    r"_?(?:build|get|create|make|load|init\w*|define|prepare|setup|construct|return|select|wrap|restore|return)_",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"_?(?:build|get|create|make|load|init\w*|define|prepare|setup|construct|return|select|wrap|restore|save|export|convert|"
    r"print|count|freeze|train|test|eval\w*|validate|run|update|log|set|is|has|use|from|to|quantize|compile|check|copy|clone|"
    r"unwrap|import|apply|compute|infer|extract|call|register|push|pull|upload|download|reload|replace|find|list|add|remove|"
    r"delete|free|move|put|resolve|parse|read|write|show|visualize|plot|fit|finetune|fuse|merge|split|patch|attach|dump|store)_",
    re.IGNORECASE,
)
_FROZEN = re.compile(r"(?<!un)(?:freez|froze)", re.IGNORECASE)
_LOADER = re.compile(
    r"(?:loader|loaders|dataloader|data_loader|(?:^|_)dl|(?:^|_)dls|(?:train|valid|val|test|eval|dev|data|batch)_?iter(?:ator)?|"
    r"prefetcher|data_generator)"
    r"(?:_?(?:train|val|valid|test|eval|dev|tr|te|iter|s|[a-d]|\d+))?$",
    re.IGNORECASE,
)
_LOSS_CALL = re.compile(r"loss|criterion|(?:^|_)crit(?:_|$)|objective|(?:^|_)(?:bce|mse|nll|ce)(?:_|$)", re.IGNORECASE)
_LOSS_VALUE = re.compile(
    r"(?:^|_)loss(?:es)?(?:_?[a-z0-9]{1,3})?$|^loss_(?!items|dict|log|history|weight|scal|fn|func|str|num)",
    re.IGNORECASE,
)
_PLAIN_RESULT = re.compile(
    r"acc|correct|num|count|(?:^|_)n(?:_|$)|len|size|idx|index|indices|ids?$|mask|label|target|time|step|ratio|_val$|_value$|_items?$|_$|info|str|name",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"(?:^|_)(?:metrics?|acc|accurac(?:y|ies)|f1|iou|correct|hits|counts?|num)(?:_|$)", re.IGNORECASE
)
_NOT_A_LOSS = re.compile(
    r"meter|metric|logger|scaler|track|writer|print|plot|log_|_log|record|average|avg|update|history|items|weight|item",
    re.IGNORECASE,
)
_SMALL = re.compile(
    r"class(?:es)?(?:_?names?)?$|class_to_idx|idx_to_class|^cats?$|categor|cat2label|label_?map|label2|2label|2idx|2id$|id2|"
    r"_to_id$|_to_idx$|_to_label$|transform|augment|^keys$|modalit|splits?$|subsets?$|scales?$|sizes?$|^mean$|^std$|columns?$|"
    r"fields?$|vocab|token(?!iz)|stoi|itos|alphabet|charset|^chars?$|datasets$|samplers?$|loaders?$|layers?$|blocks?$|config|cfg|"
    r"options?$|(?:^|_)args|params?$|stats?$|phases?$|meta$|weights?$|palette|colors?$|means$|stds$|anchors?$|pipeline|"
    r"cameras?$|channels?$|bands?$|features_names|attributes?$|tasks?$|domains?$|langs?$|languages?$|speakers?$|heads?$|"
    r"_names$|hooks?$|callbacks?$|handlers?$|shape$|dims?$|label_?names|templates?$|kwargs",
    re.IGNORECASE,
)
_DATASETISH = re.compile(
    r"(?:^|_)(?:datasets?|ds|dsets?|reader|hf_data|subset|base_data|source_data)\d?(?:_|$)", re.IGNORECASE
)
_GRAD_OFF = re.compile(
    r"no_?grad|inference_?mode|smart_inference|eval_?mode|evaluat|without_grad|disable_grad|grad_off|_inference$|^inference",
    re.IGNORECASE,
)
_TENSOR = re.compile(
    r"^(?:x|y|xs|ys|x_\w+|y_\w+|xb|yb|batch|batch_[a-z]|data|inputs?|imgs?|images?|targets?|labels?|features?|masks?|pixel_values)$|"
    r"(?:^|_)(?:mask|ids|labels?|targets?|images?|imgs?|features?|box(?:es)?|values)(?:_?\d)?$",
    re.IGNORECASE,
)
_TEXT = re.compile(r"path|name|file|text|str|url|caption|word|sentence|meta|info", re.IGNORECASE)
_EVALUATION = re.compile(r"(?:^|_)(?:eval\w*|valid\w*|val|test\w*|infer\w*|predict\w*|dev)(?:_|$|\d)", re.IGNORECASE)
_SHOWING = re.compile(r"visuali[sz]|(?:^|_)(?:vis|demo|plot|draw)(?=_|$|\d)", re.IGNORECASE)
_FEW = re.compile(
    r"(?:lang|domain|class|cat|category|speaker|spk|task|split|style|genre)_?(?:ids?|idx|indices)$|"
    r"(?:^|_)\w*(?:lens?|lengths?)$",
    re.IGNORECASE,
)
_SMALL_FILE = re.compile(
    r"(?:^|[/_.-])(?:\w*class(?:es)?|categor(?:y|ies)|config|cfg|stats|vocab|options|palette|settings?|names)(?:[/_.-]|$)",
    re.IGNORECASE,
)

PLACING = frozenset({"prepare", "setup_dataloaders", "prepare_data_loader", "setup_dataloader"})
"""Methods of accelerate and Fabric whose loaders move every batch to the device."""


PREPARES = (".eval()", "load_state_dict", ".backward(", "torch.load")
"""A file with none of these neither trains nor loads a model: what its name calls evaluation needs no gradients."""
GRAD_OFF = ("no_grad", "inference_mode")
"""Context managers and decorators of torch that turn gradients off."""
KNOWS_GRAD = (*GRAD_OFF, "grad_enabled")
"""A file with one of these knows of it: in it, what runs a network over no batches is not looked for."""
LOADS = ("load_state_dict", "torch.load", "from_pretrained")
"""A file with one of these gets networks that somebody has trained."""
STEP_METHODS = frozenset({
    "training_step", "train_step", "train_batch", "_train_batch", "optimize_parameters", "run_step", "train_one_batch",
    "_train_step", "fit_batch", "train_on_batch", "training_step_end",
})  # fmt: skip
"""Methods that a framework (or a trainer's own loop elsewhere) calls once per step."""
STEP_HOOKS = frozenset({
    "compute_loss", "on_train_batch_end", "on_train_batch_start", "on_before_zero_grad", "on_step_end", "on_batch_end",
    "on_after_backward", "on_before_optimizer_step", "on_predict_batch_end",
})  # fmt: skip
"""Further ones, of the Hugging Face Trainer and of callbacks."""


@_convention("model")
def makes_model(name: str) -> bool:
    """The name of a factory (`build_model`, `get_network`)."""
    return bool(_FACTORY.match(name)) and bool(_MODEL.search(name))


@_convention("model")
def is_model(name: str) -> bool:
    """A name that stands for an nn.Module."""
    return bool(_MODEL.search(name)) and not _VERB.match(name) or name in {"G", "D", "netG", "netD"}


@_convention("tensor")
def is_tensor(name: str) -> bool:
    """A name for a part of a batch that the default collate makes a tensor of."""
    return bool(_TENSOR.search(name)) and not _TEXT.search(name)


@_convention("loader")
def is_loader(name: str) -> bool:
    """A name that stands for a DataLoader (or an iterator of one)."""
    return bool(_LOADER.search(name))


@_convention("loss")
def computes_loss(name: str) -> bool:
    """The name of something that is called to compute a loss."""
    return bool(_LOSS_CALL.search(name)) and not _NOT_A_LOSS.search(name)


@_convention("loss")
def is_loss(name: str) -> bool:
    """The name of a variable that holds a loss (not its plain value: `loss_val`)."""
    return _speaks_of_loss(name)


def _speaks_of_loss(name: str) -> bool:
    return bool(_LOSS_VALUE.search(name)) and not name.endswith(("_val", "_value", "_item", "_items"))


@lru_cache(maxsize=1 << 14)
def is_plain_result(name: str) -> bool:
    """A name for a part of a model's output that is no floating point tensor (counts, indices, labels)."""
    return bool(_PLAIN_RESULT.search(name)) and not _speaks_of_loss(name)


@lru_cache(maxsize=1 << 14)
def is_reported(name: str) -> bool:
    """A name for a figure that is reported, and computed for nothing else: a metric, a count."""
    return bool(_REPORTED.search(name))


def is_layer(name: str) -> bool:
    """A name for a part of a network that holds no parameters: never the first to build a graph."""
    return bool(re.search(r"dropout|relu|activation|(?:^|_)act(?:_|$)|softmax|sigmoid|pool", name, re.IGNORECASE))


def is_text(name: str) -> bool:
    """A name for strings: paths, captions, file names."""
    return bool(_TEXT.search(name))


def is_label(name: str) -> bool:
    """A name for one number per sample."""
    return bool(re.search(r"label|target|(?:^|[._])ys?$|class", name, re.IGNORECASE))


def counts_few(name: str) -> bool:
    """A name for numbers of which there are few different ones (classes, languages, lengths): shared objects."""
    return bool(_FEW.search(name))


def is_small(name: str) -> bool:
    """A name for a container whose size does not follow the data (class names, transforms, vocabularies)."""
    return bool(_SMALL.search(name))


@_convention("dataset")
def is_dataset(name: str) -> bool:
    """A name that stands for another Dataset or reader."""
    return bool(_DATASETISH.search(name))


def updates_without_grad(base: str) -> bool:
    """A dotted name of torchmetrics, which runs `update` of what is made of its classes without gradients (1.9)."""
    return base.startswith("torchmetrics.")


def turns_grad_off(name: str) -> bool:
    """The name of a decorator or context manager of the project that speaks of inference."""
    return bool(_GRAD_OFF.search(name))


@_convention("evaluation")
def is_evaluation(name: str) -> bool:
    """The name of a function (or loader) that evaluates."""
    return bool(_EVALUATION.search(name))


def is_frozen(name: str) -> bool:
    """Names of networks, and of what is called, that say that parameters do not learn."""
    return bool(_FROZEN.search(name))


def is_for_show(name: str) -> bool:
    """Names of functions and files that make pictures of a few samples."""
    return bool(_SHOWING.search(name))


def is_small_file(text: str) -> bool:
    """Words of a file's path that say it holds class names or settings, not samples."""
    return bool(_SMALL_FILE.search(text))
