"""Where a fix puts what it adds: imports in the style of the file, a call below them, a decorator in its place."""

from __future__ import annotations

import pytest

from tests.fixer import mended

DATASET = "from torch.utils.data import Dataset\n"
ROWS = """\
class Rows(Dataset):
    def __init__(self, root):
        self.data = [{'a': [i]} for i in range(root)]
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        return self.data[i]
"""


def copied(head: str, written: str = "copy.deepcopy") -> str:
    """A file whose sample is copied, below these lines."""
    return head + ROWS.replace("return self.data[i]", f"return {written}(self.data[i])")


NEW = {
    "above all": (DATASET, "import copy\n\n" + DATASET),
    "below a docstring": ('"""Rows."""\n' + DATASET, '"""Rows."""\nimport copy\n\n' + DATASET),
    "below a docstring and a blank": ('"""Rows."""\n\n' + DATASET, '"""Rows."""\n\nimport copy\n\n' + DATASET),
    "below a docstring of lines": ("'''a\nb'''  # c\n" + DATASET, "'''a\nb'''  # c\nimport copy\n\n" + DATASET),
    "below a docstring that shares its line": (f"'a'; {DATASET}", f"'a'; {DATASET}\nimport copy\n"),
    "below __future__": (
        "from __future__ import annotations\n\n" + DATASET,
        "from __future__ import annotations\n\nimport copy\n\n" + DATASET,
    ),
    "between __future__ and others": (
        "from __future__ import annotations\n\nimport os\n\n" + DATASET,
        "from __future__ import annotations\n\nimport copy\nimport os\n\n" + DATASET,
    ),
    "below a coding line": ("# coding: utf-8\n" + DATASET, "# coding: utf-8\nimport copy\n\n" + DATASET),
    "below what runs": ("#!/usr/bin/python\n\n" + DATASET, "#!/usr/bin/python\n\nimport copy\n\n" + DATASET),
    "in order": ("import abc\nimport zlib\n\n" + DATASET, "import abc\nimport copy\nimport zlib\n\n" + DATASET),
    "first": ("import os\n\n" + DATASET, "import copy\nimport os\n\n" + DATASET),
    "last": ("import abc\n\n" + DATASET, "import abc\nimport copy\n\n" + DATASET),
    "before those with from": ("from abc import ABC\n\n" + DATASET, "import copy\nfrom abc import ABC\n\n" + DATASET),
    "beside a third party": ("import torch\nimport os\n" + DATASET, "import torch\nimport copy\nimport os\n" + DATASET),
    "above relative ones": ("from . import a\n" + DATASET, "import copy\n\nfrom . import a\n" + DATASET),
    "among several names": ("import abc, os\n" + DATASET, "import abc, os\nimport copy\n" + DATASET),
    "below brackets": (
        "import abc as b; from os import (\n    path,\n    sep,\n)\n\n" + DATASET,
        "import abc as b; from os import (\n    path,\n    sep,\n)\nimport copy\n\n" + DATASET,
    ),
    "below a backslash": ("import abc, \\\n    os\n" + DATASET, "import abc, \\\n    os\nimport copy\n" + DATASET),
    "with comments": (
        "import abc  # a\n# z\nimport zlib  # b\n" + DATASET,
        "import abc  # a\nimport copy\n# z\nimport zlib  # b\n" + DATASET,
    ),
    "above a try": (
        "import abc\ntry:\n    import b\nexcept ImportError:\n    pass\n" + DATASET,
        "import abc\nimport copy\ntry:\n    import b\nexcept ImportError:\n    pass\n" + DATASET,
    ),
    "where all imports are under a condition": (
        "try:\n    from torch.utils.data import Dataset\nexcept ImportError:\n    Dataset = object\n",
        "import copy\n\ntry:\n    from torch.utils.data import Dataset\nexcept ImportError:\n    Dataset = object\n",
    ),
    "not where functions begin": (
        "def f(): pass\nimport zlib\n" + DATASET,
        "import copy\n\ndef f(): pass\nimport zlib\n" + DATASET,
    ),
    "above a decorator": (
        "@dataclass\nclass A: pass\nfrom torch.utils.data import *\n",
        "import copy\n\n@dataclass\nclass A: pass\nfrom torch.utils.data import *\n",
    ),
    "beside a star": ("from copy import *\n" + DATASET, "import copy\nfrom copy import *\n" + DATASET),
    "beside a longer name": ("import copyreg\n" + DATASET, "import copy\nimport copyreg\n" + DATASET),
    "above a form feed": ("import abc\n\f\n" + DATASET, "import abc\nimport copy\n\f\n" + DATASET),
}


@pytest.mark.parametrize(("before", "after"), NEW.values(), ids=NEW)
def test_a_new_import(before: str, after: str) -> None:
    done = mended(before + ROWS, codes="TLK202").text
    assert done == copied(after)
    assert mended(done, codes="TLK202").text == done


KNOWN = {
    "the module": ("import copy\n", "copy.deepcopy"),
    "the module by another name": ("import copy as cp\n", "cp.deepcopy"),
    "the function": ("from copy import deepcopy\n", "deepcopy"),
    "the function by another name": ("from copy import deepcopy as dc\n", "dc"),
    "beside others": ("import abc, copy as c, zlib\n", "c.deepcopy"),
    "a submodule of it": ("import copy.parts\n", "copy.deepcopy"),
    "between functions": ("def f(): pass\nimport copy\n", "copy.deepcopy"),
}


@pytest.mark.parametrize(("head", "written"), KNOWN.values(), ids=KNOWN)
def test_an_import_that_is_there(head: str, written: str) -> None:
    assert mended(DATASET + head + ROWS, codes="TLK202").text == copied(DATASET + head, written)


FROM, PRIVATE = "from copy import deepcopy\n", "from copy import deepcopy as _deepcopy\n"
UNSEEN = {
    "for type checkers": ("import abc\nif TYPE_CHECKING:\n    import copy\n", FROM, "deepcopy"),
    "under a condition": ("import abc\nif abc:\n    import copy\n", FROM, "deepcopy"),
    "inside a function": ("import abc\ndef f():\n    import copy\n", FROM, "deepcopy"),
    "deleted": ("import abc\nimport copy\ndel copy\n", None, "deepcopy"),
    "bound again": ("import abc\nimport copy\ncopy = 1\n", None, "deepcopy"),
    "bound by a global statement": ("import abc\nimport copy\ndef f():\n    global copy\n    copy = 1\n", None, ""),
    "another function of it": ("import abc\nfrom copy import copy\n", None, "deepcopy"),
    "a name read from elsewhere": ("import abc\nprint(copy)\n", FROM, "deepcopy"),
    "both names taken": ("import abc\ncopy = deepcopy = 1\n", PRIVATE, "_deepcopy"),
    "an attribute": ("import abc\nabc.copy = 1\n", "import copy\n", "copy.deepcopy"),
    "another module of that name": ("import abc\nfrom abc import x as copy\n", None, "deepcopy"),
}


@pytest.mark.parametrize(("head", "new", "written"), UNSEEN.values(), ids=UNSEEN)
def test_an_import_that_does_not_serve(head: str, new: str | None, written: str) -> None:
    done = mended(head + DATASET + ROWS, codes="TLK202").text
    if new is None:
        assert "from copy import deepcopy\n" in done
        assert "return deepcopy(self.data[i])" in done
    else:
        assert done == copied(head.replace("import abc\n", "import abc\n" + new, 1) + DATASET, written)


def test_an_import_below_its_use_does_not_serve() -> None:
    done = mended(DATASET + ROWS + "import copy\n", codes="TLK202").text
    assert done == "from copy import deepcopy\n\n" + copied(DATASET, "deepcopy") + "import copy\n"


@pytest.mark.parametrize(
    ("line", "local"),
    [("        copy = 1\n", ""), ("        import copy\n", ""), ("", "copy"), ("        lambda copy: 1\n", "no")],
)
def test_names_inside_the_function(line: str, local: str) -> None:
    rows = ROWS.replace("        return self", f"{line}        return self")
    if local == "copy":
        rows = rows.replace("(self, i)", "(self, i, copy=None)")
    done = mended("import copy\n" + DATASET + rows, codes="TLK202").text
    assert ("return copy.deepcopy(" in done) is (local == "no")
    assert ("return deepcopy(" in done) is (local != "no")


def test_a_method_of_that_name_is_no_obstacle() -> None:
    rows = ROWS.replace("    def __len__", "    def copy(self): pass\n    def __len__")
    assert "return copy.deepcopy(" in mended("import copy\n" + DATASET + rows, codes="TLK202").text


def test_a_file_without_functions_at_its_top() -> None:
    text = DATASET + "try:\n" + "".join(f"    {line}\n" for line in ROWS.splitlines()) + "finally:\n    pass\n"
    done = mended(text, codes="TLK202").text
    assert done == "import copy\n\n" + text.replace("return self.data[i]", "return copy.deepcopy(self.data[i])")


def test_no_free_name() -> None:
    text = DATASET + "copy = deepcopy = _deepcopy = 1\n" + ROWS
    done = mended(text, codes="TLK202")
    assert done.text == text
    assert [each.unfixed for each in done.left] == ["no free name to import copy.deepcopy under"]


def test_numpy_comes_by_its_usual_name() -> None:
    rows = ROWS.replace("[{'a': [i]} for i in range(root)]", "sorted(glob.glob(root))")
    for head, after, name in [
        ("import glob\n\nimport torch\n", "import glob\n\nimport numpy as np\nimport torch\n", "np"),
        ("import glob\n\nimport numpy\n", "import glob\n\nimport numpy\n", "numpy"),
        ("import glob\n\nimport numpy as n\n", "import glob\n\nimport numpy as n\n", "n"),
    ]:
        done = mended(head + DATASET + rows, unsafe=True, codes="TLK101").text
        assert done.startswith(after + DATASET)
        assert f"{name}.array([each.encode() for each in sorted(glob.glob(root))], dtype={name}.bytes_)" in done
    (finding,) = mended("import glob\nnp = 1\n" + DATASET + rows, unsafe=True, codes="TLK101").left
    assert finding.unfixed == "no free name to import numpy under"


LOADER = "from torch.utils.data import DataLoader, Dataset\n"
PHOTOS = """\
class Photos(Dataset):
    def __len__(self):
        return 9
    def __getitem__(self, i):
        return {}(load(i), (900, 900))
DataLoader(Photos(), num_workers=2)
"""
CALL = "\ncv2.setNumThreads(0)\n"

THREADS = {
    "below the imports": ("import cv2\n" + LOADER, "cv2.resize", "import cv2\n" + LOADER + CALL + "\n"),
    "by another name": (
        "import cv2 as cv\n" + LOADER,
        "cv.resize",
        "import cv2 as cv\n" + LOADER + "\ncv.setNumThreads(0)\n\n",
    ),
    "where one function is imported": (
        "from cv2 import resize\n" + LOADER,
        "resize",
        "import cv2\nfrom cv2 import resize\n" + LOADER + CALL + "\n",
    ),
    "where it is itself imported": (
        "from cv2 import resize, setNumThreads as threads\n" + LOADER,
        "resize",
        "from cv2 import resize, setNumThreads as threads\n" + LOADER + "\nthreads(0)\n\n",
    ),
    "where the name is taken": (
        "from cv2 import resize\ncv2 = 1\n" + LOADER,
        "resize",
        "from cv2 import resize\nfrom cv2 import setNumThreads\ncv2 = 1\n" + LOADER + "\nsetNumThreads(0)\n\n",
    ),
    "above blank lines": ("import cv2\n" + LOADER + "\n\n", "cv2.resize", "import cv2\n" + LOADER + CALL + "\n\n"),
    "below brackets": (
        "import cv2\nfrom torch.utils.data import (\n    DataLoader, Dataset,\n)\n",
        "cv2.resize",
        "import cv2\nfrom torch.utils.data import (\n    DataLoader, Dataset,\n)\n" + CALL + "\n",
    ),
    "below what shares the line": (
        "import cv2; " + LOADER.strip() + "; sizes = [\n    1]\n",
        "cv2.resize",
        "import cv2; " + LOADER.strip() + "; sizes = [\n    1]\n" + CALL + "\n",
    ),
    "below a late import": (
        LOADER + "def load(i): pass\nimport cv2\n",
        "cv2.resize",
        LOADER + "def load(i): pass\nimport cv2\n" + CALL + "\n",
    ),
}


@pytest.mark.parametrize(("head", "called", "after"), THREADS.values(), ids=THREADS)
def test_threads_are_turned_off_below_the_imports(head: str, called: str, after: str) -> None:
    photos = PHOTOS.format(called)
    (finding,) = mended(head + photos).left
    assert finding.fixable == "unsafe"
    done = mended(head + photos, unsafe=True).text
    assert done == after + photos
    assert mended(done, unsafe=True).text == done


def test_cv2_under_a_condition_is_left() -> None:
    text = LOADER + "try:\n    import cv2\nexcept ImportError:\n    cv2 = None\n" + PHOTOS.format("cv2.resize")
    done = mended(text, unsafe=True)
    assert done.text == text
    assert [each.unfixed for each in done.left] == ["cv2 is imported under a condition or inside a function"]


def test_one_thread_becomes_none() -> None:
    text = (
        "import cv2\n" + LOADER + "def init(number): cv2.setNumThreads( 1 )  # 1\n"
        + PHOTOS.format("cv2.resize").replace("num_workers=2", "num_workers=2, worker_init_fn=init")
    )  # fmt: skip
    assert mended(text, unsafe=True).text == text.replace("( 1 )", "( 0 )")


def test_imports_at_the_end_of_a_file_without_a_newline() -> None:
    text = PHOTOS.format("cv2.resize").replace("Dataset", "torch.utils.data.Dataset").replace("DataLoader", "torch.D")
    text += "from torch.utils.data import DataLoader\nDataLoader(Photos(), num_workers=2)\nimport cv2, torch"
    done = mended(text, unsafe=True).text
    assert done == "from cv2 import setNumThreads\n\nsetNumThreads(0)\n\n" + text
