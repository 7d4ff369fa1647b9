"""All public paths under which the installed torch and numpy give one and the same object, told by walking them.

`python -m tests.laws.spelling.paths` writes what the linter knows of them (`flake8_torchleak/model/aliases.py`).
"""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import subprocess
import sys
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, ModuleType

ROOTS = ("torch", "numpy")
LEFT_OUT = (
    "torch.ao", "torch.distributed", "torch.export", "torch.fx", "torch.jit", "torch.masked", "torch.onnx",
    "torch.package", "torch.quantization", "torch.testing", "torch.utils.benchmark", "torch.utils.tensorboard",
    "torch.utils.bottleneck", "torch.utils.hipify", "torch.utils.model_dump", "torch.utils.bundled_inputs",
    "torch.cuda.tunable", "torch.mps", "torch.xpu", "torch.mtia", "numpy.conftest", "numpy.core", "numpy.distutils",
    "numpy.f2py", "numpy.ma", "numpy.matlib", "numpy.testing", "numpy.typing", "numpy.char", "numpy.dtypes",
    "numpy.polynomial", "numpy.rec", "numpy.strings", "torch.nn.intrinsic", "torch.nn.qat", "torch.nn.quantized",
    "torch.nn.quantizable", "torch.overrides", "torch.signal", "torch.sparse", "torch.utils.data.datapipes",
    "torch.accelerator", "torch.autograd.profiler", "torch.profiler", "torch.fft", "torch.utils.weak",
)  # fmt: skip
"""Packages of no fact that the linter knows."""
FUNCTIONAL = "torch.nn.functional."


def modules() -> Iterator[ModuleType]:
    """The public modules of torch and numpy that can be imported here."""
    for root in ROOTS:
        top = importlib.import_module(root)
        yield top
        for name in _inner(top):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    importlib.import_module(name)
                except ImportError:
                    continue
            yield sys.modules[name]


def _inner(module: ModuleType) -> Iterator[str]:
    for each in pkgutil.iter_modules(getattr(module, "__path__", []), module.__name__ + "."):
        if any(part.startswith("_") or part == "tests" for part in each.name.split(".")):
            continue
        if each.name.startswith(LEFT_OUT):
            continue
        yield each.name
        if each.ispkg:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield from _inner(importlib.import_module(each.name))


@cache
def groups() -> list[list[str]]:
    """For every callable object with several public paths: these, the one first by which the linter knows it."""
    objects: dict[int, tuple[object, list[str]]] = {}
    for module in modules():
        public = set(getattr(module, "__all__", ()))
        for name, value in vars(module).items():
            if name.startswith("_") or not callable(value) or _is_foreign(value):
                continue
            home = getattr(value, "__module__", "")
            if name in public or home == module.__name__ or _speaks_for(module, value):
                objects.setdefault(id(value), (value, []))[1].append(f"{module.__name__}.{name}")
    return sorted(sorted(paths, key=_order) for _, paths in objects.values() if len(paths) > 1)


_TOPS = ("torch", "torch.nn", "torch.nn.functional", "torch.autograd", "torch.utils.data", "torch.optim", "numpy")
"""Modules that speak for others."""


def _is_foreign(value: object) -> bool:
    """Whether it is Python's own, or a type of numbers, whose names differ by machine."""
    name, home = getattr(value, "__name__", ""), getattr(value, "__module__", "") or ""
    own = getattr(builtins, name, None) is value or home.split(".")[0] not in (*ROOTS, "")
    return own or isinstance(value, ModuleType) or (home == "numpy" and isinstance(value, type))


def _speaks_for(module: ModuleType, value: object) -> bool:
    """Whether a module without a list of its names gives it to who uses it."""
    if module.__name__ == FUNCTIONAL[:-1]:
        return isinstance(value, BuiltinFunctionType)
    return module.__name__ in _TOPS


def _order(path: str) -> tuple[bool, int, bool, int, str]:
    """The documented functions of `torch.nn.functional` first, then the shortest way."""
    name = path.rpartition(".")[2]
    return not path.startswith(FUNCTIONAL), path.count("."), name in _LATER, len(path), path


_LATER = frozenset({"concat", "permute_dims", "pow", "amax", "amin"})
"""Newer names of functions that the linter knows by the older one."""


@cache
def aliases() -> dict[str, str]:
    """Every other public path -> the one by which the linter knows the object."""
    return {other: first for first, *others in groups() for other in others}


def write() -> str:
    """The text of the table."""
    rows: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    renamed = []
    for other, first in sorted(aliases().items()):
        (module, _, name), (home, _, known) = other.rpartition("."), first.rpartition(".")
        if name == known:
            rows[module][home].append(name)
        else:
            renamed.append(f'    "{other}": "{first}",')
    text = [_HEAD, "_MOVED: dict[str, dict[str, str]] = {"]
    for module, homes in rows.items():
        parts = []
        for home, names in homes.items():
            lines = textwrap.wrap(" ".join(names), 84, break_long_words=False)
            quoted = [f'"{line}"' if line is lines[-1] else f'"{line} "' for line in lines]
            parts.append(f'"{home}": {quoted[0] if len(quoted) == 1 else "(" + " ".join(quoted) + ")"}')
        text.append(f'    "{module}": {{{", ".join(parts)}}},')
    return "\n".join([*text, "}", _MOVED, "", "_RENAMED: dict[str, str] = {", *renamed, "}", _RENAMED, _TAIL])


_HEAD = '''"""Other public names of functions and classes of torch and numpy -> the one that all tables here know.

Made by `python -m tests.laws.spelling.paths` from the installed libraries, by comparing the objects themselves;
`tests/test_spelling.py` holds it against them. Nothing of it is written by hand.
"""

from __future__ import annotations
'''
_MOVED = '"""Module -> module that has the same objects under the same names -> these."""'
_RENAMED = '"""What has another name there."""'
_TAIL = '''
ALIASES: dict[str, str] = {
    f"{module}.{name}": f"{home}.{name}"
    for module, homes in _MOVED.items()
    for home, names in homes.items()
    for name in names.split()
} | _RENAMED
_HEADS = ("torch.", "numpy.")


def known_as(path: str) -> str:
    """The name by which the tables know what a dotted name stands for, or what it is a part of."""
    if not path.startswith(_HEADS):
        return path
    found = ALIASES.get(path)
    if found is not None:
        return found
    whole, _, part = path.rpartition(".")
    return f"{ALIASES[whole]}.{part}" if whole in ALIASES else path
'''


STARRED = ("torch.nn", "torch.nn.functional", "torch.optim", "torch.autograd", "torch.utils.data", "torch", "numpy")
"""Modules that are imported with a star; of the last ones, the names that others have, too, are theirs."""


def starred(name: str) -> list[str]:
    """What comes with a module's star, but for modules and what Python itself has."""
    module = importlib.import_module(name)
    public = getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]
    coming = {each: getattr(module, each, None) for each in public}
    return sorted(
        each
        for each, value in coming.items()
        if callable(value) and not each.startswith("_") and not hasattr(builtins, each) and not _is_foreign(value)
    )


def write_starred() -> str:
    """The text of the table of names that come with stars."""
    text = [_STARRED]
    for module in STARRED:
        lines = textwrap.wrap(" ".join(starred(module)), 100, break_long_words=False)
        text += [f'    "{module}": (', *(f'        "{line} "' for line in lines), "    ),"]
    return "\n".join([*text, "}", _STARRED_END])


_STARRED = '''"""What comes with `from torch.nn import *` and the like; written by `tests/laws/spelling/paths.py`."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from functools import cache

_COMING: dict[str, str] = {'''
_STARRED_END = '''"""Module -> the functions and classes that its star binds."""


@cache
def _names(module: str) -> frozenset[str]:
    return frozenset(_COMING.get(module, "").split())


def from_star(stars: Iterable[str], name: str) -> str:
    """The dotted name of what a name stands for that came with all names of one of these modules; "" if of none."""
    if hasattr(builtins, name):
        return ""
    return next((f"{star}.{name}" for star in stars if name in _names(star)), "")
'''


if __name__ == "__main__":
    folder = Path(__file__).parents[3] / "flake8_torchleak" / "model"
    for target, made in ((folder / "aliases.py", write()), (folder / "starred.py", write_starred())):
        target.write_text(made, encoding="utf-8")
        subprocess.run(["ruff", "format", str(target)], check=True, timeout=60)
