"""What library functions give: what reads, lists and makes containers; torch and numpy are in `tensors.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.iterables import Iterables
from flake8_torchleak.model.tensors import Tensors
from flake8_torchleak.model.values import NUMBER, STRING, UNKNOWN, Kind, Size, Value, join

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_FROM_DISK = frozenset({
    "glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk", "natsort.natsorted", "mmengine.scandir",
    "mmcv.scandir", "mmengine.list_from_file", "mmcv.list_from_file", "list_files", "scandir",
})  # fmt: skip
_FILES = frozenset({
    "open", "io.open", "gzip.open", "codecs.open", "smart_open.open", "fsspec.open", "h5py.File", "bz2.open",
})  # fmt: skip
_READERS = frozenset({
    "csv.reader", "csv.DictReader", "jsonlines.open", "jsonlines.Reader", "tarfile.open", "zipfile.ZipFile",
})  # fmt: skip
PARSES = frozenset({
    "json.load", "json.loads", "ujson.load", "orjson.loads", "simplejson.load", "yaml.safe_load", "yaml.load",
    "yaml.full_load", "mmcv.load", "mmengine.load", "mmengine.fileio.load", "toml.load", "srsly.read_json",
    "scipy.io.loadmat",
})  # fmt: skip
_PICKLES = frozenset({
    "pickle.load", "pickle.loads", "cPickle.load", "joblib.load", "dill.load", "cloudpickle.load", "pandas.read_pickle",
    "_pickle.load", "pickle5.load", "compress_pickle.load", "hickle.load",
})  # fmt: skip
_FRAMES = frozenset({
    "read_csv", "read_table", "read_excel", "read_json", "read_parquet", "read_feather", "read_hdf", "DataFrame",
    "Series", "read_sql", "concat", "merge",
})  # fmt: skip
_SHARED = frozenset({
    "load_dataset", "load_from_disk", "pyarrow.array", "pyarrow.table", "TorchSerializedList", "NumpySerializedList",
    "DatasetFromList", "Dataset.from_list", "Dataset.from_dict", "Dataset.from_pandas", "Dataset.from_generator",
    "Dataset.from_csv", "Dataset.from_json", "Dataset.from_parquet", "SharedList", "polars.read_csv",
})  # fmt: skip
INDEXES = frozenset({"COCO", "LVIS", "Lvis", "CocoAPI", "VQA", "REFER", "YTVIS", "TAO"})
"""Classes whose objects hold all annotations of a file, by id."""
_CONTAINERS = {
    "list": Kind.LIST, "tuple": Kind.TUPLE, "set": Kind.SET, "frozenset": Kind.SET, "sorted": Kind.LIST,
    "dict": Kind.DICT,
    "collections.OrderedDict": Kind.DICT, "collections.defaultdict": Kind.DICT, "collections.Counter": Kind.DICT,
    "collections.deque": Kind.DEQUE, "queue.Queue": Kind.DEQUE, "queue.SimpleQueue": Kind.DEQUE,
    "collections.UserList": Kind.LIST, "collections.ChainMap": Kind.DICT,
}  # fmt: skip
_PASS_ALONG = frozenset({
    "enumerate", "reversed", "iter", "map", "filter", "itertools.chain", "itertools.islice", "chain.from_iterable",
    "itertools.chain.from_iterable", "tqdm", "tqdm.tqdm", "trange", "track", "progress_bar", "random.sample", "next",
    "copy.copy", "copy.deepcopy", "deepcopy", "itertools.cycle", "ProgressBar", "Bar", "prefetch",
})  # fmt: skip
_NUMBERS = frozenset(
    {"len", "float", "int", "bool", "round", "abs", "hash", "ord", "id", "isinstance", "math.exp", "math.log"}
)


class Library:
    """Values of calls whose qualified name is known."""

    def __init__(self, infer: Infer, tensors: Tensors) -> None:
        self.infer, self.tensors, self.iterables = infer, tensors, Iterables(infer)

    def value(self, node: ast.Call, qualname: str, env: Env) -> Value | None:
        head, _, last = qualname.rpartition(".")
        root = qualname.partition(".")[0]
        two = ".".join(qualname.split(".")[-2:])
        if qualname in PARSES or qualname in _PICKLES:
            return self._loaded(node, Kind.JSON if qualname in PARSES else Kind.PICKLE, qualname)
        if root == "torch":
            return self.tensors.torch(node, head, last, env)
        if root in ("numpy", "np"):
            return self.tensors.numpy(node, last, env)
        if qualname in _FILES:
            return Value(Kind.FILE, size=Size.GROWS)
        if qualname in _FROM_DISK:
            element = Value(Kind.TUPLE) if last == "walk" else STRING
            kind = Kind.LIST if last in ("glob", "listdir", "natsorted", "list_from_file") else Kind.ITERATOR
            return Value(kind, size=Size.GROWS, element=element, why=((node, f"lists files with `{qualname}`"),))
        if qualname in _READERS:
            return Value(
                Kind.ITERATOR, size=Size.GROWS, element=UNKNOWN, why=((node, f"reads rows with `{qualname}`"),)
            )
        if root in ("pandas", "pd") and last in _FRAMES:
            return Value(Kind.FRAME, size=Size.GROWS, why=((node, f"a table from `{qualname}`"),))
        if qualname in _SHARED or two in _SHARED or last in _SHARED or root in ("datasets", "pyarrow", "polars"):
            return Value(Kind.SHARED)
        if last in INDEXES:
            return Value(Kind.INDEX, size=Size.GROWS, why=((node, f"`{last}` indexes every annotation of its file"),))
        if qualname in _CONTAINERS:
            return self.iterables.container(node, _CONTAINERS[qualname], qualname, env)
        if qualname == "zip":
            return self.iterables.zip(node, env)
        if qualname == "range":
            return self.iterables.range(node, env)
        if qualname in _PASS_ALONG or last in ("tqdm", "trange", "track", "prange"):
            return self.iterables.passed(node, last, env)
        if last == "abs" and node.args:
            return self.infer.value(node.args[0], env).but(origin=None)
        if qualname in _NUMBERS:
            return NUMBER
        if qualname in ("str", "repr", "os.path.join", "os.path.basename", "os.path.abspath", "input", "format"):
            return STRING
        if qualname == "sum":
            return self.iterables.summed(node, env)
        if qualname in ("max", "min") and node.args:
            values = [self.infer.value(a, env) for a in node.args]
            return join(values) if len(values) > 1 else self.infer.parts.element(values[0])
        if last == "Path" or qualname.startswith("pathlib."):
            return Value(Kind.PATH)
        if root in ("torchmetrics", "torcheval", "ignite"):
            return Value(Kind.METRIC)
        if root == "torchvision":
            if ".models" in qualname:
                return Value(Kind.MODULE)
            return Value(Kind.TENSOR) if ".transforms.functional" in qualname else None
        if last.endswith("DataLoader"):
            return Value(Kind.LOADER, made=node)
        return None

    def _loaded(self, node: ast.Call, kind: Kind, qualname: str) -> Value:
        size = Size.SMALL if hints.is_small_file(self._file_name(node)) else Size.GROWS
        return Value(
            kind, size=size, why=((node, f"read from a file with `{qualname}`"),) if size is Size.GROWS else ()
        )

    def _file_name(self, node: ast.AST, depth: int = 3) -> str:
        """The last string in the expression that a loader's file is opened with, followed through variables."""
        found = ""
        for each in ast.walk(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and len(each.value) > 2:
                found = each.value
        if found or not depth:
            return found
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                for definition in self.infer.flow.reaching(each.id, each)[:2]:
                    if definition.value is not None and not found:
                        found = self._file_name(definition.value, depth - 1)
        return found
