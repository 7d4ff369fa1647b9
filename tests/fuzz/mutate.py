"""Mutation: a program made of fixtures and of the package's own source, cut up and put together in other ways."""

from __future__ import annotations

import ast
import random
import re
import sys
from collections.abc import Callable
from textwrap import indent

from tests.fuzz.corpus import HEADERS, NAMES, NESTS, OPERATORS, TARGETS, WRAPS
from tests.fuzz.program import Program

_MOST_CHARACTERS = 12_000

Mutation = Callable[[random.Random, Program, Program], str]
"""The new text, which may not parse; from a program and a second one, of which pieces are taken."""


def mutant(rng: random.Random, corpus: list[str]) -> str:
    """A new program that parses: one of the corpus, mutated up to twenty times, then laid out in another way or not."""
    program = Program(rng.choice(corpus))
    for _ in range(rng.randint(1, 20)):
        donor = Program(rng.choice(corpus))
        program = _accepted(program, rng.choice(MUTATIONS)(rng, program, donor))
    if rng.random() < 0.3:
        program = _accepted(program, rng.choice(LAYOUTS)(program.text))
    return program.text


def _accepted(program: Program, text: str) -> Program:
    """The mutated program; the old one where Python refuses the new, or nothing would be left to mutate."""
    if len(text) > _MOST_CHARACTERS:
        return program
    try:
        made = Program(text)
    except (SyntaxError, ValueError):
        return program
    return made if made.statements and made.expressions else program


def splice(rng: random.Random, program: Program, donor: Program) -> str:
    """A statement of another program (a function, a class, a loop ...), before or instead of one of this."""
    taken, place = _statement(rng, donor), _statement(rng, program)
    lines = donor.lines_of(taken)
    return program.replaced(place, lines + (program.lines_of(place) if rng.random() < 0.8 else ""))


def delete(rng: random.Random, program: Program, donor: Program) -> str:
    """A statement less."""
    return program.without(_statement(rng, program))


def unwrap(rng: random.Random, program: Program, donor: Program) -> str:
    """A block without what held it."""
    return program.unwrapped(_statement(rng, program))


def duplicate(rng: random.Random, program: Program, donor: Program) -> str:
    """A statement twice, somewhere else the second time or on the same line."""
    statement = _statement(rng, program)
    lines = program.lines_of(statement)
    if rng.random() < 0.2:
        return program.replaced(statement, f"{lines.rstrip()}; {lines}")
    place = statement if rng.random() < 0.5 else _statement(rng, program)
    return program.replaced(place, program.lines_of(place) + lines)


def rename(rng: random.Random, program: Program, donor: Program) -> str:
    """Another name, here or everywhere: of the program, of the other one, in letters that Python folds."""
    names = sorted({node.id for node in ast.walk(program.tree) if isinstance(node, ast.Name)} | set(NAMES))
    old = rng.choice(names)
    new = rng.choice([*names, *NAMES, *NAMES])
    places = list(re.finditer(rf"\b{re.escape(old)}\b", program.text))
    if not places or rng.random() < 0.6:
        return re.sub(rf"\b{re.escape(old)}\b", new, program.text)
    place = rng.choice(places)
    return program.text[: place.start()] + new + program.text[place.end() :]


def operator(rng: random.Random, program: Program, donor: Program) -> str:
    """Another operator."""
    places = list(re.finditer(r" (\*\*|//|<<|==|!=|<=|>=|[-+*/@|&<>]|and|or|in|is|not in)(=?) ", program.text))
    if not places:
        return program.text
    place = rng.choice(places)
    return f"{program.text[: place.start()]} {rng.choice(OPERATORS)}{place[2]} {program.text[place.end() :]}"


def nest(rng: random.Random, program: Program, donor: Program) -> str:
    """A statement inside another: try, with, async, match, class, function, loop."""
    statement = _statement(rng, program)
    template = rng.choice(NESTS)
    before, after = template.split("    ...\n")
    depth = "    " if before.count("\n") == 1 else "        "
    return program.replaced(statement, before + indent(program.lines_of(statement), depth) + after)


def wrap(rng: random.Random, program: Program, donor: Program) -> str:
    """An expression inside another: walrus, lambda, star, await, f-string, comprehension ..."""
    return _with_expression(rng, program, lambda text: rng.choice(WRAPS).replace("E", text))


def exchange(rng: random.Random, program: Program, donor: Program) -> str:
    """Another expression, of this program or another."""
    source = rng.choice([program, donor])
    return _with_expression(rng, program, lambda _: source.text_of(rng.choice(source.expressions)))


def target(rng: random.Random, program: Program, donor: Program) -> str:
    """Another thing to assign to."""
    stored = [
        node
        for node in ast.walk(program.tree)
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ]
    if not stored:
        return program.text
    start, end = program.span(rng.choice(stored))
    return program.text[:start] + rng.choice(TARGETS) + program.text[end:]


def arguments(rng: random.Random, program: Program, donor: Program) -> str:
    """A call with other arguments: none, starred, by keyword, one more."""
    calls = [node for node in program.expressions if isinstance(node, ast.Call)]
    if not calls:
        return program.text
    call = rng.choice(calls)
    start, end = program.span(call)
    called = program.text_of(call.func)
    inner = program.text[start + len(called) : end].strip()[1:-1]
    new = rng.choice(["", "*[{}]", "**dict({})", "{}, *args, **kwargs", "x={}", "{}, x", "*args, {}", "lambda: ({})"])
    return f"{program.text[:start]}{called}({new.format(inner)}){program.text[end:]}"


def header(rng: random.Random, program: Program, donor: Program) -> str:
    """Another kind of class, function or loop: bases, parameters, decorators, async, type parameters."""
    lines = program.text.splitlines(keepends=True)
    pattern, new = rng.choice(HEADERS)
    places = [number for number, line in enumerate(lines) if re.search(pattern, line)]
    if not places or ("[T" in new and sys.version_info < (3, 12)):
        return program.text
    place = rng.choice(places)
    lines[place] = re.sub(pattern, new, lines[place], count=1)
    return "".join(lines)


def remark(rng: random.Random, program: Program, donor: Program) -> str:
    """A comment, a blank, a backslash where a blank was, a form feed, a docstring."""
    lines = program.text.splitlines(keepends=True)
    number = rng.randrange(len(lines))
    line = lines[number].rstrip("\r\n")
    margin = line[: len(line) - len(line.lstrip())]
    lines[number] = rng.choice([
        f"{line}  # noqa\n", f"{line}  # noqa: TLK4, TLK2\n", f"{line}  # 日本🙂\n", f"{line} \t\n", f"\f{line}\n",
        f"{line};\n", f"{margin}# flake8: noqa: TLK1\n{line}\n", f"{margin}'''日本\n🙂'''\n{line}\n",
        line.replace(" = ", " = \\\n  ", 1) + "\n", line.replace("(", "(  # (\n", 1) + "\n",
        line.replace(": ", ":\\\n ") + "\n",
    ])  # fmt: skip
    return "".join(lines)


MUTATIONS: list[Mutation] = [
    splice, splice, delete, unwrap, duplicate, rename, rename, operator, nest, nest, wrap, wrap, exchange, exchange,
    target, arguments, header, remark,
]  # fmt: skip


def tabs(text: str) -> str:
    """Tabs in the place of four blanks."""
    return re.sub(r"^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.MULTILINE)


def narrow(text: str) -> str:
    """One blank in the place of four."""
    return re.sub(r"^(?: {4})+", lambda match: " " * (len(match[0]) // 4), text, flags=re.MULTILINE)


LAYOUTS: list[Callable[[str], str]] = [
    tabs,
    narrow,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\r"),
    lambda text: text.rstrip("\n"),
    lambda text: text.replace("\n\n", "\n\f\n"),
]


def _statement(rng: random.Random, program: Program) -> ast.stmt:
    return rng.choice(program.statements)


def _with_expression(rng: random.Random, program: Program, change: Callable[[str], str]) -> str:
    """The text with one expression changed."""
    node = rng.choice(program.expressions)
    start, end = program.span(node)
    return program.text[:start] + change(program.text_of(node)) + program.text[end:]
