"""Fixing one file, against what any libcst tool pays for it: parse, one pass, code.

    python benchmarks/fix.py [LINES]

A file of LINES lines (1,000) with 1, 10 and 50 findings that `--fix` ends. CPU seconds, the best of five, and ratios
within this run; the goal is 1.3 (SPEED: "fix of a 1,000-line file, any number of findings").
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import libcst

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.lint import lint

STEP = '''
def train_{number}(model, loader, criterion, optimizer, device):
    """One epoch of the {number}th model."""
    total, seen = 0.0, 0
    for images, targets in loader:
        images, targets = images.to(device, non_blocking=True), targets.to(device, non_blocking=True)
        optimizer.zero_grad()  # set_to_none is the default
        outputs = model(images)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        seen += targets.size(0)
        total += loss{release}
    print(f"{number}: {{total / len(loader):.4f}} after {{seen}}")
    return total / len(loader)

'''


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("findings  lines   fix ms  libcst ms  ratio  lint ms")
    for findings in (1, 10, 50):
        text = program(wanted, findings)
        done = fix(text, DEFAULT, unsafe=False, takes=lambda code: True)
        assert (len(done.fixed), len(done.left)) == (findings, 0), done.left
        ours = best(lambda text=text: fix(text, DEFAULT, unsafe=False, takes=lambda code: True))  # type: ignore[misc]
        base = best(lambda text=text: one_pass(text))  # type: ignore[misc]
        alone = best(lambda text=text: lint(text, fixes=True))  # type: ignore[misc]
        lines = text.count("\n")
        print(f"{findings:8} {lines:6} {ours * 1e3:8.1f} {base * 1e3:10.1f} {ours / base:6.2f} {alone * 1e3:8.1f}")


def program(lines: int, findings: int) -> str:
    """A module of about this length; its first `findings` training loops leak."""
    count = lines // STEP.count("\n")
    steps = (STEP.format(number=i, release="" if i < findings else ".detach()") for i in range(count))
    return "import torch\n" + "".join(steps)


def one_pass(text: str) -> str:
    """What libcst takes to parse a file, visit every node of it, and write it again."""
    return libcst.parse_module(text).visit(libcst.CSTTransformer()).code


def best(work: Callable[[], object]) -> float:
    """The least CPU seconds of five runs."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
