"""TLK910: which figures are open still when a round of the loop is over."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lint import lint

LOOP = """
import matplotlib.pyplot as plt
import torch
from helpers import finish, page
from mpl_toolkits.mplot3d import Axes3D


def finish_here(path):
    plt.savefig(path)
    plt.close()


def title(where, row, number=0):
    where.suptitle(str(row))
    where.gca().plot(row)


def keep(where, row):
    row.figure = where


def draw(rows, out, writer, self):
{before}    done = []
    for number, row in enumerate(rows):
        fig, axes = plt.subplots(1, 2)
        axes[0].imshow(row)
        {inside}
        fig.savefig(f"{{number}}.png")
        done.append(number)
    {after}
"""


def count(text: str) -> int:
    return len(lint(textwrap.dedent(text), wanted=lambda code: code == "TLK910"))


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("pass", 1),
        ("done.clear()", 1),
        ("out.append(row)", 1),
        ("page.show(row)", 1),
        ("out.close()", 1),
        ("page.draw(axes[1])", 1),
        ("page.draw(row.size)", 1),
        ("axes[0].set_title(fig.get_label())", 1),
        ("return_value = fig.canvas", 1),
        ("plt.close()", 0),
        ("plt.close(fig)", 0),
        ("plt.close('all')", 0),
        ("plt.clf()", 0),
        ("plt.show()", 0),
        ("fig.clear()", 0),
        ("axes[0].clear()", 0),
        ("out.append(fig)", 0),
        ("out.append({'figure': [fig]})", 0),
        ("finish(figure=fig)", 0),
        ("finish(plt.gcf())", 0),
        ("finish_here('x')", 0),
        ("title(fig, row)", 1),
        ("title(row=row, where=fig)", 1),
        ("title([fig], row)", 0),
        ("keep(fig, row)", 0),
        ("ax = plt.Axes(fig, [0, 0, 1, 1]); fig.add_axes(ax)", 1),
        ("ax = Axes3D(fig)", 1),
        ("ax = title(fig, row)", 1),
        ("ax = finish(fig)", 0),
        ("ax = [fig]", 0),
    ],
)
def test_what_is_done_in_the_round(inside: str, expected: int) -> None:
    assert count(LOOP.format(before="", inside=inside, after="pass")) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("return done", 1),
        ("return {'rows': len(rows)}", 1),
        ("plt.close('all')", 0),
        ("plt.close(fig)", 1),
        ("plt.close()", 1),
        ("return fig", 0),
        ("return done, axes", 0),
        ("return plt.gcf()", 0),
    ],
)
def test_what_comes_after_the_loop(after: str, expected: int) -> None:
    assert count(LOOP.format(before="", inside="pass", after=after)) == expected


def test_what_is_closed_before_the_loop() -> None:
    before = "    plt.figure()\n    plt.savefig('all.png')\n    plt.close()\n"
    assert count(LOOP.format(before=before, inside="pass", after="pass")) == 1


ROUND = """
import matplotlib.pyplot as plt
import torch

def draw(rows, self):
    for row in rows:
        {}
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # pyplot closes the figure that was made last
        (["plt.figure()", "plt.savefig('a')", "plt.figure()", "plt.savefig('b')", "plt.close()"], 1),
        (["plt.figure()", "plt.savefig('a')", "plt.close()", "plt.figure()", "plt.savefig('b')", "plt.close()"], 0),
        (["plt.figure()", "plt.figure()", "plt.savefig('b')", "plt.close()", "plt.close()"], 0),
        (["a = plt.figure()", "b = plt.figure()", "b.savefig('b')", "plt.close(b)"], 1),
        (["a = plt.figure()", "b = plt.figure()", "b.savefig('b')", "plt.close('all')"], 0),
        (
            [
                "if row:",
                "    plt.figure()",
                "else:",
                "    plt.figure(figsize=(1, 2))",
                "plt.savefig('b')",
                "plt.close()",
            ],
            0,
        ),
        (["if row:", "    plt.figure()", "    plt.figure()", "plt.savefig('b')", "plt.close()"], 1),
        # what the round before made
        (["plt.close()", "plt.figure()", "plt.savefig('b')"], 0),
        (["plt.close('all')", "plt.figure()", "plt.savefig('b')"], 0),
        # kept elsewhere
        (["self.figure, axes = plt.subplots()", "plt.savefig('b')"], 0),
        (["self.add(plt.figure())", "plt.savefig('b')"], 0),
        (["a = b = plt.figure()", "plt.savefig('b')"], 0),
        (["a = plt.figure().gca()", "plt.savefig('b')"], 0),
        # found again
        (["plt.figure(1)", "plt.savefig('b')"], 0),
        (["plt.subplots(num='one')", "plt.savefig('b')"], 0),
    ],
)
def test_which_figures_are_open(lines: list[str], expected: int) -> None:
    assert count(ROUND.format("\n        ".join(lines))) == expected


def test_a_function_that_is_called_in_a_loop() -> None:
    text = """
    import matplotlib.pyplot as plt
    import torch

    def draw(row):
        plt.figure()
        plt.savefig("x.png")
        {}

    for row in rows:
        draw(row)
    """
    assert count(text.format("return row")) == 1
    assert count(text.format("plt.close()")) == 0


@pytest.mark.parametrize(("outer", "expected"), [("for row in rows:", 1), ("for row in (1, 2):", 0), ("if rows:", 0)])
def test_a_short_loop_in_another_one(outer: str, expected: int) -> None:
    text = f"""
    import matplotlib.pyplot as plt
    import torch

    {outer}
        for part in ("weight", "bias"):
            plt.figure()
            plt.savefig(part)
    """
    assert count(text) == expected
