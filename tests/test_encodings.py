"""TLK101: what tokenizers of transformers give, lists of Python integers unless they are told otherwise."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

DATASET = """
import torch
from torch.utils.data import DataLoader, Dataset
{imported}


class Texts(Dataset):
    def __init__(self, texts, tokenizer, file):
        {made}

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {read}


def main(texts, tokenizer, file):
    return DataLoader(Texts(texts, tokenizer, file), num_workers=4)
"""
ITEMS = "{{k: torch.tensor(v[i]) for k, v in self.e.items()}}"
AUTO = "from transformers import AutoTokenizer"
LINES = "lines = [line for line in open(file)]\n        "


def found(made: str, read: str = "self.e[i]", imported: str = "") -> list[str]:
    text = DATASET.replace("{read}", read).format(made=made, imported=imported)
    return [each.notes[0].text for each in lint(text) if each.code == "TLK101"]


@pytest.mark.parametrize(
    ("made", "read", "imported"),
    [
        ("self.e = tokenizer(texts, truncation=True, padding=True)", ITEMS, ""),
        ("self.e = tokenizer(text=texts, padding=True)", ITEMS, ""),
        ("self.e = tokenizer(texts, padding=True, return_tensors=None)", ITEMS, ""),
        ("self.e = tokenizer.batch_encode_plus(texts, add_special_tokens=True)", ITEMS, ""),
        ("self.e = tokenizer(texts, truncation=True)['input_ids']", "self.e[i]", ""),
        ("self.e = tokenizer(texts, truncation=True).input_ids", "self.e[i]", ""),
        ("t = AutoTokenizer.from_pretrained(file)\n        self.e = t(texts)", ITEMS, AUTO),
        ("self.e = AutoTokenizer.from_pretrained(file)(texts)", ITEMS, AUTO),
        ("self.t = AutoTokenizer.from_pretrained(file)\n        self.e = self.t(texts)", ITEMS, AUTO),
        ("t = transformers.BertTokenizer(file)\n        self.e = t(texts)", ITEMS, "import transformers"),
        ("t = AutoTokenizer.from_pretrained(file)\n        s = t\n        self.e = s(texts)", ITEMS, AUTO),
    ],
)
def test_what_a_tokenizer_gives_is_lists_of_integers(made: str, read: str, imported: str) -> None:
    (why,) = found(made, read, imported)
    assert why.startswith("a tokenizer gives lists of integers")


@pytest.mark.parametrize(
    ("made", "read", "imported"),
    [
        ("self.e = tokenizer(texts, padding=True, return_tensors='pt')", ITEMS, ""),
        ("self.e = tokenizer(texts)", ITEMS, ""),  # nothing says what it is
        ("self.e = tokenizer(texts)", ITEMS, AUTO),
        ("t = AutoModel.from_pretrained(file)\n        self.e = t(texts)", ITEMS, "from transformers import AutoModel"),
        ("self.e = tokenizer('one', truncation=True)", ITEMS, ""),
        ("self.e = tokenizer(['one', 'two'], truncation=True)", ITEMS, ""),
        ("self.e = tokenizer(padding=True).other", "self.e[i]", ""),
        ("self.e = torch.tensor(tokenizer(texts, padding=True)['input_ids'])", "self.e[i]", ""),
        ("a = b = c = d = e = f = AutoTokenizer.from_pretrained(file)\n        self.e = f", "self.e[i]", AUTO),
    ],
)
def test_what_is_told_otherwise_or_not_known(made: str, read: str, imported: str) -> None:
    assert found(made, read, imported) == []


def test_what_is_tokenized_is_no_table_of_tokens() -> None:
    """`self.tokens` may be a vocabulary, which is small."""
    made, read = "self.tokenized = tokenizer(texts, padding=True)", ITEMS.replace("self.e.", "self.tokenized.")
    assert len(found(made, read)) == 1
    assert found(made.replace("tokenized", "tokens"), read.replace("tokenized", "tokens")) == []


def test_one_text_after_the_other() -> None:
    made = f"{LINES}t = AutoTokenizer.from_pretrained(file)\n        self.e = [t.encode(each) for each in lines]"
    text = DATASET.replace("{read}", "self.e[i]").format(made=made, imported=AUTO)
    (one,) = [each for each in lint(text) if each.code == "TLK101"]
    assert "(list of list)" in one.message
