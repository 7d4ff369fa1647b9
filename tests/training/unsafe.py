"""Each rule's unsafe fixes, alone: in how many programs the results differ, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.training.judge import mend, unsafe_codes
from tests.training.program import Program
from tests.training.run import Outcome, run


def lines(programs: Iterable[Program]) -> Iterator[str]:
    """A line for each rule that has unsafe fixes for any of the programs."""
    counts: dict[str, Counter[str]] = {}
    for each in programs:
        before: Outcome | None = None
        for code in sorted(unsafe_codes(each.files)):
            mended = mend(each.files, unsafe=True, takes=lambda other, code=code: other == code)  # type: ignore[misc]
            if not mended.fixed:
                continue
            before = before or run(each.files)
            how = difference(before, run(mended.files))
            counts.setdefault(code, Counter()).update(["programs", how])
    for code, counted in sorted(counts.items()):
        yield f"{code}: {counted.pop('programs')} programs; " + ", ".join(
            f"{n} {how}" for how, n in counted.most_common()
        )


def difference(before: Outcome, after: Outcome) -> str:
    """The gravest difference: an exception, other parameters, other numbers, other types alone; or only the timing."""
    if before.error != after.error:
        return f"exception {after.error.partition(':')[0] or 'gone'}"
    differs = before.differs(after)
    if not differs:
        return "same results (timing or memory only)"
    if "parameters" in differs or "gradients" in differs:
        return "other parameters or gradients"
    numbers = [name for name in differs if name == "samples" or name == "stored"]
    if numbers:
        return f"other {numbers[0]}"
    return "types or formats alone" if _numbers(before) == _numbers(after) else "other numbers"


def _numbers(outcome: Outcome) -> list[float]:
    """All numbers that were printed, rounded as a float of torch is printed."""
    found: list[float] = []
    for word in "".join(outcome.printed).replace("tensor", " ").translate(_SIGNS).split():
        try:
            found.append(round(float(word), 3))
        except ValueError:
            continue
    return found


_SIGNS = str.maketrans(dict.fromkeys("()[],:=%{}'", " "))
