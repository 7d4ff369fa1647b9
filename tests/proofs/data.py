"""The one data file, `measured.json`: what every page, table and plot is generated from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.proofs.proof import Figures

PATH = Path(__file__).parent / "measured.json"

Series = dict[str, dict[str, list[tuple[int, float]]]]


@dataclass(frozen=True)
class Data:
    """What came out of one proof.

    figures: by variant and name. series: by variant and measure, pairs of (steps done, value), of what is plotted.
    environment: versions and cores.
    """

    figures: Figures
    series: Series
    environment: dict[str, str]


def read(path: Path = PATH) -> dict[str, Data]:
    """By code of the rule."""
    if not path.exists():
        return {}
    return {code: Data(**each) for code, each in json.loads(path.read_text(encoding="utf-8")).items()}


def write(measured: dict[str, Data], path: Path = PATH) -> None:
    """Four digits are kept: more would only say how noisy a machine is."""
    rounded = {code: _rounded(vars(measured[code])) for code in sorted(measured)}
    path.write_text(_laid_out(rounded) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        short = float(f"{value:.4g}")
        return int(short) if short == int(short) else short
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return value


def _laid_out(value: Any, depth: int = 0) -> str:
    """JSON with one line a variant, so that a new measurement is a diff that can be read."""
    if depth == 3 or not isinstance(value, dict):
        return json.dumps(value)
    indent = "  " * (depth + 1)
    lines = [f"{indent}{json.dumps(key)}: {_laid_out(each, depth + 1)}" for key, each in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}" if lines else "{}"
