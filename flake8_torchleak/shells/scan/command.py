"""`torchleak scan`: reads the list, hands out what is not known yet, and writes the tables."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from time import monotonic

from flake8_torchleak import __version__
from flake8_torchleak.config import ConfigError
from flake8_torchleak.shells import process
from flake8_torchleak.shells.arguments import parsed
from flake8_torchleak.shells.scan.dataset import Parts, Row, needs_parquet, tables, write_tables
from flake8_torchleak.shells.scan.engines import ENGINES, Place, Task
from flake8_torchleak.shells.scan.repositories import repositories
from flake8_torchleak.shells.scan.task import check
from flake8_torchleak.wording import printable, trouble

_OWN = (
    "output_format", "output_file", "files_from", "stdin_filename", "show", "show_files", "watch", "statistics", "fix",
    "fix_only", "unsafe_fixes", "fix_baselined", "show_fixes", "add_noqa", "diff", "color", "fail_on", "exit_zero",
    "baseline",
)  # fmt: skip
"""What a scan decides itself, or must not do: it changes no checkout."""
INTERVAL = 30.0
"""Seconds between two lines that say how far the scan is."""


def scan(arguments: argparse.Namespace, settings: Callable[[argparse.Namespace], object]) -> int:
    """The exit status: 0 where every repository could be checked, whatever was found, else 2.

    settings: raises ConfigError for a setting that is wrong. So does this where the list, an argument or an extra is,
    or nothing can be written.
    """
    asked = _asked(arguments.behind, settings)
    if arguments.workers < 1 or arguments.retries < 0 or arguments.timeout <= 0:
        raise ConfigError("scan: --workers and --timeout take at least 1, --retries at least 0")
    if arguments.output_format == "parquet":
        needs_parquet()
    listed = repositories(arguments.list)
    parts = Parts(arguments.output, {"torchleak": __version__, "arguments": list(asked)})
    results: dict[str, Row] = {}
    for each in listed:
        known = parts.load(each)
        if known is not None:
            results[each.name] = known
    by_name = {each.name: each for each in listed}
    tasks = {
        each.name: Task(check, (os.path.abspath(each.path), asked, arguments.timeout))
        for each in listed
        if each.name not in results
    }
    if results:
        process.complain(f"torchleak: {len(results)} of {len(listed)} repositories are known from an earlier scan\n")
    place = Place(arguments.workers, arguments.address or "", arguments.retries)
    said = monotonic()
    failed = 0
    for name, result in ENGINES[arguments.on](tasks, place) if tasks else ():
        if isinstance(result, BaseException):
            failed += 1
            results[name] = {"failed": trouble(result).removeprefix("Failed: ")}
            process.complain(f"torchleak: error: {printable(name)}: {results[name]['failed']}\n")
        else:
            results[name] = result
            parts.save(by_name[name], result)
        if monotonic() - said >= INTERVAL:
            said = monotonic()
            process.complain(f"torchleak: {len(results)} of {len(listed)} repositories are done\n")
    found = tables((each, results[each.name]) for each in listed)
    write_tables(arguments.output, found, arguments.output_format)
    sys.stdout.write(_summary(found, failed))
    return 2 if failed else 0


def _asked(given: Sequence[str], settings: Callable[[argparse.Namespace], object]) -> tuple[str, ...]:
    """The arguments of `torchleak check` for every repository. Raises ConfigError for what a scan has no use for."""
    own = parsed(["check", ".", *given])
    plain = parsed(["check", "."])
    for name in ("paths", *_OWN):
        if getattr(own, name) != getattr(plain, name):
            raise ConfigError(
                f"scan: {'a path' if name == 'paths' else '--' + name.replace('_', '-')} behind -- is of no use"
            )
    # Checkouts come from anybody, and so do their settings: those of the scan count.
    more = f"--config={os.path.abspath(own.config)}" if own.config else "--isolated"
    own.isolated = not own.config
    settings(own)
    return (*given, more)


def _summary(found: dict[str, list[Row]], failed: int) -> str:
    lines = [f"{each['findings']:>6} {each['code']} {each['slug']}" for each in found["rules"]]
    count, hit = len(found["findings"]), sum(bool(each["findings"]) for each in found["repositories"])
    lines.append(
        f"{count} finding{'s' * (count != 1)} in {hit} of {len(found['repositories'])} repositories"
        + f", {failed} could not be checked" * bool(failed)
        + "."
    )
    return "".join(f"{line}\n" for line in lines)
