"""What to store in the place of a container of Python objects, in words: by what it holds."""

from __future__ import annotations

from flake8_torchleak.model.held import Held
from flake8_torchleak.model.values import Kind, Value

_LISTED = (Kind.LIST, Kind.TUPLE, Kind.DEQUE)


def copied(name: str, value: Value, arrays: bool = False) -> str:
    """What workers do to memory: of arrays, forked ones copy the headers alone. arrays: whether use shows them."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind is Kind.INDEX:
        return f"memory grows by a copy of `{name}` ({described(value)}) in each worker"
    if element is Kind.ARRAY or arrays:
        held = described(value) if element is Kind.ARRAY else "with arrays"
        return f"each worker copies the headers of `{name}` ({held}), a spawned one all of it"
    is_open = value.element is None and value.kind in _OPEN
    if is_open or (value.element is not None and element is Kind.UNKNOWN):
        return f"memory grows by a copy of `{name}` (unless it holds arrays) in each worker"
    return f"memory grows by a copy of `{name}` ({described(value)}) in each worker"


_OPEN = frozenset({Kind.LIST, Kind.DICT, Kind.SET, Kind.DEQUE, Kind.PICKLE, Kind.UNKNOWN})
"""What may hold anything, where nothing is known of its elements."""


def described(value: Value) -> str:
    """The container's type in words."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind in (Kind.PICKLE, Kind.UNKNOWN):
        return "Python objects"
    if value.kind is Kind.JSON:
        return "parsed data"
    if element in (Kind.UNKNOWN, Kind.NONE) or value.kind is Kind.INDEX:
        return str(value.kind.value)
    return f"{value.kind.value} of {'parsed values' if element is Kind.JSON else element.value}"


def is_of_arrays(value: Value) -> bool:
    """Whether a container is known to hold arrays."""
    return value.element is not None and value.element.kind is Kind.ARRAY


def remedy(value: Value, held: Held, arrays: bool = False) -> str:
    """What to store instead, by element type and use."""
    if arrays:
        return "store one array per field (`np.concatenate`), and offsets"
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind is Kind.INDEX:
        return f"store what samples need by id as `PackedDict(...)` {_SHOWN}"
    packed, kind = ("PackedDict", "dict") if held.keyed else ("PackedRecords", "list")
    if held.later:
        return f"read from a `{packed}(...)` made each epoch {_BRIEFLY}"
    if value.kind in _LISTED and element is Kind.NUMBER:
        return "store `torch.tensor(...)` of it"
    if value.kind in _LISTED and element is Kind.PATH:
        return "store `np.array([bytes(p) for p in ...])`, `Path(x.decode())` at the read"
    if value.kind in _LISTED and element is Kind.STRING and held.names:
        return "store `np.array([s.encode() for s in ...])`, `.decode()` at the read"
    if value.kind in _LISTED and element is Kind.ARRAY:
        return "store one `torch.cat(...)`, and offsets"
    if value.kind in _LISTED and _are_rows(value):
        return "store `torch.tensor(...)` of it, a row for each"
    if value.kind is Kind.SET:
        return "store `np.array(sorted(...))`"
    if held.columns:
        return f"store `{{k: PackedRecords(v) for k, v in x.items()}}` {_BRIEFLY}"
    if held.part and len(held.part) <= _LONGEST:
        packed = "PackedRecords" if held.rows else "PackedDict"
        kept = f"set `{held.part} = {packed}(...)`" if held.beside else f"keep only `{packed}({held.part})`"
        return f"{kept} {_BRIEFLY}"
    if held.keyed is None:
        return "store PackedRecords, of a dict PackedDict (classes: `torchleak explain TLK101`)"
    return f"store `{packed}(...)` {_READ_ONLY.format(kind)}"


_SHOWN = "(class: `torchleak explain TLK101`)"
_BRIEFLY = "(`torchleak explain TLK101`)"
_READ_ONLY = "(read-only {}: `torchleak explain TLK101`)"
_LONGEST = 30
"""Of parts that a message shows."""


def advice(name: str, value: Value, held: Held, arrays: bool = False) -> str:
    """The remedy in code, and what it does under each start method."""
    if arrays:
        return (
            f"for each field of `{name}` one array of all elements (`np.concatenate`), and one of the rows where each "
            "ends; pickled records would be copied as a whole at each read"
        )
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind is Kind.INDEX:
        return f"read each record of `{name}` by its id, from a file or a database that the worker opens"
    if value.kind in _LISTED and (element is Kind.NUMBER or _are_rows(value)):
        number = ", `.item()` where a Python number is needed (as a key, an id)" if element is Kind.NUMBER else ""
        return f"`{name} = torch.tensor({name})` once it is filled{number}: all workers share it"
    if value.kind in _LISTED and (element is Kind.PATH or element is Kind.STRING and held.names):
        read = f"Path({name}[i].decode())" if element is Kind.PATH else f"{name}[i].decode()"
        return (
            f"`{name} = np.array([str(each).encode() for each in {name}], dtype=np.bytes_)` once it is filled, "
            f"`{read}` where it is read: forked workers share it, spawned ones get one compact copy"
        )
    if value.kind in _LISTED and element is Kind.ARRAY:
        return (
            f"`self.ends = torch.tensor([len(each) for each in {name}]).cumsum(0)` and "
            f"`{name} = torch.cat([torch.from_numpy(each) for each in {name}])` once it is filled, "
            f"`{name}[self.ends[i - 1] if i else 0 : self.ends[i]]` where it is read: all workers share it"
        )
    if value.kind is Kind.SET:
        return f"`{name} = np.array(sorted({name}))` once it is filled; `np.searchsorted` tells what is in it"
    packed = f"{'PackedDict' if held.keyed else 'PackedRecords'}({name})"
    if held.columns:
        packed = f"{{k: PackedRecords(v) for k, v in {name}.items()}}"
    if held.part:
        packed = f"{'PackedRecords' if held.rows else 'PackedDict'}({held.part})"
        name = held.part if held.beside else name
    return (
        f"`{name} = {packed}` once it is filled; `torchleak explain TLK101` prints the class, to be pasted: "
        "all workers "
        "share it"
    )


def _are_rows(value: Value) -> bool:
    """Whether the elements are tuples or lists of numbers, known one by one."""
    parts = value.element.items if value.element is not None else ()
    return bool(parts) and all(part.kind is Kind.NUMBER for part in parts)
