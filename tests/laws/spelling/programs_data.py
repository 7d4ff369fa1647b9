"""Base programs of the spelling laws about Datasets, samples and workers; see `programs_graphs.py`."""

from __future__ import annotations

_ROWS = """\
import copy
import json
import numpy
import torch

class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        %s

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        %s
"""
_SERVED = """
def load(path):
    return torch.utils.data.DataLoader(Rows(path), num_workers=4)
"""
_LINES = "self.rows = open(path).read().split()"
_ARRAY = "self.rows = numpy.load(path)"
_TENSOR = "self.rows = torch.zeros(100000, 10)"

PROGRAMS = {
    "a list of lines": _ROWS % (f"{_LINES}  # TLK101", "return len(self.rows[index])") + _SERVED,
    "an array of lines": _ROWS % ("self.rows = numpy.array(open(path).read().split())", "return str(self.rows[index])")
    + _SERVED,
    "a view of an array": _ROWS % (_ARRAY, "return self.rows[index][:2]  # TLK201"),
    "a copied row": _ROWS % (_ARRAY, "return self.rows[index].copy()"),
    "a view of a tensor": _ROWS % (_TENSOR, "return self.rows[index]  # TLK201"),
    "a cloned row": _ROWS % (_TENSOR, "return self.rows[index].clone()"),
    "a row that is changed": _ROWS
    % (_ARRAY, "row = self.rows[index]\n        row += 1  # TLK203\n        return row.copy()"),
    "a copied row that is changed": _ROWS
    % (_ARRAY, "row = self.rows[index].copy()\n        row += 1\n        return row"),
    "a record as it is kept": _ROWS
    % (
        'self.rows = [{"a": each["a"], "b": each["b"]} for each in json.load(open(path))]  # TLK101',
        "return self.rows[index]  # TLK202",
    ),
    "a copied record": _ROWS
    % (
        'self.rows = [{"a": each["a"], "b": each["b"]} for each in json.load(open(path))]  # TLK101',
        "return dict(self.rows[index])",
    ),
    "a deeply copied record": _ROWS
    % (
        'self.rows = [{"a": each["a"], "b": each["b"]} for each in json.load(open(path))]  # TLK101',
        "return copy.deepcopy(self.rows[index])",
    ),
    "a changed record": _ROWS
    % (
        'self.rows = [{"a": each["a"], "b": each["b"]} for each in json.load(open(path))]  # TLK101',
        'row = dict(self.rows[index])\n        row["b"] = 1\n        return row',
    ),
    "tensors one by one": _ROWS
    % (
        "self.rows = [torch.zeros(3) for _ in range(100000)]  # TLK103",
        "return self.rows[index].clone()",
    ),
    "tensors in one": _ROWS
    % (
        "self.rows = torch.stack([torch.zeros(3) for _ in range(100000)])",
        "return self.rows[index].clone()",
    ),
    "all workers give all": """\
import torch

class Stream(torch.utils.data.IterableDataset):
    def __init__(self, data):
        self.data = list(data)  # TLK101

    def __iter__(self):  # TLK303
        for number in self.data:
            yield number

def load():
    return torch.utils.data.DataLoader(Stream(open('rows')), num_workers=4)
""",
    "each worker gives its own": """\
import torch

class Stream(torch.utils.data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        for number in range(info.id, self.count, info.num_workers):
            yield number

def load():
    return torch.utils.data.DataLoader(Stream(10), num_workers=4)
""",
    "batches kept": """\
import torch

def collect(rows):
    kept = []
    for x, y in torch.utils.data.DataLoader(rows, num_workers=2):
        kept.append(y)  # TLK404
    return kept
""",
    "cloned batches": """\
import torch

def collect(rows):
    kept = []
    for x, y in torch.utils.data.DataLoader(rows, num_workers=2):
        kept.append(y.clone())
    return kept
""",
    "batches as numbers": """\
import torch

def collect(rows):
    kept = []
    for x, y in torch.utils.data.DataLoader(rows, num_workers=2):
        kept.append(y.sum().item())
    return kept
""",
    "an archive that is closed": """\
import torch
import zipfile

class Images(torch.utils.data.Dataset):
    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.count = len(archive.namelist())

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return index

def load(path):
    return torch.utils.data.DataLoader(Images(path), num_workers=4)
""",
    "an archive that stays open": """\
import torch
import zipfile

class Images(torch.utils.data.Dataset):
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path)  # TLK105
        self.count = len(self.archive.namelist())

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return len(self.archive.read(str(index)))

def load(path):
    return torch.utils.data.DataLoader(Images(path), num_workers=4)
""",
    "figures that are closed": """\
import matplotlib.pyplot
import torch

def show(rows, net: torch.nn.Linear):
    with torch.no_grad():
        for number, (x, y) in enumerate(torch.utils.data.DataLoader(rows)):
            fig = matplotlib.pyplot.figure()
            matplotlib.pyplot.plot(net(x).flatten())
            fig.savefig(str(number))
            matplotlib.pyplot.close(fig)
""",
    "figures that stay open": """\
import matplotlib.pyplot
import torch

def show(rows, net: torch.nn.Linear):
    with torch.no_grad():
        for number, (x, y) in enumerate(torch.utils.data.DataLoader(rows)):
            fig = matplotlib.pyplot.figure()  # TLK910
            matplotlib.pyplot.plot(net(x).flatten())
            fig.savefig(str(number))
""",
    "threads in workers": """\
import cv2
import torch

class Images(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return cv2.resize(cv2.imread(str(index)), (800, 800))  # TLK301

def load():
    return torch.utils.data.DataLoader(Images(10), num_workers=4)
""",
    "no threads in workers": """\
import cv2
import torch

class Images(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return cv2.resize(cv2.imread(str(index)), (800, 800))

def start(worker):
    cv2.setNumThreads(0)

def load():
    return torch.utils.data.DataLoader(Images(10), num_workers=4, worker_init_fn=start)
""",
}
