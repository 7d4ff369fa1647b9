"""The command line of `torchleak`: its subcommands and what each takes."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from flake8_torchleak import __version__
from flake8_torchleak.config import Option, did_you_mean
from flake8_torchleak.finding import Severity
from flake8_torchleak.shells.formats import FORMATS
from flake8_torchleak.wording import printable

SEVERITIES = tuple(each.value for each in Severity)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as all of the command does.

    late: adds what is needed only if it is run; commands: those of which it takes one, by name, the usual one first.
    """

    late: Callable[[], None] | None = None
    commands: Mapping[str, _Parser] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.complete()
        if self.commands is not None:
            self._ask_for_a_command(self.commands, list(args))
        return super().parse_known_args(args, namespace)

    def complete(self) -> None:
        """Add what is added late, once."""
        late, self.late = self.late, None
        if late:
            late()

    def _ask_for_a_command(self, commands: Mapping[str, _Parser], args: list[str]) -> None:
        """Say what there is, unless `args` name one of the commands, or ask for something else."""
        named = next((each for each in args if not each.startswith("-")), None)
        if named in commands or {"-h", "--help", "--version"} & set(args):
            return
        usual, listed = f"{self.prog} {next(iter(commands))}", ", ".join(commands)
        if named is None:
            self.error(f"name a command: {listed}; `{usual} .` is the usual one, `{self.prog} --help` tells more")
        if os.path.exists(named):
            self.error(f"{named!r} is no command; did you mean `{usual} {named}`?")
        near = did_you_mean(named, {each: f"`{self.prog} {each}`" for each in commands})
        self.error(f"there is no command {named!r}{near or f'; there are {listed}'}")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"torchleak: error: {printable(message)}\n")


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments; `command` is the subcommand. Exits with 2 and one line on stderr where something is wrong."""
    arguments: argparse.Namespace
    own, behind = list(argv), []
    if own[:1] == ["scan"] and "--" in own:
        at = own.index("--")
        own, behind = own[:at], own[at + 1 :]
    arguments, unknown = _parser().parse_known_args(own, argparse.Namespace(behind=behind))
    if unknown:
        name = unknown[0].partition("=")[0]
        known = {each: f"--{each}" for each in re.findall(r"--([a-z0-9-]+)", arguments.parser.format_help())}
        arguments.parser.error(f"there is no argument {name}{did_you_mean(name.lstrip('-'), known)}")
    return arguments


def _parser() -> _Parser:
    parser = _Parser(
        prog="torchleak", description="Find PyTorch memory leaks without running the code.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"torchleak {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    parser.commands = commands.choices

    check = _command(commands, "check", "report the leaks in files and folders")
    _paths(check)
    check.add_argument("--statistics", action="store_true", help="count the findings of each code, at the end")
    check.add_argument(
        "--show", type=int, metavar="N", help="show at most N findings, of different rules; the summary counts all"
    )
    check.add_argument(
        "--files-from", metavar="FILE", help="check the files listed in FILE, one per line (- for stdin)"
    )
    check.add_argument("--show-files", action="store_true", help="list the files that would be checked, and exit")
    check.add_argument("--quiet", "-q", action="store_true", help="print only findings and errors")
    check.add_argument("--watch", action="store_true", help="check again when a file changes, until Ctrl-C")
    check.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    check.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        help="exit with 1 only for findings of this severity or worse (default: any finding)",
    )
    check.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    check.add_argument("--output-file", metavar="FILE", help="write the report to FILE, and only the summary here")
    check.add_argument("--fix", action="store_true", help="apply the safe fixes: they do not change what the code does")
    check.add_argument("--fix-only", action="store_true", help="as --fix, but do not report the findings that remain")
    check.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: also fixes that may change a type, timing or cost",
    )
    check.add_argument(
        "--fix-baselined", action="store_true", help="with --fix or --diff: also fix findings of the baseline"
    )
    check.add_argument("--show-fixes", action="store_true", help="with --fix or --diff: list what is fixed, by file")
    check.add_argument("--ignore-noqa", action="store_true", help="also report what `# noqa` comments hide")
    check.add_argument("--add-noqa", action="store_true", help="add a `# noqa` comment to every current finding")
    check.add_argument(
        "--diff", action="store_true", help="show what --fix or --add-noqa would change, without writing it"
    )
    check.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to use colours (default: auto, on terminals)",
    )
    check.add_argument("-j", "--jobs", type=int, metavar="N", help="number of processes (default: one per core)")
    check.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    _cache_dir(check)
    check.add_argument("--no-color", dest="color", action="store_const", const="never", help="as --color=never")
    _settings(check)

    baseline = _command(commands, "baseline", "record the current findings, so that only new ones are reported")
    actions = baseline.add_subparsers(metavar="ACTION")
    baseline.commands = actions.choices
    write = _command(actions, "write", "write the baseline, or renew it")
    _paths(write)
    _settings(write, "--output")
    prune = _command(actions, "prune", "remove from the baseline what is no longer in the code")
    _paths(prune)
    _settings(prune)

    cache = _command(commands, "cache", "manage the cache of earlier findings")
    actions = cache.add_subparsers(metavar="ACTION")
    cache.commands = actions.choices
    clear = _command(actions, "clear", "delete the cache")
    _cache_dir(clear)
    _settings(clear)

    config = _command(commands, "config", "show the settings in use, and where each comes from")
    config.add_argument(
        "--output-format",
        choices=("text", "json", "schema"),
        default="text",
        help="default: text; schema: a JSON Schema of all settings, for editors",
    )
    _settings(config)

    explain = _command(commands, "explain", "explain a rule: what it reports, why, and how to fix it")
    explain.add_argument("rule", metavar="RULE", help="code or name of the rule: TLK401 or accumulated-graph")

    rules = _command(commands, "rules", "list all rules")
    rules.add_argument("--output-format", choices=("text", "json", "markdown"), default="text", help="default: text")
    _run(commands)
    _scan(commands)
    server = _command(commands, "server", "run the language server (LSP) for editors, on stdin and stdout")
    server.add_argument("--stdio", action="store_true", help="use stdin and stdout: the default, and the only way")

    completion = _command(commands, "completion", "print a script for your shell that completes this command")
    completion.add_argument("shell", metavar="SHELL", help="bash, zsh, fish, tcsh or powershell")
    return parser


def complete() -> _Parser:
    """The parser with every argument of every command: others add theirs when they are run."""
    parser = _parser()
    waiting: list[_Parser] = [parser]
    while waiting:
        each = waiting.pop()
        each.complete()
        waiting += (each.commands or {}).values()
    return parser


def _run(commands: argparse._SubParsersAction[_Parser]) -> None:
    """`torchleak run`: what follows the program's name is the program's."""
    run = _command(commands, "run", "run a training program, and report the memory it keeps from step to step")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT ...]", help="a script")
    run.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as in python -m")
    limit = run.add_mutually_exclusive_group()
    limit.add_argument("--steps", type=int, metavar="N", help="stop after N steps (default: 200, or two epochs)")
    limit.add_argument("--until-exit", action="store_true", help="let the program run to its end")
    run.add_argument("--light", action="store_true", help="run faster: do not record where kept values were made")
    run.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    run.add_argument("--output-file", metavar="FILE", help="write the report to FILE")
    run.add_argument("--html", metavar="FILE", help="also write a page with plots of memory by holder and step")
    _settings(run)


def _scan(commands: argparse._SubParsersAction[_Parser]) -> None:
    """`torchleak scan`: what follows the list is of `torchleak check`."""
    scan = _command(commands, "scan", "check many repositories, and write the findings as tables")
    scan.usage = "torchleak scan REPOS.txt --output FOLDER [OPTION ...] [-- ARGUMENT OF torchleak check ...]"
    scan.add_argument("list", metavar="REPOS.txt", help="one folder per line, or a name, a tab and a folder")
    scan.add_argument(
        "--output", metavar="FOLDER", required=True, help="folder for the tables, and for resuming an interrupted scan"
    )
    scan.add_argument("--on", choices=("local", "dask", "ray"), default="local", help="where to run (default: local)")
    scan.add_argument("--address", metavar="ADDRESS", help="address of a Dask or Ray cluster (default: start one)")
    scan.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes (default: one per core)",
    )
    scan.add_argument("--retries", type=int, default=2, metavar="N", help="attempts after a failed one (default: 2)")
    scan.add_argument(
        "--timeout", type=float, default=600, metavar="SECONDS", help="time limit per repository (default: 600)"
    )
    scan.add_argument("--output-format", choices=("jsonl", "parquet"), default="jsonl", help="default: jsonl")


def _command(commands: argparse._SubParsersAction[_Parser], name: str, text: str) -> _Parser:
    command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    command.set_defaults(command=name, parser=command)
    return command


def _cache_dir(command: _Parser) -> None:
    command.add_argument(
        "--cache-dir", metavar="DIR", help="folder of the cache (default: .torchleak_cache beside the settings)"
    )


def _paths(command: _Parser) -> None:
    command.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files and folders; - for stdin")
    command.add_argument("--stdin-filename", default="stdin", metavar="NAME", help="file name to show for stdin")


def _settings(command: _Parser, *names: str) -> None:
    """The settings, each by its own name. names: further ones for the baseline."""
    command.late = partial(_add_settings, command, names)


def _add_settings(command: _Parser, names: tuple[str, ...]) -> None:
    # Only here: that is a hundred arguments if every subcommand has its own, and some need none.
    from flake8_torchleak.shells.settings import SETTINGS

    group = command.add_argument_group("settings, also possible in pyproject.toml")
    files = group.add_mutually_exclusive_group()
    files.add_argument("--config", metavar="FILE", help="read settings from FILE, not from the nearest pyproject.toml")
    files.add_argument("--isolated", action="store_true", help="read no settings file")
    for option in SETTINGS:
        flags = [f"--{option.name}", *names * (option.name == "baseline")]
        group.add_argument(*flags, dest=option.field, help=option.help, **_kind(option))


def _kind(option: Option) -> dict[str, Any]:
    """How argparse is to read a setting."""
    from flake8_torchleak.shells.settings import repeatable

    if option.metavar == "FLAG":
        return {"action": argparse.BooleanOptionalAction}
    if "|" in option.metavar:
        return {"choices": option.metavar.split("|")}
    return {"metavar": option.metavar, "action": "append" if repeatable(option) else "store"}
