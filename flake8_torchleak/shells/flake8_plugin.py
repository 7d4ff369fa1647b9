"""The flake8 plugin. flake8 starts it for every file, so nothing but the configuration is imported up front."""

from __future__ import annotations

import argparse
import ast
import gc
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from flake8_torchleak import __version__
from flake8_torchleak.config import DEFAULT, OPTIONS, Config, ConfigError, build
from flake8_torchleak.words import may_matter

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager


class TorchLeak:
    """flake8's view of `lint`: one object per file, its findings one tuple each.

    tree and lines: flake8's own, so that unsaved text on stdin is what is checked; the file is never read again.
    filename: where the text lives, or the name that stands for stdin.
    """

    name = "flake8-torchleak"
    version = __version__
    config: ClassVar[Config] = DEFAULT
    wanted: ClassVar[Callable[[str], bool] | None] = None
    """Whether flake8 would report a code anywhere: what it drops in any case is not worth looking for."""
    gathers: ClassVar[bool] = True
    """Whether findings of one cause are one. Not where flake8 drops codes of ours in some files: it names us none."""

    def __init__(self, tree: ast.Module, lines: Sequence[str], filename: str) -> None:
        self.tree = tree
        self.lines = lines
        self.filename = filename

    def run(self) -> Iterator[tuple[int, int, str, type[TorchLeak]]]:
        """(1-based line, 0-based code-point column, "TLK101 message", type); flake8 adds one to the column."""
        text = "".join(self.lines)
        if not may_matter(text, self.config.dataset_bases):
            return
        # Imported here: importing the rules takes longer than all the rest of a plugin's start.
        from flake8_torchleak.finding import OF_CALLS, OF_PROJECT, Severity, gathered, is_told
        from flake8_torchleak.lint import lint
        from flake8_torchleak.suppress import Suppressions

        # The collector would go through all of flake8's objects again and again for those made here.
        collects = gc.isenabled()
        gc.disable()
        least = Severity(self.config.min_severity)
        try:
            findings = lint(text, self.config, self.tree, self.filename, wanted=type(self).wanted, least=least)
        finally:
            if collects:
                gc.enable()
        findings = [each for each in findings if is_told(each, least)]
        if type(self).gathers and any(each.under for each in findings):
            # What flake8 is going to drop must not take others with it.
            hides = Suppressions(text).hides
            hidden = {each for each in findings if hides(each.code, each.span.line)}
            findings = [*gathered(each for each in findings if each not in hidden), *hidden]
        for finding in findings:
            if finding.slug in (OF_CALLS, OF_PROJECT):
                continue  # in a large project it is so of many files; flake8, which has no notes, would fail
            yield finding.span.line, finding.span.col, f"{finding.code} {finding.message}", type(self)

    @classmethod
    def add_options(cls, manager: OptionManager) -> None:
        """Register the options and switch the opinionated rules off, as `extend-default-ignore` does.

        Raises flake8's ExecutionError when another plugin has taken one of the names.
        """
        manager.extend_default_ignore(["TLK9"])
        for option in OPTIONS:
            choice = "|" in option.metavar
            try:
                # No `type=int` for counts: flake8 would meet a bad value in an ini file with a traceback.
                manager.add_option(
                    f"--{option.name}",
                    parse_from_config=True,
                    comma_separated_list=option.metavar == "NAMES",
                    default=getattr(DEFAULT, option.field),
                    help=f"torchleak: {option.help}",
                    **({"choices": option.metavar.split("|")} if choice else {"metavar": option.metavar}),
                )
            except argparse.ArgumentError as error:
                raise _execution_error(f"another plugin has an option of the same name: {error}") from error

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Keep the configuration for this run. Raises flake8's ExecutionError, one line, for a value that is wrong."""
        try:
            cls.config = build({option.name: getattr(options, option.field) for option in OPTIONS})
        except ConfigError as error:
            raise _execution_error(str(error)) from error
        cls.gathers = not re.search(r"\bT(?:L|LK)?[0-9]*\b", str(getattr(options, "per_file_ignores", "")))
        from flake8.style_guide import Decision, DecisionEngine

        engine = DecisionEngine(options)
        cls.wanted = lru_cache(maxsize=None)(lambda code: engine.decision_for(code) is Decision.Selected)


def _execution_error(text: str) -> Exception:
    """The exception that flake8 prints without a traceback."""
    from flake8.exceptions import ExecutionError

    error: Exception = ExecutionError(f"flake8-torchleak: {text}")
    return error
