"""What a message shows of the code: the part that matters, and names that the file has."""

from __future__ import annotations

import ast

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.wording import called_with, short
from tests.model import IMPORTS, messages

CUTS = {
    "what fits": ("a.mean().detach()", "a.mean().detach()"),
    "a chain, whose end tells": ("encoded.last_hidden_state_of_all[:, -1].detach()", "encoded...[:, -1].detach()"),
    "arguments in a chain": ("generator(noise_of_a_fixed_seed, of=classes).cpu()", "generator(...).cpu()"),
    "the first arguments": (
        "model(images, masks, boxes_of_all_the_images, more)",
        "model(images, masks, ...)",
    ),
    "an index": ("rows[first_of_the_selected:last_of_the_selected].sum()", "rows[...].sum()"),
    "an operation in a chain": (
        "(first_of_several + second_of_several + third).sum()",
        "(first_of_several ... + third).sum()",
    ),
    "a dict": ("{'name': name, 'image': image, **all_the_others, 'step': 1}", "{'name': name, 'image': image, ...}"),
    "a list": ("[first_element, second_element, third_element]", "[first_element, second_element, ...]"),
    "a tuple": ("(first_element, second_element, third_element)", "(first_element, second_element, ...)"),
    "a comprehension": (
        "{i: batch for i, batch in enumerate(train_loader)}",
        "{i: batch for i, ...(train_loader)}",
    ),
    "one long name": ("a" * 60, f"{'a' * 18}...{'a' * 18}"),
    "a long name in a call": (f"{'a' * 60}(x)", f"{'a' * 18}...(x)"),
}


@pytest.mark.parametrize(("text", "shown"), CUTS.values(), ids=CUTS)
def test_long_expressions_lose_their_middle(text: str, shown: str) -> None:
    assert short(ast.parse(text, mode="eval").body) == shown
    assert len(shown) <= 40


PARTS = {
    "short": ("x.cuda()", "func", "x.cuda()"),
    "a method": ("torch.from_numpy(np.load(self.paths[index])).cuda()", "func", ".cuda()"),
    "a method with arguments": ("torch.from_numpy(np.load(self.paths[index])).cuda(0)", "func", ".cuda(...)"),
    "its argument": ("torch.from_numpy(np.load(self.paths[index])).to('cuda')", "first", ".to('cuda')"),
    "its first": ("torch.stack(all_the_labels).to('cuda', non_blocking=True)", "first", ".to('cuda', ...)"),
    "a keyword": ("torch.tensor([len(x) for x in all_of], device='cuda')", "last", "torch.tensor(..., device='cuda')"),
    "a long name": (f"{'a' * 40}(1, device='cuda')", "last", f"{'a' * 40}(..., device='cuda')"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "which", "shown"), PARTS.values(), ids=PARTS)
def test_of_a_call_the_part_is_shown_that_matters(text: str, which: str, shown: str) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    told = {"func": call.func, "first": [*call.args, call][0], "last": [call, *call.keywords][-1]}[which]
    assert called_with(call, told) == shown


IMPORTED = {
    "import cv2": ("cv2.resize", "cv2.setNumThreads(0)"),
    "import cv2 as cv": ("cv.resize", "cv.setNumThreads(0)"),
    "from cv2 import resize": ("resize", "import cv2; cv2.setNumThreads(0)"),
}


@pytest.mark.parametrize("imported", IMPORTED)
def test_the_threads_are_switched_off_under_the_name_that_the_file_has(imported: str) -> None:
    function, statement = IMPORTED[imported]
    below = "from torch.utils.data import Dataset\n{}\n\nclass Photos(Dataset):\n    def __getitem__(self, i):\n"
    sample = f"        return {function}(self.images[i], (300, 300))\n"
    (found,) = lint(f"{imported}\n{below.format('')}{sample}")
    assert f"(`{function}` in `Photos.__getitem__`); add `{statement}` below the imports" in found.message
    assert found.notes[0].text.startswith("`Photos.__getitem__` ")
    assert not messages(f"{imported}\n{below.format(statement)}{sample}", "TLK301")


VIEWS = {
    "an array": ("image = np.load(path)", "image[:8]", "`.copy()`"),
    "by a method of tensors": ("image = model(path)", "image.last_hidden_state[:, 0].detach()", "`.clone()`"),
    "not known": ("image = model(path)", "image.last_hidden_state[:, 0]", "arrays `.copy()`, tensors `.clone()`"),
}


@pytest.mark.parametrize(("made", "view", "copy"), VIEWS.values(), ids=VIEWS)
def test_the_copy_of_a_slice_is_named_by_what_it_is_of(made: str, view: str, copy: str) -> None:
    text = f"@torch.no_grad()\ndef keep(paths, model):\n    kept = []\n    for path in paths:\n        {made}\n"
    found = messages(f"{IMPORTS}{text}        kept.append({view})\n    return kept\n", "TLK205")
    assert [each.rpartition("; ")[2] for each in found] == [f"store a copy ({copy})"]
