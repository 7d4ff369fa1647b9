"""Arrays of text: their elements are strings, of which no tensor can be made."""

from __future__ import annotations

import pytest

from flake8_torchleak.model.values import Kind
from tests.model import dataset, messages, value

ARRAYS = {
    "np.loadtxt(path, dtype=str)": Kind.STRING,
    "np.loadtxt(path, dtype='str')[:, 1]": Kind.STRING,
    "np.genfromtxt(path, dtype='<U9')[2:]": Kind.STRING,
    "np.genfromtxt(path, dtype=np.str_)": Kind.STRING,
    "np.array(rows, dtype='S4')": Kind.STRING,
    "np.array(['a', 'b'])": Kind.STRING,
    "np.asarray([path.strip() for path in open('a')])": Kind.STRING,
    "np.asarray(['a', 'b'])[1:]": Kind.STRING,
    "np.loadtxt(path)": Kind.NUMBER,
    "np.loadtxt(path, dtype=np.float32)": Kind.NUMBER,
    "np.loadtxt(path, dtype=kinds[0])": Kind.NUMBER,
    "np.loadtxt(path, dtype=SCHEMA)": Kind.NUMBER,
    "np.array([1, 2])": Kind.NUMBER,
    "np.array(rows)": Kind.NUMBER,
    "np.zeros(4)": Kind.NUMBER,
}


@pytest.mark.parametrize(("array", "kind"), ARRAYS.items(), ids=ARRAYS)
def test_elements_of_an_array_as_a_list(array: str, kind: Kind) -> None:
    found = value(f"x = {array}.tolist()")
    assert found.kind is Kind.LIST
    assert found.element is not None
    assert found.element.kind is kind


@pytest.mark.parametrize(("dtype", "remedy"), [("str", "PackedRecords(...)"), ("float", "torch.tensor(...)")])
def test_the_remedy_fits_the_elements(dtype: str, remedy: str) -> None:
    text = dataset(f"self.data = np.loadtxt(root, dtype={dtype})[:, 0].tolist()")
    (told,) = messages(text + "loader = DataLoader(Rows(1, 2), num_workers=2)\n", "TLK101")
    assert f"store `{remedy}`" in told


def test_numpy_gives_text_of_which_torch_makes_no_tensor() -> None:
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    for array in (np.loadtxt(["a 1", "b 2"], dtype=str)[:, 0], np.array(["a", "b"]), np.array([1, 2], dtype="U2")):
        assert {type(each) for each in array.tolist()} == {str}
        with pytest.raises((TypeError, ValueError), match="str"):
            torch.tensor(array.tolist())
