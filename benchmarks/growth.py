"""How linting time grows with file size, against `ast.parse` of the same text.

usage: python benchmarks/growth.py

Doubles a realistic module (a Dataset, a training loop and an evaluation loop, renamed in every copy) up to 16,000
lines and prints milliseconds, the ratio to parsing, and the exponent of growth between neighbouring sizes.
"""

from __future__ import annotations

import ast
import math
import time

from flake8_torchleak.lint import lint

BLOCK = """
class Photos{n}(Dataset):
    def __init__(self, root, transform):
        self.paths = sorted(glob.glob(root + "/*.jpg"))
        self.labels = []
        for path in self.paths:
            self.labels.append(path.split("/")[-2])
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = self.transform(load(self.paths[index]))
        return image, self.labels[index]


def train{n}(model, loader, criterion, optimizer):
    total, losses = 0.0, []
    for step, (inputs, targets) in enumerate(loader):
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
        losses.append(loss.item())
    return total / len(loader), losses


def evaluate{n}(model, loader):
    model.eval()
    correct = 0
    for inputs, targets in loader:
        correct += (model(inputs).argmax(1) == targets).sum().item()
    return correct
"""
HEAD = "import glob\n\nimport torch\nfrom torch.utils.data import Dataset\n"


def best(function, text: str) -> float:  # type: ignore[no-untyped-def]
    """Seconds of CPU, the least of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        function(text)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print a Markdown table over file sizes."""
    lines_per_block = BLOCK.count("\n")
    previous: tuple[int, float, float] | None = None
    print("| lines | parse, ms | lint, ms | lint / parse | exponent of lint | exponent of parse |")
    print("|---|---|---|---|---|---|")
    for target in (1000, 2000, 4000, 8000, 16000):
        text = HEAD + "".join(BLOCK.format(n=n) for n in range(target // lines_per_block))
        lines = text.count("\n")
        parse, whole = best(ast.parse, text), best(lint, text)
        growth = ("", "")
        if previous is not None:
            step = math.log(lines / previous[0])
            growth = (f"{math.log(whole / previous[2]) / step:.2f}", f"{math.log(parse / previous[1]) / step:.2f}")
        print(
            f"| {lines} | {1000 * parse:.0f} | {1000 * whole:.0f} | {whole / parse:.1f} | {growth[0]} | {growth[1]} |"
        )
        previous = (lines, parse, whole)


if __name__ == "__main__":
    main()
