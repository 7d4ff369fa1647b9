"""What a call evaluates to: the libraries' functions, methods of known values, helpers of the file, names.

Effects of single torch and numpy operations are in `values.py`; here is what makes or reads containers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.growth import SMALL_RANGE
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import (
    ARRAY_METHODS, FLAG, NONE, NUMBER, NUMPY_FUNCTIONS, STRING, TENSOR_METHODS, TORCH_FUNCTIONS, UNKNOWN, Effect, Kind, Sharing,
    Size, Value, apply, join,
)

if TYPE_CHECKING:
    from flake8_torchleak.model.classes import ClassFacts
    from flake8_torchleak.model.infer import Env, Infer

_FROM_DISK = frozenset({
    "glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk", "natsort.natsorted", "mmengine.scandir",
    "mmcv.scandir", "mmengine.list_from_file", "mmcv.list_from_file", "list_files", "scandir",
})  # fmt: skip
_READERS = frozenset({
    "csv.reader", "csv.DictReader", "jsonlines.open", "jsonlines.Reader", "tarfile.open", "zipfile.ZipFile",
})  # fmt: skip
_JSON = frozenset({
    "json.load", "json.loads", "ujson.load", "orjson.loads", "simplejson.load", "yaml.safe_load", "yaml.load",
    "yaml.full_load", "mmcv.load", "mmengine.load", "mmengine.fileio.load", "toml.load", "srsly.read_json",
    "scipy.io.loadmat",
})  # fmt: skip
_PICKLES = frozenset({
    "pickle.load", "pickle.loads", "cPickle.load", "joblib.load", "dill.load", "cloudpickle.load", "pandas.read_pickle",
    "_pickle.load", "pickle5.load", "torch.load", "compress_pickle.load", "hickle.load",
})  # fmt: skip
_FRAMES = frozenset({
    "read_csv", "read_table", "read_excel", "read_json", "read_parquet", "read_feather", "read_hdf", "DataFrame", "Series",
    "read_sql", "concat", "merge",
})  # fmt: skip
_SHARED = frozenset({
    "load_dataset", "load_from_disk", "pyarrow.array", "pyarrow.table", "TorchSerializedList", "NumpySerializedList",
    "DatasetFromList", "Dataset.from_list", "Dataset.from_dict", "Dataset.from_pandas", "Dataset.from_generator",
    "Dataset.from_csv", "Dataset.from_json", "Dataset.from_parquet", "SharedList", "polars.read_csv",
})  # fmt: skip
_INDEXES = frozenset({"COCO", "LVIS", "Lvis", "CocoAPI", "VQA", "REFER", "YTVIS", "TAO"})
_CONTAINERS = {
    "list": Kind.LIST, "tuple": Kind.TUPLE, "set": Kind.SET, "frozenset": Kind.SET, "sorted": Kind.LIST, "dict": Kind.DICT,
    "collections.OrderedDict": Kind.DICT, "collections.defaultdict": Kind.DICT, "collections.Counter": Kind.DICT,
    "collections.deque": Kind.DEQUE, "queue.Queue": Kind.DEQUE, "queue.SimpleQueue": Kind.DEQUE, "collections.UserList": Kind.LIST, "collections.ChainMap": Kind.DICT,
}  # fmt: skip
_PASS_ALONG = frozenset({
    "enumerate", "reversed", "iter", "map", "filter", "itertools.chain", "itertools.islice", "chain.from_iterable",
    "itertools.chain.from_iterable", "tqdm", "tqdm.tqdm", "trange", "track", "progress_bar", "random.sample", "next",
    "copy.copy", "copy.deepcopy", "deepcopy", "itertools.cycle", "ProgressBar", "Bar", "prefetch",
})  # fmt: skip
_NUMBERS = frozenset({"len", "float", "int", "bool", "round", "abs", "hash", "ord", "id", "isinstance", "math.exp", "math.log"})
_DIM_REDUCTIONS = frozenset({"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"})
_MODULE_RETURNS_SELF = frozenset({"to", "cuda", "cpu", "eval", "train", "half", "float", "double", "requires_grad_", "apply"})
_MODULE_FORWARDS = frozenset({"forward", "forward_train", "training_step", "encode", "decode", "log_prob", "get_loss", "calculate_loss"})
_OF_DISTRIBUTIONS = frozenset({"log_prob", "entropy", "rsample", "sample"})
_SPLITS = frozenset({"split", "chunk", "unbind", "tensor_split"})
PLACING = frozenset({"prepare", "setup_dataloaders", "prepare_data_loader", "setup_dataloader"})
"""Methods of accelerate and Fabric whose loaders move every batch to the device."""
_TEXT_TESTS = frozenset({"endswith", "startswith", "isdigit", "isalpha", "is_file", "exists", "is_dir"})
_FILE_LINES = frozenset({"readlines", "splitlines"})


class Calls:
    """Values of call expressions."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def value(self, node: ast.Call, env: Env) -> Value:
        """What is known of the call's result."""
        qualname = self.infer.names.qualname(node.func)
        if qualname:
            found = self._library(node, qualname, env)
            if found is not None:
                return found
        helper = self.infer.classes.callee(node)
        if helper is not None:
            return self._helper(node, helper, env)
        constructed = self.infer.classes.of(node.func)
        if constructed is not None:
            return self._instance(constructed)
        if isinstance(node.func, ast.Attribute):
            found = self._method(node, node.func, env)
            if found is not None:
                return found
        return self._by_name(node, env)

    # -- library functions ----------------------------------------------------------------------------------

    def _library(self, node: ast.Call, qualname: str, env: Env) -> Value | None:
        head, _, last = qualname.rpartition(".")
        root = qualname.partition(".")[0]
        two = ".".join(qualname.split(".")[-2:])
        if root == "torch":
            return self._torch(node, qualname, head, last, env)
        if root in ("numpy", "np"):
            return self._numpy(node, last, env)
        if qualname in ("open", "io.open", "gzip.open", "codecs.open", "smart_open.open", "fsspec.open", "h5py.File", "bz2.open"):
            return Value(Kind.FILE, size=Size.GROWS)
        if qualname in _JSON or qualname in _PICKLES:
            return self._loaded(node, Kind.JSON if qualname in _JSON else Kind.PICKLE, qualname)
        if qualname in _FROM_DISK:
            element = Value(Kind.TUPLE) if last in ("walk",) else STRING
            kind = Kind.LIST if last in ("glob", "listdir", "natsorted", "list_from_file") else Kind.ITERATOR
            return Value(kind, size=Size.GROWS, element=element, why=((node, f"lists files with `{qualname}`"),))
        if qualname in _READERS:
            return Value(Kind.ITERATOR, size=Size.GROWS, element=UNKNOWN, why=((node, f"reads rows with `{qualname}`"),))
        if root in ("pandas", "pd") and last in _FRAMES:
            return Value(Kind.FRAME, size=Size.GROWS, why=((node, f"a table from `{qualname}`"),))
        if qualname in _SHARED or two in _SHARED or last in _SHARED or root in ("datasets", "pyarrow", "polars"):
            return Value(Kind.SHARED)
        if last in _INDEXES:
            return Value(Kind.INDEX, size=Size.GROWS, why=((node, f"`{last}` indexes every annotation of its file"),))
        if qualname in _CONTAINERS:
            return self._container(node, _CONTAINERS[qualname], qualname, env)
        if qualname == "zip":
            return self._zip(node, env)
        if qualname == "range":
            return self._range(node, env)
        if qualname in _PASS_ALONG or last in ("tqdm", "trange", "track", "prange"):
            return self._passed(node, last, env)
        if last == "abs" and node.args:
            return self.infer.value(node.args[0], env).but(origin=None)
        if qualname in _NUMBERS:
            return NUMBER
        if qualname in ("str", "repr", "os.path.join", "os.path.basename", "os.path.abspath", "input", "format"):
            return STRING
        if qualname == "sum":
            return self._summed(node, env)
        if qualname in ("max", "min") and node.args:
            values = [self.infer.value(a, env) for a in node.args]
            return join(values) if len(values) > 1 else self.infer.element(values[0])
        if last == "Path" or qualname.startswith("pathlib."):
            return Value(Kind.PATH)
        if last in ("default_collate", "default_convert"):
            return UNKNOWN
        if root in ("torchmetrics", "torcheval", "ignite"):
            return Value(Kind.METRIC)
        if root == "torchvision":
            made = Kind.MODULE if ".models" in qualname else Kind.TENSOR if ".transforms.functional" in qualname else Kind.UNKNOWN
            return Value(made) if made is not Kind.UNKNOWN else None
        if last.endswith("DataLoader"):
            return Value(Kind.LOADER, made=node)
        return None

    def _torch(self, node: ast.Call, qualname: str, head: str, last: str, env: Env) -> Value | None:
        if head in ("torch.nn", "torch.nn.modules", "torch.nn.modules.loss", "torch.nn.parallel"):
            return Value(Kind.LOSS if last.endswith("Loss") else Kind.MODULE) if last[:1].isupper() else None
        if head == "torch.nn.functional":
            return Value(Kind.TENSOR, graph=self._graph(node, env))
        if qualname == "torch.load":
            return self._loaded(node, Kind.PICKLE, qualname)
        if last == "DataLoader":
            return Value(Kind.LOADER, made=node)
        if head in ("torch.utils.data", "torch.utils.data.dataset"):
            made = self.infer.value(node.args[0], env).made if node.args else None
            inner = Value(Kind.DATASET, made=made)
            return Value(Kind.LIST, size=Size.SMALL, element=inner) if last == "random_split" else inner
        if head == "torch.distributions":
            return Value(graph=self._graph(node, env))
        effect = TORCH_FUNCTIONS.get(last) if head in ("torch", "torch.special") else None
        if effect is None:
            return None
        arguments = [self.infer.value(a, env) for a in node.args]
        first = arguments[0] if arguments else UNKNOWN
        if last in _DIM_REDUCTIONS and self._reduces(node, arguments, 1):
            return self._with_indices(first)
        if last == "tensor":
            return Value(Kind.TENSOR, graph=False)
        if effect.sharing is Sharing.COPY:
            return Value(Kind.TENSOR, graph=self._graph(node, env) if effect.graph else False)
        if last in ("as_tensor", "asarray", "from_numpy") and first.kind in (Kind.ARRAY, Kind.TENSOR) and len(node.args) + len(node.keywords) == 1:
            return apply(Effect(Kind.TENSOR, Sharing.VIEW, False), first)
        return apply(effect, first)

    def _graph(self, node: ast.Call, env: Env) -> bool | None:
        """Whether history reaches the result: yes if any argument brings it, no if none can."""
        values = [self.infer.value(a, env) for a in node.args] + [self.infer.value(k.value, env) for k in node.keywords]
        if any(v.graph for v in values):
            return True
        return False if values and all(v.graph is False for v in values) else None

    def _numpy(self, node: ast.Call, last: str, env: Env) -> Value | None:
        keywords = {k.arg: k.value for k in node.keywords}
        if last in ("load", "memmap", "open_memmap", "genfromtxt", "loadtxt", "fromfile", "load_npz"):
            pickled = keywords.get("allow_pickle")
            kind = Kind.OBJECTS if isinstance(pickled, ast.Constant) and pickled.value else Kind.ARRAY
            return Value(kind, size=Size.GROWS, why=((node, f"loaded with `np.{last}`"),))
        effect = NUMPY_FUNCTIONS.get(last)
        if effect is None:
            return Value(Kind.ARRAY, graph=False) if not last[:1].isupper() else UNKNOWN
        first = self.infer.value(node.args[0], env) if node.args else UNKNOWN
        if last in ("array", "asarray", "asanyarray"):
            dtype = keywords.get("dtype", node.args[1] if len(node.args) > 1 else None)
            if dtype is not None and (last_name(dtype) in ("object", "object_") or getattr(dtype, "value", "") == "object"):
                return Value(Kind.OBJECTS, size=first.size, why=first.why)
            copies = keywords.get("copy")
            if isinstance(copies, ast.Constant) and copies.value is not True:
                effect = NUMPY_FUNCTIONS["asarray"]
            if effect.sharing is Sharing.DTYPE and first.origin and dtype is None and first.kind is not Kind.LIST:
                return apply(Effect(Kind.ARRAY, Sharing.VIEW, False), first)
        return apply(effect, first).but(ndim=self._ndim(node, last, first))

    @staticmethod
    def _ndim(node: ast.Call, last: str, first: Value) -> int | None:
        """1 for what is one-dimensional for sure, else unknown."""
        if last in ("arange", "linspace", "ravel", "unique"):
            return 1
        if last in ("zeros", "ones", "empty", "full") and node.args:
            shape = node.args[0]
            plain = isinstance(shape, ast.Constant) or (isinstance(shape, ast.Call) and last_name(shape.func) == "len")
            return 1 if plain else None
        if last in ("array", "asarray") and first.element is not None and first.element.kind in (Kind.NUMBER, Kind.STRING):
            return 1
        return None

    def _loaded(self, node: ast.Call, kind: Kind, qualname: str) -> Value:
        words = " ".join(self._words(node, 3))
        size = Size.SMALL if hints.is_small_file(words) else Size.GROWS
        return Value(kind, size=size, why=((node, f"read from a file with `{qualname}`"),) if size is Size.GROWS else ())

    def _words(self, node: ast.AST, depth: int) -> list[str]:
        """Names and strings in an expression and in what its file variable was opened from."""
        found: list[str] = []
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute):
                found.append(each.attr)
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.append(each.value)
            elif isinstance(each, ast.Name) and each is not node:
                found.append(each.id)
                if depth and isinstance(each.ctx, ast.Load):
                    for definition in self.infer.flow.reaching(each.id, each)[:3]:
                        if definition.value is not None:
                            found += self._words(definition.value, depth - 1)
        return found[:60]

    def _container(self, node: ast.Call, kind: Kind, qualname: str, env: Env) -> Value:
        if qualname.startswith("queue."):
            return Value(Kind.DEQUE, size=Size.SMALL)
        if kind is Kind.DEQUE and (len(node.args) > 1 or any(k.arg == "maxlen" for k in node.keywords)):
            return Value(Kind.DEQUE, size=Size.SMALL, items=())
        if qualname == "collections.defaultdict":
            factory = last_name(node.args[0]) if node.args else ""
            element = Value(Kind.LIST, size=Size.SMALL) if factory == "list" else Value(Kind.DICT, size=Size.SMALL) if factory == "dict" else None
            return Value(Kind.DICT, size=Size.SMALL, element=element)
        if not node.args:
            values = [self.infer.value(k.value, env) for k in node.keywords]
            fields = tuple((k.arg, v) for k, v in zip(node.keywords, values, strict=True) if k.arg)
            return Value(kind, size=Size.SMALL, element=join(values) if values else None, fields=fields)
        first = self.infer.value(node.args[0], env)
        size, why = self.infer.growth.iteration([node.args[0]], env)
        element = first.element if first.element is not None else self.infer.element(first).but(origin=None)
        if kind is Kind.DICT and first.kind is Kind.ITERATOR and first.element is not None and len(first.element.items) == 2:
            element = first.element.items[1]
        if first.kind is Kind.SET and kind is not Kind.SET:
            size = Size.UNKNOWN if size is Size.GROWS else size  # distinct values: class names more often than samples
        return Value(kind, graph=first.graph, size=size, element=element, why=why or ((node, f"built with `{qualname}`"),))

    def _zip(self, node: ast.Call, env: Env) -> Value:
        values = [self.infer.value(a, env) for a in node.args]
        size, why = self.infer.growth.iteration(list(node.args), env) if node.args else (Size.UNKNOWN, ())
        items = tuple(self.infer.element(v, a) for v, a in zip(values, node.args, strict=True))
        return Value(Kind.ITERATOR, size=size, element=Value(Kind.TUPLE, items=items), why=why)

    def _range(self, node: ast.Call, env: Env) -> Value:
        end = node.args[0] if len(node.args) == 1 else node.args[1] if len(node.args) > 1 else None
        if isinstance(end, ast.Constant) and isinstance(end.value, int):
            size = Size.SMALL if end.value <= SMALL_RANGE else Size.GROWS
            return Value(Kind.RANGE, size=size, element=NUMBER)
        if isinstance(end, ast.Call) and last_name(end.func) == "len" and end.args:
            size, why = self.infer.growth.iteration([end.args[0]], env)
            return Value(Kind.RANGE, size=size, element=NUMBER, why=why)
        return Value(Kind.RANGE, element=NUMBER)

    def _passed(self, node: ast.Call, last: str, env: Env) -> Value:
        if not node.args:
            iterable = next((k.value for k in node.keywords if k.arg in ("iterable", "sequence")), None)
            return self.infer.value(iterable, env) if iterable is not None else UNKNOWN
        if last == "map" and len(node.args) > 1:
            size, why = self.infer.growth.iteration([node.args[1]], env)
            return Value(Kind.ITERATOR, size=size, why=why, element=STRING if last_name(node.args[0]) == "str" else None)
        argument = node.args[-1] if last in ("map", "filter") else node.args[0]
        value = self.infer.value(argument, env)
        if last == "from_iterable":
            inner = self.infer.element(value, argument)
            return Value(Kind.ITERATOR, size=Size.GROWS if value.grows else inner.size, element=inner.element, why=value.why)
        if last == "next":
            return self.infer.element(value, argument)
        if last in ("copy", "deepcopy"):
            graph = None if value.graph and last == "copy" else value.graph  # copy.copy of a tensor drops its history
            return value.but(origin=None, graph=graph) if value.kind is not Kind.MODULE else value
        if last == "enumerate":
            size = value.size
            inner = self.infer.element(value, argument)
            if value.kind is Kind.FILE or value.kind is Kind.FRAME:
                size = Size.GROWS
            return Value(Kind.ITERATOR, size=size, element=Value(Kind.TUPLE, items=(NUMBER, inner)), why=value.why)
        if last == "trange":
            return Value(Kind.RANGE, element=NUMBER)
        return value

    def _summed(self, node: ast.Call, env: Env) -> Value:
        value = self.infer.value(node.args[0], env) if node.args else UNKNOWN
        element = value.element or UNKNOWN
        return Value(Kind.TENSOR, graph=True) if element.graph or value.graph else NUMBER if element.kind is Kind.NUMBER else UNKNOWN

    @staticmethod
    def _reduces(node: ast.Call, arguments: list[Value], least: int) -> bool:
        """Whether a reduction is given a dimension rather than a second tensor."""
        by_keyword = any(k.arg in ("dim", "k", "axis") for k in node.keywords)
        return by_keyword or (len(arguments) > least and arguments[least].kind is not Kind.TENSOR)

    @staticmethod
    def _with_indices(value: Value) -> Value:
        """`max(dim)`, `sort`, `topk`: values carry the graph, indices never do."""
        return Value(Kind.TUPLE, graph=value.graph, items=(Value(Kind.TENSOR, graph=value.graph), Value(Kind.TENSOR, graph=False)))

    # -- helpers and classes of the file --------------------------------------------------------------------

    def _helper(self, node: ast.Call, function: FunctionNode, env: Env) -> Value:
        if function.name in ("forward", "__call__") and not env:
            owner = self.infer.classes.around(function)
            if owner is not None and owner.has_base("Module", "LightningModule"):
                return Value(graph=True)
        expected = parameters(function)
        if self.infer.tree.class_of(function) is not None and isinstance(node.func, ast.Attribute) and expected:
            expected = expected[1:] if not any(last_name(d) == "staticmethod" for d in function.decorator_list) else expected
        bound: dict[ast.arg, Value] = dict(env)
        for parameter, argument in zip(expected, node.args, strict=False):
            if not isinstance(argument, ast.Starred):
                bound[parameter] = self._bound(argument, parameter, function, env)
        by_name = {p.arg: p for p in expected}
        for keyword in node.keywords:
            if keyword.arg in by_name:
                bound[by_name[keyword.arg]] = self._bound(keyword.value, by_name[keyword.arg], function, env)
        from flake8_torchleak.model.infer import Env

        return self.infer.returned(function, Env(bound))

    def _bound(self, argument: ast.expr, parameter: ast.arg, function: FunctionNode, env: Env) -> Value:
        value = self.infer.value(argument, env)
        if value.kind is Kind.UNKNOWN and value.graph is None and value.origin is None:
            return self.infer.parameter(parameter, function)
        return value

    def _instance(self, facts: ClassFacts) -> Value:
        names = [last_name(base) for base in facts.outer_bases]
        if any(name.endswith(("Module", "Model", "Net")) for name in names):
            return Value(Kind.MODULE)
        if any(name.endswith("Dataset") for name in names):
            return Value(Kind.DATASET, made=facts.node)
        if any(name.endswith("DataLoader") for name in names):
            return Value(Kind.LOADER)
        if any(name.endswith("Metric") for name in names):
            return Value(Kind.METRIC, made=facts.node)
        return Value(Kind.INSTANCE, made=facts.node)

    # -- methods of known values ----------------------------------------------------------------------------

    def _method(self, node: ast.Call, func: ast.Attribute, env: Env) -> Value | None:
        base = self.infer.value(func.value, env)
        name = func.attr
        if base.kind is Kind.TENSOR or (base.kind is Kind.UNKNOWN and (base.graph is not None or base.origin)):
            found = self._tensor_method(node, base, name, env)
            if found is not None:
                return found
        if base.kind is Kind.ARRAY and name in ARRAY_METHODS:
            return self._array_method(node, base, name)
        if base.kind is Kind.MODULE:
            return self._module_method(node, name, env)
        if base.is_container or base.kind in (Kind.PICKLE, Kind.ITERATOR):
            return self._container_method(node, base, name, env)
        if base.kind is Kind.OBJECTS and name in ("item", "tolist"):
            return Value(Kind.JSON if name == "item" else Kind.LIST, size=Size.GROWS, why=base.why)
        if base.kind is Kind.FILE:
            return self._file_method(node, name)
        if base.kind is Kind.FRAME or name in ("iterrows", "itertuples", "to_dict", "to_records"):
            return self._frame_method(node, base, name)
        if base.kind is Kind.LOADER and name == "dataset":
            return Value(Kind.DATASET)
        return self._any_method(node, func, base, name, env)

    def _tensor_method(self, node: ast.Call, base: Value, name: str, env: Env) -> Value | None:
        effect = TENSOR_METHODS.get(name)
        if effect is None:
            if name == "to":
                return self._moved(node, base)
            if name == "cuda":
                return Value(Kind.TENSOR, graph=base.graph, why=base.why)
            if name == "requires_grad_" and base.kind is Kind.TENSOR:
                return Value(Kind.TENSOR, graph=True if not node.args else None)
            if name in _SPLITS:
                return Value(Kind.TUPLE, size=Size.SMALL, graph=base.graph, element=Value(Kind.TENSOR, graph=base.graph).within(base))
            if name.endswith("_") and base.kind is Kind.TENSOR:
                return Value(Kind.TENSOR, graph=base.graph or self._graph(node, env))
            if name in ("get", "pop") and base.kind is Kind.UNKNOWN:
                return self.infer.element(base)
            if name in _OF_DISTRIBUTIONS and base.graph:
                return Value(Kind.TENSOR, graph=name != "sample")
            return None
        arguments = [self.infer.value(a, env) for a in node.args]
        if name in _DIM_REDUCTIONS and self._reduces(node, [base, *arguments], 1):
            return self._with_indices(base)
        if effect.graph and base.graph is False and any(a.graph is not False for a in arguments):
            return Value(Kind.TENSOR, graph=True if any(a.graph for a in arguments) else None)
        if name == "numpy" and base.graph and base.kind is Kind.UNKNOWN:
            return Value(Kind.ARRAY, graph=False)
        found = apply(effect, base)
        return found if base.kind is Kind.TENSOR or base.graph is not None or base.origin else None

    def _moved(self, node: ast.Call, base: Value) -> Value:
        """`.to(...)`: the same tensor for "cpu" (a batch is there already), new memory or unknown for the rest."""
        first = node.args[0] if node.args else None
        stays = isinstance(first, ast.Constant) and first.value == "cpu" and len(node.args) + len(node.keywords) == 1
        if stays:
            return apply(TENSOR_METHODS["cpu"], base)
        if first is not None and last_name(first) in ("long", "int", "int64", "int32", "bool", "uint8", "short"):
            return Value(Kind.TENSOR, graph=False)
        if first is not None and self.infer.value(first).kind is Kind.TENSOR:
            return Value(Kind.TENSOR, graph=None if base.graph else base.graph)
        return Value(base.kind if base.kind is Kind.TENSOR else Kind.UNKNOWN, graph=base.graph, why=base.why)

    def _array_method(self, node: ast.Call, base: Value, name: str) -> Value:
        effect = ARRAY_METHODS[name]
        if name == "astype" and any(k.arg == "copy" and getattr(k.value, "value", True) is False for k in node.keywords):
            effect = Effect(Kind.ARRAY, Sharing.DTYPE, False)
        return apply(effect, base).but(ndim=1 if name in ("ravel", "flatten") else None)

    def _module_method(self, node: ast.Call, name: str, env: Env) -> Value:
        if name in _MODULE_RETURNS_SELF:
            return Value(Kind.MODULE)
        if name in _MODULE_FORWARDS or (hints.computes_loss(name)):
            return Value(graph=True)
        return UNKNOWN

    def _container_method(self, node: ast.Call, base: Value, name: str, env: Env) -> Value | None:
        if name in ("keys", "values", "items"):
            inner = base.element or UNKNOWN
            if base.origin and not inner.origin:
                inner = inner.but(origin=base.origin)
            key = NUMBER if base.kind is Kind.INDEX else UNKNOWN
            element = {"keys": key, "values": inner, "items": Value(Kind.TUPLE, items=(key, inner))}[name]
            return Value(Kind.ITERATOR, graph=base.graph, size=base.size, element=element, why=base.why)
        if name in ("get", "pop", "popleft", "setdefault", "__getitem__"):
            return self.infer.element(base, node)
        if name == "copy":
            return base.but(origin=None)
        if base.kind is Kind.INDEX:
            origin = base.origin
            if name in ("getImgIds", "getAnnIds", "getCatIds", "get_img_ids", "get_ann_ids"):
                size = Size.SMALL if "Cat" in name or node.args or node.keywords else Size.GROWS
                return Value(Kind.LIST, size=size, element=NUMBER, why=base.why)
            return Value(Kind.LIST, size=Size.SMALL, element=Value(Kind.DICT, origin=origin), origin=None, why=base.why)
        if name in ("most_common", "namelist", "getnames", "getmembers"):
            return Value(Kind.LIST, size=base.size, why=base.why)
        return NONE if name in ("append", "extend", "update", "clear", "sort", "reverse", "insert", "remove") else None

    def _file_method(self, node: ast.Call, name: str) -> Value | None:
        if name in _FILE_LINES or name in ("keys", "namelist", "getnames"):
            return Value(Kind.LIST, size=Size.GROWS, element=STRING, why=((node, f"every line of a file, by `{name}`"),))
        return STRING if name in ("read", "readline") else None

    def _frame_method(self, node: ast.Call, base: Value, name: str) -> Value:
        if name in ("tolist", "to_list"):
            unique = isinstance(node.func, ast.Attribute) and "unique" in ast.dump(node.func.value)
            size = Size.UNKNOWN if unique else Size.GROWS
            return Value(Kind.LIST, size=size, why=((node, f"a column turned into a list by `{name}`"),))
        if name == "to_dict":
            kind = Kind.LIST if any(getattr(a, "value", "") == "records" for a in [*node.args, *(k.value for k in node.keywords)]) else Kind.DICT
            return Value(kind, size=Size.GROWS, element=Value(Kind.DICT), why=((node, "a table turned into Python objects by `to_dict`"),))
        if name in ("iterrows", "itertuples", "groupby", "items"):
            return Value(Kind.ITERATOR, size=Size.GROWS, element=UNKNOWN, why=((node, f"one entry per row, by `{name}`"),))
        if name in ("unique", "to_numpy", "nunique"):
            return Value(Kind.ARRAY)
        return Value(Kind.FRAME, why=base.why)

    def _any_method(self, node: ast.Call, func: ast.Attribute, base: Value, name: str, env: Env) -> Value | None:
        if name in ("glob", "rglob", "iterdir") and base.kind in (Kind.PATH, Kind.UNKNOWN, Kind.STRING):
            return Value(Kind.ITERATOR, size=Size.GROWS, element=Value(Kind.PATH), why=((node, f"lists files with `{name}`"),))
        if name in _FILE_LINES and base.kind in (Kind.UNKNOWN, Kind.STRING):
            return Value(Kind.LIST, size=Size.GROWS, element=STRING, why=((node, f"every line of a file, by `{name}`"),))
        if name == "read_text":
            return STRING
        if name in _TEXT_TESTS:
            return FLAG
        if name == "split":
            whole = isinstance(func.value, ast.Call) and last_name(func.value.func) in ("read", "read_text")
            size = Size.GROWS if whole else Size.SMALL if base.kind is Kind.STRING else Size.UNKNOWN
            return Value(Kind.LIST, size=size, element=STRING, why=((node, "every line of a file, by `split`"),) if whole else ())
        if name in ("strip", "rstrip", "lstrip", "lower", "upper", "join", "replace", "decode", "format") and base.kind is Kind.STRING:
            return STRING
        if name in ("getnames", "namelist", "getmembers"):
            return Value(Kind.LIST, size=Size.GROWS, element=STRING, why=((node, f"every member of an archive, by `{name}`"),))
        if name in PLACING and node.args:
            values = [self.infer.value(a, env) for a in node.args if not isinstance(a, ast.Starred)]
            placed = tuple(v.but(made=node) if v.kind is Kind.LOADER else v for v in values)
            return placed[0] if len(node.args) == 1 and placed else Value(Kind.TUPLE, items=placed)
        if name in ("list", "dict") and "anager" in ast.dump(func.value):
            return Value(Kind.SHARED)
        if base.kind is Kind.SHARED:
            return Value(Kind.SHARED)
        return None

    def is_construction(self, node: ast.Call) -> bool:
        """Whether the call makes an object (`Encoder(...)`) rather than running one."""
        return last_name(node.func)[:1].isupper() and last_name(node.func) not in ("G", "D")

    def is_loss_function(self, node: ast.expr) -> bool:
        """Whether an expression calls a loss function that is not in the file, by its name."""
        if not isinstance(node, ast.Call) or self.infer.classes.callee(node) is not None:
            return False
        of_model = isinstance(node.func, ast.Attribute) and self.infer.value(node.func.value).kind is Kind.MODULE
        return not of_model and hints.computes_loss(last_name(node.func))

    def _is_module_self(self, func: ast.Name) -> bool:
        """`self(...)` in a class whose base is a module."""
        facts = self.infer.classes.around(func)
        function = self.infer.tree.function(func)
        return (
            facts is not None and function is not None and self_name(function) == func.id
            and facts.has_base("Module", "Model", "LightningModule")
        )

    # -- by name --------------------------------------------------------------------------------------------

    def _by_name(self, node: ast.Call, env: Env) -> Value:
        func = node.func
        name = last_name(func)
        called = self.infer.value(func, env)
        if isinstance(func, ast.Name) and self._is_module_self(func):
            return Value(graph=True, why=((node, "the module's own forward builds a graph"),))
        if hints.makes_model(name):
            return Value(Kind.MODULE)
        if "transform" in name.lower() and called.kind is not Kind.MODULE and not name[:1].isupper():
            return Value(Kind.TENSOR)
        if called.kind is Kind.MODULE:
            return Value(graph=True, why=((node, f"`{name}(...)` builds a graph"),))
        losses = self.infer.config.loss_names
        if called.kind is Kind.LOSS or name in losses or (hints.computes_loss(name) and not name[:1].isupper()):
            graph = self._graph(node, env)
            return Value(Kind.TENSOR if called.kind is Kind.LOSS else Kind.UNKNOWN, graph=graph, why=((node, "computes the loss"),))
        if name and name[:1].isupper() and not name.isupper():
            if name.endswith("Loss"):
                return Value(Kind.LOSS)
            if name.endswith(("Meter", "Metric", "Logger")):
                return Value(Kind.METRIC)
            if name.endswith(("Net", "Model", "Network", "Transformer", "Encoder", "Decoder", "Generator", "Discriminator")):
                return Value(Kind.MODULE)
            if name.endswith(("Dataset",)):
                return Value(Kind.DATASET)
            return Value(Kind.INSTANCE)
        if name and hints.is_loader(name):
            return Value(Kind.LOADER)
        return UNKNOWN

