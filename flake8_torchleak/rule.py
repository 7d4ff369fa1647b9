"""What a rule is, and how rules are found.

A rule is a module `rules/tlkNNN_slug.py` whose docstring is its page and whose `check` function is
decorated with `@rule(...)`. Adding that file (and its fixtures) is all it takes: `all_rules` walks the folder.
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Finding, Fix, FixLevel, Note, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.lifetime.refusing import failing
from flake8_torchleak.model.failing import fails
from flake8_torchleak.model.leftover import is_left_over
from flake8_torchleak.model.missing import is_broken
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.replaced import is_replaced
from flake8_torchleak.model.shelved import shelf
from flake8_torchleak.model.uncalled import is_uncalled
from flake8_torchleak.model.unused import unused
from flake8_torchleak.words import holds_any

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Place = ast.AST
"""Any node with a position; `Rule.finding` turns it into a Span."""
Shape = Callable[[Outline], bool]
"""Whether a rule can find anything, by the statements of a module: told before the tree is indexed."""
Prospect = Callable[[str], bool]
"""The same by the text alone, told before it is parsed."""
Telling = Callable[[Outline, "Module"], bool]
"""Whether it may find more than notes: by the statements, or by what following the calls shows."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule's contract and its check.

    subject: what a file must contain for the rule to find anything (the gate); words: and one of these, if there are
    any, as plain text; beside: and one of these as well; prospect: and a text like this; shape: and statements of
    this form.
    apart: a text in which the rule may find more than what following the calls shows to be kept; None: it always may.
    telling: what must hold where nobody wants notes. elsewhere: what other files define may show what is more than a
    note, of a rule whose subject does not say so.
    local: what other files of the project define cannot change what it finds. fix: of what kind most of its fixes are;
    also: a second kind, where there is one.
    default: False for opinionated rules, which users opt into.
    """

    code: str
    slug: str
    fix: FixLevel
    severity: Severity
    subject: Subject
    check: Callable[[Module], Iterator[Report]]
    words: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    local: bool = False
    shape: Shape | None = None
    also: FixLevel | None = None
    prospect: Prospect | None = None
    apart: Prospect | None = None
    telling: Telling | None = None
    elsewhere: bool = False

    @property
    def has_words(self) -> bool:
        """Whether plain words, more than the name of PyTorch, tell where the rule may find something."""
        return bool(self.words) or self.subject is not Subject.TORCH

    def may_find(self, text: str) -> bool:
        """Whether the rule's own words stand in a text."""
        return all(not words or holds_any(text, words) for words in (self.words, self.beside))

    def may_find_unparsed(self, text: str) -> bool:
        """Whether they do, and the text lets the rule's look at statements expect anything."""
        return self.may_find(text) and (self.prospect is None or self.prospect(text))

    def may_find_in(self, outline: Outline) -> bool:
        """Whether they do, and the rule's own look at statements lets the module through."""
        return self.may_find(outline.text) and (self.shape is None or self.shape(outline))

    def may_find_apart(self, text: str) -> bool:
        """Whether it may find anything where following the calls shows nothing to be kept."""
        return self.apart is None or self.apart(text)

    def may_tell(self, outline: Outline, module: Module) -> bool:
        """Whether it may find what somebody wants to be told of."""
        return module.notes or self.telling is None or self.telling(outline, module)

    @property
    def default(self) -> bool:
        """Whether the rule is on unless asked otherwise: TLK9xx are opinionated and off."""
        return not self.code.startswith("TLK9")

    @property
    def page(self) -> str:
        """The rule's documentation: the docstring of its module."""
        return (sys.modules[self.check.__module__].__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """The page's first line without its slug: its row in every list of rules."""
        return self.page.partition("\n")[0].partition(": ")[2]

    @property
    def levels(self) -> tuple[FixLevel, ...]:
        """The kinds of fixes that its findings can have, the usual one first; HINT where most, or all, have none.

        The site, `rules`, `explain` and JSON say this and nothing else, and fixers make no others.
        """
        return (self.fix,) if self.also is None else (self.fix, self.also)

    @property
    def fixer(self) -> Fixer | None:
        """The rule's `fix(report, build)`: what could be applied, the best first. HINT rules have none."""
        found: Fixer | None = getattr(sys.modules[self.check.__module__], "fix", None)
        return found

    def finding(self, report: Report, module: Module, fixes: bool = False) -> Finding:
        """The Finding for what `check` yielded, its nodes turned into spans, with its fixes if they are asked for."""
        found: tuple[Fix, ...] = ()
        unfixed = ""
        if fixes and self.fixer is not None:
            try:
                found = tuple(self.fixer(report, Builder(module)))
            except Unfixable as reason:
                unfixed = str(reason)
        severity, why = self._severity(report, module)
        return Finding(
            code=self.code,
            slug=self.slug,
            message=report.message,
            span=module.span(report.node),
            severity=severity,
            fix=self.fix,
            notes=tuple(self._note(node, text, module) for node, text in report.notes),
            fixes=found,
            remedy=report.remedy,
            unfixed=unfixed,
            reason="; ".join(why),
            under=(report.under[0], module.span(report.under[1])) if report.under is not None else None,
        )

    def _severity(self, report: Report, module: Module) -> tuple[Severity, list[str]]:
        """What the report says, and why it is a note, if it is one.

        A note at most in tests, which are short, and in code that nothing runs, or can run.
        """
        severity = report.severity or self.severity
        why = [report.why] if report.why and severity is Severity.NOTE else []
        if module.is_test:
            why.append("in a test, whose loops are short")
        elif is_broken(module):
            why.append("what the module imports of its own project is not there")
        elif fails(module, report.node, _failing):
            why.append("the code around it fails")
        elif is_replaced(module, report.node):
            why.append("another definition takes the name of what it is in")
        elif severity is not Severity.NOTE and (is_left_over(module, report.node) or is_uncalled(module, report.node)):
            why.append("nothing in the project runs it, as far as names tell")
        elif severity is not Severity.NOTE and (folder := shelf(module)):
            why.append(f"by the name of its folder, `{folder}`, it is not in use, or another project's")
        elif why and (reason := unused(module, report.node)):
            why.append(reason)
        else:
            return severity, why
        return Severity.NOTE, why

    @staticmethod
    def _note(node: ast.AST, text: str, module: Module) -> Note:
        home = module.home(node)
        return Note(module.span(node, home), text, os.path.relpath(home.path) if home is not None else "")


def _failing(module: Module) -> frozenset[ast.AST]:
    """The calls of a module that fail, as its program is followed."""
    return failing(followed(module).run.seen)


@dataclass(frozen=True, slots=True)
class Report:
    """What a check yields: the node, the message, its evidence, and where it differs from the rule's defaults.

    target: the expression (or container, ...) that the rule's `fix` is about; remedy: advice beyond the message;
    under: code and node of the finding of the same cause that says it better, if there is one at that node;
    why: what makes it a note and no more, if it is one, in words that go on from "only a note: ".
    """

    node: Place
    message: str
    notes: tuple[tuple[Place, str], ...] = ()
    severity: Severity | None = None
    target: object = None
    remedy: str = ""
    under: tuple[str, Place] | None = None
    why: str = ""


Fixer = Callable[[Report, Builder], Iterable[Fix]]

_found: dict[str, Rule] = {}


def never(_text: str) -> bool:
    """For `apart`: a rule that tells of nothing but what following the calls shows to be kept."""
    return False


def rule(
    code: str,
    slug: str,
    *,
    fix: FixLevel,
    severity: Severity,
    subject: Subject,
    words: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
    local: bool = False,
    shape: Shape | None = None,
    also: FixLevel | None = None,
    prospect: Prospect | None = None,
    apart: Prospect | None = None,
    telling: Telling | None = None,
    elsewhere: bool = False,
) -> Callable[[Callable[[Module], Iterator[Report]]], Callable[[Module], Iterator[Report]]]:
    """Register the decorated `check(module) -> Iterator[Report]` as the rule `code`."""

    def register(check: Callable[[Module], Iterator[Report]]) -> Callable[[Module], Iterator[Report]]:
        _found[code] = Rule(
            code,
            slug,
            fix,
            severity,
            subject,
            check,
            words,
            beside,
            local,
            shape,
            also,
            prospect,
            apart,
            telling,
            elsewhere,
        )
        return check

    return register


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule in `flake8_torchleak/rules`, by code."""
    from flake8_torchleak import rules

    for info in pkgutil.iter_modules(rules.__path__, rules.__name__ + "."):
        importlib.import_module(info.name)
    return tuple(_found[code] for code in sorted(_found))


def rule_table() -> str:
    """The rules as a Markdown table, for other documents."""
    rows = ["| code | name | finds | default | fix |", "|---|---|---|---|---|"]
    for each in all_rules():
        on = "on" if each.default else "off"
        fix = ", or ".join(each.levels)
        rows.append(f"| {each.code} | {each.slug} | {each.summary} | {on} | {fix} |")
    return "\n".join(rows)
