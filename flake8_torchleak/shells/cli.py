"""The command `torchleak`: its arguments, and what each of its subcommands prints and returns."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak import __version__
from flake8_torchleak.config import OPTIONS, Config, ConfigError, build, split_list

if TYPE_CHECKING:
    from flake8_torchleak.shells.run import Treatment
    from flake8_torchleak.shells.selection import Selection
    from flake8_torchleak.shells.texts import Complain

CLEAN, FOUND, ERROR = 0, 1, 2
"""Exit statuses: no finding, some findings, and something that could not be checked or done (with or without)."""

_LISTS = ("select", "extend-select", "ignore")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's) and return its exit status; argparse may exit itself."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        arguments = _parser().parse_args(argv)
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except ConfigError as error:
        _hand_back(argv)
        return _fail(str(error))
    except SystemExit as error:
        if error.code == ERROR:
            _hand_back(argv)
        raise
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough. What is left in the buffer must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except KeyboardInterrupt:
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchleak", description="Find PyTorch memory leaks without running the code.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"torchleak {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    check = commands.add_parser("check", help="report the leaks in files and folders", allow_abbrev=False)
    check.set_defaults(run=_check)
    check.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files and folders; - for stdin")
    check.add_argument("--stdin-filename", default="stdin", metavar="NAME", help="the name to show for stdin")
    check.add_argument("--select", metavar="CODES", help="report only these codes or prefixes (default: all but TLK9)")
    check.add_argument("--extend-select", metavar="CODES", help="report these codes or prefixes too")
    check.add_argument("--ignore", metavar="CODES", help="do not report these codes or prefixes")
    check.add_argument("--statistics", action="store_true", help="count the findings by code at the end")
    check.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    check.add_argument("--fix", action="store_true", help="apply the fixes that keep meaning")
    check.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: also those that may change a type or cost"
    )
    check.add_argument("--diff", action="store_true", help="show what --fix would change, and write nothing")
    check.add_argument("--no-color", action="store_true", help="no colours, not even on a terminal")
    for option in OPTIONS:
        choices = option.metavar.split("|") if "|" in option.metavar else None
        check.add_argument(
            f"--{option.name}", help=option.help, choices=choices, metavar=None if choices else option.metavar
        )

    explain = commands.add_parser("explain", help="say what a rule reports, why, and the remedy", allow_abbrev=False)
    explain.set_defaults(run=_explain)
    explain.add_argument("rule", metavar="RULE", help="a code or a name: TLK401 or accumulated-graph")

    rules = commands.add_parser("rules", help="list all rules", allow_abbrev=False)
    rules.set_defaults(run=_rules)
    rules.add_argument("--output-format", choices=("text", "json", "markdown"), default="text", help="default: text")
    return parser


def _hand_back(argv: Sequence[str]) -> None:
    """Write stdin to stdout as it is if that was to be fixed: whoever reads our output in its place loses nothing."""
    if {"--fix", "-"} <= {*argv} and "--diff" not in argv and not sys.stdin.isatty():
        sys.stdout.buffer.write(sys.stdin.buffer.read())
        sys.stdout.flush()


def _fail(text: str) -> int:
    print(f"torchleak: error: {text}", file=sys.stderr)
    return ERROR


def _check(arguments: argparse.Namespace) -> int:
    """`torchleak check`. Raises ConfigError for a setting or code that is wrong."""
    from flake8_torchleak.rule import all_rules
    from flake8_torchleak.shells.run import Checking, Output, run
    from flake8_torchleak.shells.selection import Selection, known

    settings = _settings(arguments)
    pairs = [(each.code, each.slug) for each in all_rules()]
    lists: dict[str, Iterable[str]] = {}
    for name in _LISTS:
        if name in settings:
            lists[name.replace("-", "_")] = known(name, split_list(name, settings[name]), pairs)
    if "select" in lists and not lists["select"]:
        raise ConfigError("select: name at least one code or prefix")
    config, selection = _config(settings), Selection(**lists)
    output = Output(arguments.output_format, arguments.statistics, arguments.no_color)
    treatment: Callable[[Complain], Treatment]
    if arguments.fix or arguments.diff:
        treatment = _repairing(arguments, config, selection)
    elif arguments.unsafe_fixes:
        raise ConfigError("--unsafe-fixes goes with --fix or --diff")
    else:
        treatment = partial(Checking, config, selection)
    return run(arguments.paths, arguments.stdin_filename, output, treatment)


def _repairing(arguments: argparse.Namespace, config: Config, selection: Selection) -> Callable[[Complain], Treatment]:
    """What `--fix` and `--diff` do with each file. Raises ConfigError where libcst is missing."""
    if arguments.diff and arguments.output_format == "json":
        raise ConfigError("--diff prints a diff, --output-format=json findings: choose one")
    try:
        from flake8_torchleak.shells.repair import Repairing
    except ModuleNotFoundError as error:
        raise ConfigError(f"fixing needs {error.name}: pip install 'flake8-torchleak[fix]'") from error
    to_stdout = "-" in arguments.paths
    return partial(
        Repairing, config, selection, unsafe=arguments.unsafe_fixes, diff=arguments.diff, to_stdout=to_stdout
    )


def _settings(arguments: argparse.Namespace) -> dict[str, object]:
    """All settings by name: those of the command line, and below them those of pyproject.toml."""
    from flake8_torchleak.shells.settings import load

    names = [*_LISTS, *(option.name for option in OPTIONS)]
    given = {name: getattr(arguments, name.replace("-", "_")) for name in names}
    return {**load(os.curdir, names), **{name: value for name, value in given.items() if value is not None}}


def _config(settings: dict[str, object]) -> Config:
    return build({option.name: settings.get(option.name) for option in OPTIONS})


def _explain(arguments: argparse.Namespace) -> int:
    """`torchleak explain`: the page of a rule, found by code or slug in any case."""
    from flake8_torchleak.shells.pages import page

    sys.stdout.write(page(arguments.rule))
    return CLEAN


def _rules(arguments: argparse.Namespace) -> int:
    """`torchleak rules`: what there is, for people, programs and documents."""
    from flake8_torchleak.shells.pages import listing

    sys.stdout.write(listing(arguments.output_format))
    return CLEAN
