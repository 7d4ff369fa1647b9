"""Rules are true: their proofs are run on the real torch, and pages, table and plots show what was measured.

`python -m tests.proofs --write` writes the data file and everything that is generated from it.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import xml.etree.ElementTree as ElementTree
from functools import lru_cache

import pytest

from flake8_torchleak.rule import all_rules
from tests.proofs import data, pages, plots
from tests.proofs.measure import unavailable
from tests.proofs.proof import Alike, Between, Larger, Proof, Variant
from tests.proofs.run import FILES, failed, load, measure, missing

CODES = sorted(FILES)
MEASURED = data.read()
REWRITE = "run: python -m tests.proofs --write"

# A proof.py imports what it runs: on a machine without torch, its words cannot be read either.
NEEDED = ("torch", "numpy", "cv2")
ABSENT = [name for name in NEEDED if importlib.util.find_spec(name) is None]
readable = pytest.mark.skipif(bool(ABSENT), reason=f"proof.py files import {', '.join(ABSENT)}")


@lru_cache
def proofs() -> dict[str, Proof]:
    return {code: load(code) for code in CODES}


@readable
@pytest.mark.long
@pytest.mark.parametrize("code", CODES)
def test_the_claims_hold_when_run(code: str) -> None:
    proof = proofs()[code]
    reason = missing(proof)
    if reason:
        pytest.skip(reason)
    assert not failed(proof, measure(proof).figures)


PROVEN = [
    "TLK101", "TLK102", "TLK103", "TLK104", "TLK105", "TLK106", "TLK201", "TLK202", "TLK203", "TLK204", "TLK205",
    "TLK206", "TLK301", "TLK303", "TLK401", "TLK402", "TLK403", "TLK404", "TLK405", "TLK406", "TLK407", "TLK408",
    "TLK501", "TLK502", "TLK601", "TLK602", "TLK603", "TLK604", "TLK901",
]  # fmt: skip
"""Rules whose proof must not get lost."""


def test_proofs_are_of_rules_and_none_gets_lost() -> None:
    assert set(PROVEN) <= set(CODES) <= {each.code for each in all_rules()}


@readable
def test_the_data_is_of_these_proofs() -> None:
    assert sorted(MEASURED) == CODES, REWRITE
    for code, proof in proofs().items():
        names = [each.name for each in proof.variants]
        assert len(names) == len(set(names))
        assert set(names) <= set(MEASURED[code].figures), REWRITE
        assert not failed(proof, MEASURED[code].figures)


@readable
@pytest.mark.parametrize("code", CODES)
def test_a_proof_compares_the_linted_file_with_a_repaired_one(code: str) -> None:
    proof = proofs()[code]
    for each in proof.variants:
        assert (FILES[code].parent / each.file).is_file()
    assert any(each.file.startswith("bad_") and not each.fixed for each in proof.variants)
    ratios = [each for each in proof.claims if isinstance(each, Larger)]
    assert ratios, "a ratio with a wide margin"
    assert all(each.times >= 5 for each in ratios)
    fixable = [each for each in all_rules() if each.code == code and each.fix.value != "hint"]
    assert not fixable or any(each.fixed for each in proof.variants), "the loop is closed with our own fixer"


@readable
@pytest.mark.parametrize("code", CODES)
def test_the_page_shows_the_data(code: str) -> None:
    text = pages.rule_file(code).read_text(encoding="utf-8")
    assert text == pages.with_section(text, pages.section(proofs()[code], MEASURED[code])), REWRITE
    (found,) = [each for each in all_rules() if each.code == code]
    assert pages.section(proofs()[code], MEASURED[code]) in found.page, "what `torchleak explain` shows"


@readable
def test_the_page_and_the_plots_show_the_data() -> None:
    shown = pages.PAGE.read_text(encoding="utf-8")
    assert shown == pages.with_page_part(shown, pages.page_part(MEASURED, proofs())), REWRITE
    wanted = pages.plots(MEASURED, proofs())
    assert {path.name for path in pages.PLOTS.glob("TLK*.svg")} == set(wanted), REWRITE
    for name, text in wanted.items():
        assert (pages.PLOTS / name).read_text(encoding="utf-8") == text, REWRITE


@readable
def test_plots_are_svg_that_fits() -> None:
    for name, text in pages.plots(MEASURED, proofs()).items():
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        for line in root.iter("{http://www.w3.org/2000/svg}polyline"):
            for point in line.attrib["points"].split():
                x, y = map(float, point.split(","))
                assert plots.LEFT <= x <= plots.WIDTH - plots.RIGHT, name
                assert plots.TOP <= y <= plots.HEIGHT - plots.BOTTOM, name


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", 0 to 1, as WCAG 2 defines it."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("colour", "ground"), list(itertools.product((plots.TEXT, *plots.LINES), ("#ffffff", "#0d1117"))), ids=str
)
def test_colours_are_readable_in_light_and_dark(colour: str, ground: str) -> None:
    darker, lighter = sorted((luminance(colour), luminance(ground)))
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def test_claims_can_fail() -> None:
    figures = {"bad": {"kb": 50.0}, "good": {"kb": 2.0}, "none": {"kb": -1.0}}
    assert Larger("", "kb", "bad", "good", floor=1).holds(figures)
    assert not Larger("", "kb", "bad", "good", floor=1, times=30).holds(figures)
    assert not Larger("", "kb", "bad", "none", floor=11).holds(figures), "bad is not much either"
    assert not Larger("", "kb", "none", "none", floor=1).holds(figures)
    assert Alike("", "kb", "bad", "bad").holds(figures)
    assert not Alike("", "kb", "bad", "good").holds(figures)
    assert not Alike("", "kb", "none", "none").holds(figures)
    assert Between("", "kb", "good", 2, 2).holds(figures)
    assert not Between("", "kb", "good", 3, 9).holds(figures)
    claim = Larger("it grows", "kb", "good", "bad", floor=1)
    proof = Proof("TLK401", "", [], [claim])
    assert failed(proof, figures) == ["it grows (kb: good 2, bad 50)"]


def test_less_than_nothing_reads_zero() -> None:
    assert f"{pages.Shown(-3.2):.0f} {pages.Shown(-0.001):.1f} {pages.Shown(2.46):.1f}" == "0 0.0 2.5"


def test_a_page_without_the_section_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no section"):
        pages.with_section('"""slug: text."""', "new")
    with pytest.raises(AssertionError, match="no part"):
        pages.with_page_part("# page", "new")


@pytest.mark.long
@readable
@pytest.mark.skipif(bool(unavailable()), reason=unavailable())
def test_a_variant_that_fails_or_hangs_fails_the_proof() -> None:
    run, file = load("TLK401").variants[0].run, load("TLK401").variants[0].file
    for name, seconds, said in [("missing", 60, "ValueError"), ("trained", 0, "no end after 0 s")]:
        broken = Proof("TLK401", "", [Variant(name, file, run, seconds=seconds)], [])
        with pytest.raises(AssertionError, match=re.compile(f"TLK401 {name}:.*{said}", re.DOTALL)):
            measure(broken)
