"""What holds values in the end, whatever stands around it: a running value, a list, a dict, a few slots."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.training.draft import Draft, Lines, block

AT, VALUE = "PLACE", "VALUE"
"""Stand for where it is and for what is kept in the statements of a holder."""


@dataclass
class Inner:
    """start: the expression that makes it; keep: statements over AT and VALUE; items: an iterable of what is kept.

    rebinds: keeping binds the place anew. adds: takes nothing but numbers and tensors.
    empty: statements that begin anew. item: what a list is given, over VALUE; empty where it is no list.
    """

    start: str
    keep: Lines
    items: str
    empty: Lines
    rebinds: bool = False
    adds: bool = False
    item: str = ""


def running(d: Draft, bounded: bool) -> Inner:
    """One value that is made of the last one; bounded: the last one, or the best, by itself."""
    if bounded:
        keep = d.pick(
            [f"{AT} = {VALUE}"],
            [f"{AT} = {VALUE} if {AT} is None else {AT}"],
            [f"{AT} = ({AT}, {VALUE})[1]"],
        )
        return Inner("None", keep, f"[{AT}]", [f"{AT} = None"], rebinds=True)
    start = d.pick("0", "0", "0.0", "torch.zeros(())")
    keep = d.pick(
        [f"{AT} += {VALUE}"],
        [f"{AT} += {VALUE}"],
        [f"{AT} += {VALUE}"],
        [f"{AT} = {AT} + {VALUE}"],
        [f"{AT} = {VALUE} + {AT}"],
        [f"{AT} = 0.9 * {AT} + 0.1 * {VALUE}"],
        [f"{AT} -= 0.1 * ({AT} - {VALUE})"],
        [f"{AT} = sum([{AT}, {VALUE}])"],
        [f"{AT} = {AT} + {VALUE} / 4"],
    )
    if keep[0].startswith((f"{AT} +=", f"{AT} -=")) and start.startswith("torch"):
        start = "0."
    return Inner(start, keep, f"[{AT}]", [f"{AT} = 0"], rebinds=True, adds=True)


def tuple_(d: Draft, bounded: bool) -> Inner:
    """A tuple that is made anew with one more."""
    keep = d.pick(f"{AT} += ({VALUE},)", f"{AT} = (*{AT}, {VALUE})", f"{AT} = {AT} + ({VALUE},)")
    lines = [keep, *([f"{AT} = {AT}[-3:]"] if bounded else [])]
    return Inner("()", lines, AT, [f"{AT} = ()"], rebinds=True)


def rows(d: Draft, bounded: bool, item: str = VALUE) -> Inner:
    """A list. item: what is put into it, over VALUE."""
    keep = d.pick(
        [f"{AT}.append({item})"],
        [f"{AT}.append({item})"],
        [f"{AT}.append({item})"],
        [f"{AT} += [{item}]"],
        [f"{AT}.extend([{item}])"],
        [f"{AT}.insert(0, {item})"],
        [f"{AT}[len({AT}):] = [{item}]"],
    )
    empty = d.pick(f"{AT}.clear()", f"del {AT}[:]", f"{AT}[:] = []")
    if bounded:
        keep = d.pick(
            [*keep, *block(f"if len({AT}) > 4:", [f"{AT}.pop()" if "insert" in keep[0] else f"{AT}.pop(0)"])],
            [f"{AT}.append({item})", f"{AT}[:] = {AT}[-3:]"],
            [f"{AT}.append({item})", f"del {AT}[:-2]"],
            block(f"if len({AT}) < 3:", [f"{AT}.append({item})"]),
            [f"{AT}[:] = [{item}]"],
        )
    return Inner("[]", keep, AT, [empty], item=item if not bounded else "")


def binds(lines: Lines) -> bool:
    """Whether these statements bind the place itself, if only to what it was."""
    return any(re.match(rf"\s*{AT} (=|\+=|-=) ", each) for each in lines)


def table(d: Draft, bounded: bool) -> Inner:
    """A dict with a key for every step."""
    key = d.pick(f"len({AT})", f"str(len({AT}))", f"('step', len({AT}))")
    if bounded:
        key = d.pick("'last'", f"len({AT}) % 3", "0")
    keep = d.pick(
        [f"{AT}[{key}] = {VALUE}"],
        [f"{AT}[{key}] = {VALUE}"],
        [f"{AT}.update({{{key}: {VALUE}}})"],
    )
    if not bounded and d.chance(0.2):
        keep = [f"{AT}.setdefault({key}, {VALUE})"]
    return Inner(d.pick("{}", "dict()"), keep, f"list({AT}.values())", [f"{AT}.clear()"])


def of_lists(d: Draft, bounded: bool) -> Inner:
    """A dict of a few lists."""
    key = d.pick("'loss'", "'train'", "'val/loss'", "0")
    start = f"{{{key}: []}}"
    if d.chance(0.4):
        start = f"{{{key}: [], 'lr': []}}"
    at = f"{AT}[{key}]"
    keep = d.pick([f"{at}.append({VALUE})"], [f"{at}.append({VALUE})"], [f"{at} += [{VALUE}]"])
    if not bounded and d.chance(0.3):
        d.need("import collections")
        start = "collections.defaultdict(list)"
    elif not bounded and d.chance(0.2):
        keep = [f"{AT}.setdefault({key}, []).append({VALUE})"]
    if bounded:
        keep = d.pick([f"{at}[:] = [{VALUE}]"], [*keep, f"{at} = {at}[-2:]"], [f"{at} = [{VALUE}]"])
    return Inner(start, keep, at, [f"{at} = []"])


def any_inner(d: Draft, bounded: bool) -> Inner:
    """What an object of the program holds inside: mostly a sum or a list."""
    made: Callable[[Draft, bool], Inner] = d.pick(running, running, rows, rows, rows, table, tuple_)
    return made(d, bounded)


def put(lines: Lines, at: str, value: str) -> Lines:
    """The statements with a place and a value in them."""
    return [each.replace(AT, at).replace(VALUE, value) for each in lines]
