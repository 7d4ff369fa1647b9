"""How files come to their findings, by the arguments of `torchleak check`: the cache, and how many processes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flake8_torchleak.config import Config, ConfigError

if TYPE_CHECKING:
    from flake8_torchleak.shells.look import Look
    from flake8_torchleak.shells.settings import Setting


def look(arguments: argparse.Namespace, config: Config, settings: Mapping[str, Setting]) -> Look:
    """How files come to their findings: by what earlier runs kept, too, if there is a place for it."""
    from flake8_torchleak.shells.formats import WITH_CONVENTIONS
    from flake8_torchleak.shells.look import Look, Remembering

    conventions = arguments.output_format in WITH_CONVENTIONS
    place = "" if arguments.no_cache else cache(arguments, settings)
    jobs = _jobs(arguments.jobs)
    if not place and jobs == 1:
        return Look(config, conventions)
    from flake8_torchleak.shells.cache.store import Store

    return Remembering(config, Store(place, f"{conventions} {config!r}"), conventions, jobs)


def _jobs(given: int | None) -> int:
    """How many processes lint: as many as there are cores for us, unless told. Raises ConfigError for none."""
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if given < 1:
        raise ConfigError(f"--jobs takes a number, not {given}")
    return given


def cache(arguments: argparse.Namespace, settings: Mapping[str, Setting]) -> str:
    """The folder in which findings are kept; "" for none."""
    from flake8_torchleak.shells.cache.folder import beside

    if arguments.cache_dir is not None:
        return os.path.abspath(str(arguments.cache_dir))
    origins = (each for setting in settings.values() for each in setting.origins)
    return beside("" if arguments.config else next((each for each in origins if os.path.isabs(each)), ""))
