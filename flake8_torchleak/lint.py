"""`lint`: text in, findings out. The only loop over rules.

It prints nothing, keeps no state, writes no file and never imports or runs the linted code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import BOUND, OF_CALLS, OF_PROJECT, Finding, FixLevel, Severity, Span
from flake8_torchleak.gate import Subject, by_statements, by_words, by_words_of_loops, imports_pytorch
from flake8_torchleak.lifetime.follow import followed, forget
from flake8_torchleak.model.bounds import BEYOND, UNFOLLOWED, unfinished
from flake8_torchleak.model.missing import is_broken
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.otherfiles import others_may_evaluate, others_may_tell
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.shelved import shelf
from flake8_torchleak.rule import Rule, all_rules
from flake8_torchleak.source import Source, must_parse, parse
from flake8_torchleak.stopping import pause
from flake8_torchleak.wording import trouble


@dataclass
class Early:
    """For who waits for findings of a text that is linted again and again: they are told before they are certain.

    A module is looked at alone first, and again with what it asked of other files; what is found the last time counts.
    Most edits lead to the same questions as before: so that last look is taken first, and told; then the others show
    whether it is the last one indeed. What `lint` gives in the end is what it gives without this.
    """

    tell: Callable[[list[Finding]], None]
    wanted: dict[str, None] = field(default_factory=dict)
    """What was looked up in other files the last time, and then what was this time."""


@dataclass
class _Guess:
    """What the rules find in a module with all this looked up, if that is all that they ask for."""

    wanted: list[str]
    found: set[Finding]
    left: list[Finding]


reraise = False
"""Set by the test suite: an exception in a rule is raised instead of reported as TLK000."""


def lint(
    source: str,
    config: Config = DEFAULT,
    tree: ast.Module | None = None,
    path: str | None = None,
    fixes: bool = False,
    wanted: Callable[[str], bool] | None = None,
    parsing: Callable[[str], ast.Module] = parse,
    early: Early | None = None,
    least: Severity = Severity.NOTE,
) -> list[Finding]:
    """Findings of all rules (opinionated ones too) in `source`, in order of place.

    tree: an `ast.parse` of the same text, if the caller has one (flake8 does); else it is parsed here.
    path: where the text lives, if known. It is not read; other modules of its project are, where a question needs it.
    fixes: work out the edits that would end each leak, too.
    wanted: which codes are worth the work (default: all).
    parsing: how the text is parsed if there is no tree, for who parses one text again and again.
    early: told what is found as soon as that is likely.
    least: findings below it may be left out, where that saves the work: whatever is found in a test is a note.
    Raises SyntaxError, and nothing else, when `tree` is not given and the text does not parse, if a rule's words stand
    in it or it imports PyTorch. Of other texts those that do not parse hold nothing. What was stopped raises Stopped.
    """
    try:
        return _linted(source, config, tree, path, fixes, wanted, parsing, early, least)
    except SyntaxError:
        raise
    except Exception as error:
        return [_internal("internal error", error)]


def _linted(
    source: str,
    config: Config,
    tree: ast.Module | None,
    path: str | None,
    fixes: bool,
    wanted: Callable[[str], bool] | None,
    parsing: Callable[[str], ast.Module],
    early: Early | None,
    least: Severity,
) -> list[Finding]:
    subjects = by_words(source, config.dataset_bases)
    if not subjects:
        return []
    rules = [each for each in _asked(wanted) if each.subject in subjects]
    if tree is None:
        subjects = by_words_of_loops(subjects, source)
        rules = [each for each in rules if each.subject in subjects and each.may_find_unparsed(source)]
        tree = _parsed(source, rules, parsing)
        if tree is None:
            return []
    # Statements cost less than many words: what they rule out is not looked for.
    outline = Outline(tree, source, least is Severity.NOTE)
    subjects = by_statements(frozenset(each.subject for each in rules), outline, config.dataset_bases)
    rules = [each for each in rules if each.subject in subjects and each.may_find_in(outline)]
    if not rules:
        return []
    module = Module(Source(source), tree, config, path, notes=least is Severity.NOTE)
    if not module.notes and module.tests_by(outline.packages):
        rules = [each for each in rules if not each.default]  # who selects the others asks for their notes
        if not rules:
            return []
    if not module.notes and (shelf(module) or is_broken(module)):  # whatever is found there is a note
        return []
    try:
        rules = [each for each in rules if each.may_tell(outline, module)]
        if not any(each.may_find_apart(source) for each in rules) and not _keeps_anything(module):
            return []

        def in_order(found: Iterable[Finding]) -> list[Finding]:
            return sorted((each for each in found if wanted is None or wanted(each.code)), key=Finding.sort_key)

        return in_order(_found(rules, module, fixes, early, in_order))
    finally:
        forget(module)


def _keeps_anything(module: Module) -> bool:
    """Whether following the calls, which needs no index of the module, shows anything kept, or anything left out."""
    return bool(followed(module).kept) or any(map(module.shared.get, (UNFOLLOWED, BEYOND)))


def _parsed(source: str, rules: list[Rule], parsing: Callable[[str], ast.Module]) -> ast.Module | None:
    """The tree of a text; None for one that need not be parsed, or does not parse and only mentions PyTorch.

    Raises SyntaxError for other texts: a file that is broken would look like one that is clean.
    """
    if not rules:
        if imports_pytorch(source):
            must_parse(source)
        return None
    try:
        return parsing(source)
    except SyntaxError:
        if imports_pytorch(source) or any(each.has_words for each in rules):
            raise
        return None


def _asked(wanted: Callable[[str], bool] | None) -> list[Rule]:
    """The rules to run for those codes that are wanted.

    What one rule asks of other files helps the next: of those that are on by default, all run or none.
    """
    rules = all_rules()
    if wanted is None:
        return list(rules)
    any_default = any(each.default and wanted(each.code) for each in rules)
    return [each for each in rules if wanted(each.code) or (any_default and each.default and not each.local)]


def _found(
    rules: list[Rule],
    module: Module,
    fixes: bool,
    early: Early | None,
    in_order: Callable[[Iterable[Finding]], list[Finding]],
) -> set[Finding]:
    """What the rules find.

    Local ones look at the module alone. The others do first, and then with the definitions in other files that they
    asked for; those that are off by default ask for themselves, so that who selects them changes nothing else.
    """
    try:
        found = {f for each in rules if each.local for f in _guarded(each, module, fixes)}
        left = _unfinished(module)
        both = ([each for each in rules if not each.local and each.default is default] for default in (True, False))
        groups = list(filter(None, both))
        if len(groups) > 1:
            early = None
        guess = _guessed(groups[0], module, fixes, early) if groups and early is not None else None
        if guess is not None and early is not None:
            early.tell(in_order(found | guess.found | _once(left + guess.left)))
        for at, group in enumerate(groups):
            if at:
                module = module.knowing({})
            found |= _asking(group, module, fixes, left, early, guess)
    finally:
        module.forget()
    return found | _once(left)


def _once(left: list[Finding]) -> set[Finding]:
    """That a file was not analysed in full is said once."""
    return set(sorted(left, key=lambda each: each.slug in (OF_CALLS, OF_PROJECT))[:1])


def _unfinished(module: Module) -> list[Finding]:
    """That the module was not analysed in full, if it was not."""
    left = unfinished(module)
    if left is None:
        return []
    node, message, slug = left
    return [Finding(BOUND, slug, message, module.span(node), Severity.NOTE, FixLevel.HINT)]


def _guessed(rules: list[Rule], module: Module, fixes: bool, early: Early) -> _Guess | None:
    """What the rules find last if they ask for what they asked for the last time; None if they ask for more."""
    if not early.wanted:
        return None
    knowing = module.knowing(early.wanted)
    try:
        if not knowing.has_found:
            return None
        found = {f for rule in rules for f in _guarded(rule, knowing, fixes)}
        early.wanted = {**early.wanted, **knowing.asked}
        if len(early.wanted) > len(knowing.wanted):
            return None
        return _Guess(list(knowing.wanted), found, _unfinished(knowing))
    finally:
        knowing.forget()


def _asking(
    rules: list[Rule], module: Module, fixes: bool, left: list[Finding], early: Early | None, guess: _Guess | None
) -> set[Finding]:
    """What the rules find in the module, alone and with what they asked for; to `left` goes what was not analysed."""
    found: set[Finding] = set()
    guessed: list[Finding] = []
    rounds: list[Module] = []
    looked_at: list[Module] = []
    try:
        for each in module.rounds():
            rounds.append(each)
            if guess is not None and list(each.wanted) == guess.wanted:
                found, guessed = guess.found, guess.left
                break
            looked_at.append(each)
            found = {f for rule in rules for f in _guarded(rule, each, fixes)}
            if not found and each is module:
                rules = _go_on(rules, module)
            if not rules:
                break
        left += [*(unfinished for each in looked_at for unfinished in _unfinished(each)), *guessed]
        if early is not None:
            early.wanted = dict(rounds[-1].wanted)
    finally:
        for each in rounds:
            each.forget()
    return found


def _go_on(rules: list[Rule], module: Module) -> list[Rule]:
    """The rules that other files are asked for where the module shows nothing by itself: not to unsay a finding.

    None in tests, whose loops are short. Where nobody is told of notes, evaluations by a method of a class that is in
    another file, those about Datasets for what these may hold of other files, and those that say so of themselves: of
    loops the calls are followed into other files in any case.
    """
    if module.is_test:
        return []
    if module.notes:
        return rules
    subjects = {Subject.DATASET} if others_may_tell(module) else set()
    if any(each.subject is Subject.EVALUATION for each in rules) and others_may_evaluate(module):
        subjects.add(Subject.EVALUATION)
    return [each for each in rules if each.subject in subjects or each.elsewhere]


def _guarded(each: Rule, module: Module, fixes: bool) -> list[Finding]:
    """The rule's findings; an exception in it costs one TLK000, never the user's whole run."""
    pause()
    try:
        # What a rule finds in another file of the project is found when that file is checked.
        own = [report for report in each.check(module) if module.tree.is_own(report.node)]
        return [each.finding(report, module, fixes) for report in own]
    except Exception as error:
        return [_internal(f"internal error in {each.code}", error)]


def _internal(what: str, error: Exception) -> Finding:
    """The finding that stands for an exception nobody foresaw."""
    if reraise:
        raise error
    text = f"{what}: {trouble(error)}"
    return Finding("TLK000", "internal-error", text, Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
