"""The one configuration object that the model and the rules read; every shell fills the same fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class ConfigError(ValueError):
    """A setting that cannot be used; the message is one line for the user and names the setting."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a user can tell the analysis that the source does not say.

    dataset_bases: further base classes (last or dotted name) that make a class a Dataset.
    no_grad_decorators: further decorators and context managers that switch gradients off.
    loss_names: further names of callables that compute a loss.
    safe_meters: classes or variables whose `update` does not keep what it is given.
    cv2_guard_modules: modules that call `cv2.setNumThreads(0)` when imported.
    min_literal: a literal with at least this many elements counts as growing with the data.
    assume_workers: what to believe where num_workers cannot be seen: "auto", "yes" or "no".
        "auto" takes a loader that is built in the file at its word and assumes workers elsewhere;
        "yes" assumes workers everywhere, "no" only where they are seen.
    follow_imports: "yes" reads other modules of the project for base classes, decorators, meters and helpers.
    min_severity: findings below it are left out by the shells (`finding.is_told`); `lint` gives them all.
    """

    dataset_bases: tuple[str, ...] = ()
    no_grad_decorators: tuple[str, ...] = ()
    loss_names: tuple[str, ...] = ()
    safe_meters: tuple[str, ...] = ()
    cv2_guard_modules: tuple[str, ...] = ()
    min_literal: int = 1000
    assume_workers: str = "auto"
    follow_imports: str = "yes"
    min_severity: str = "warning"


DEFAULT = Config()


def did_you_mean(name: str, names: Mapping[str, str]) -> str:
    """What to add to an error about `name`: what the nearest of `names` stands for; empty if none is near."""
    # Only here: few runs go wrong.
    import difflib

    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {names[close[0]]}?" if close else ""


class Option(NamedTuple):
    """One setting as users meet it: the same name in every configuration file and on every command line.

    metavar: NAMES for a list of dotted names, COUNT for a positive integer, else the choices joined by "|". The
    command has settings of further kinds (`shells/settings.py`).
    """

    name: str
    metavar: str
    help: str

    @property
    def field(self) -> str:
        """The field of Config that this option fills."""
        return self.name.replace("-", "_")


OPTIONS = (
    Option("dataset-bases", "NAMES", "more base classes that make a class a Dataset, such as mylib.data.BaseSet"),
    Option("no-grad-decorators", "NAMES", "more decorators or context managers that turn gradients off"),
    Option("loss-names", "NAMES", "more functions or modules whose result is a loss with an autograd graph"),
    Option("safe-meters", "NAMES", "meters whose update() does not keep the tensor passed to it"),
    Option("cv2-guard-modules", "NAMES", "modules that call cv2.setNumThreads(0) when imported"),
    Option("min-literal", "COUNT", "literals with at least COUNT elements count as data (default: 1000)"),
    Option("assume-workers", "auto|yes|no", "whether DataLoaders have workers where the file does not show it"),
    Option(
        "follow-imports", "yes|no", "whether to read other modules of the project for base classes, decorators, meters"
    ),
    Option("min-severity", "error|warning|note", "report findings of this severity or worse (default: warning)"),
)


def build(values: Mapping[str, object]) -> Config:
    """The Config for `values`, keyed by option or field name; None and absent keys keep their default.

    A list may be a sequence of names or one string separated by commas or white space; a count may be a string.
    Raises ConfigError for a value that does not fit, among them a TOML list written into an ini file.
    """
    fields: dict[str, object] = {}
    for option in OPTIONS:
        value = values.get(option.name, values.get(option.field))
        if value is not None:
            fields[option.field] = _READ.get(option.metavar, _choice)(option, value)
    return Config(**fields)  # type: ignore[arg-type]


def split_list(name: str, value: object) -> list[str]:
    """The items of the list setting `name`: a string cut at commas and white space, or a sequence of strings as it is.

    Raises ConfigError for anything else.
    """
    if isinstance(value, str):
        return [item for item in re.split(r"[,\s]+", value) if item]
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    raise ConfigError(f"{name}: expected a list of strings, not {value!r}")


def _names(option: Option, value: object) -> tuple[str, ...]:
    items = split_list(option.name, value)
    for item in items:
        if not all(part.isidentifier() for part in item.split(".")):
            # The usual cause is `["a", "b"]` in an ini file: taken as it stands it would match nothing, silently.
            raise ConfigError(
                f"{option.name}: {item!r} is not a name; in an ini file and on the command line a list is written"
                f" without brackets and quotes: {option.name} = first, second"
            )
    return tuple(items)


def _count(option: Option, value: object) -> int:
    text = "" if isinstance(value, bool) else str(value).strip()
    # Python refuses to read numbers of thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) > 0):
        raise ConfigError(f"{option.name}: expected a positive whole number, not {value!r}")
    return int(text)


def _choice(option: Option, value: object) -> str:
    choices = option.metavar.split("|")
    if value not in choices:
        raise ConfigError(f"{option.name}: expected one of {', '.join(choices)}, not {value!r}")
    return str(value)


_READ = {"NAMES": _names, "COUNT": _count}
