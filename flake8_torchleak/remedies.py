"""What to keep in the place of a container of Python objects, in words: by what it holds."""

from __future__ import annotations

from flake8_torchleak.model.values import Kind, Value

_RECORDS = frozenset({Kind.DICT, Kind.LIST, Kind.TUPLE, Kind.JSON, Kind.INSTANCE})


def workers(value: Value) -> str:
    """The workers that get a copy of the whole: of arrays, forked ones copy the headers alone."""
    of_arrays = value.element is not None and value.element.kind is Kind.ARRAY
    return "DataLoader worker that is spawned" if of_arrays else "DataLoader worker"


def described(value: Value) -> str:
    """The container's type in words."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind in (Kind.PICKLE, Kind.UNKNOWN):
        return "Python objects"
    if value.kind is Kind.JSON:
        return "parsed records"
    if element in (Kind.UNKNOWN, Kind.NONE) or value.kind is Kind.INDEX:
        return str(value.kind.value)
    return f"{value.kind.value} of {element.value}"


def remedy(value: Value) -> str:
    """What to keep instead, by element type."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind is Kind.INDEX:
        return "keep the ids, and the records in one packed tensor"
    if value.kind in (Kind.LIST, Kind.TUPLE, Kind.DEQUE):
        if element is Kind.NUMBER:
            return "keep np.array(...) or a torch.tensor"
        if element in (Kind.STRING, Kind.PATH):
            return "keep np.array(..., dtype=np.bytes_) and decode at the read"
        if element is Kind.ARRAY:
            return "keep one array with offsets"
        if _are_rows(value):
            return "keep one array with a row for each"
        if element in _RECORDS:
            return "pickle the records into one torch.uint8 tensor with offsets"
    if value.kind in (Kind.UNKNOWN, Kind.PICKLE):
        return "pickle its records into one torch.uint8 tensor, or load them by index"
    if value.kind is Kind.JSON:
        return "pickle the records into one torch.uint8 tensor with offsets"
    if value.kind is Kind.DICT and element in (Kind.LIST, Kind.TUPLE):
        return "pack its lists in arrays"
    return "pack it into a torch.uint8 tensor with offsets, or an Arrow table"


def advice(name: str, value: Value) -> str:
    """The remedy in code, and what it does under each start method."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    listed = value.kind in (Kind.LIST, Kind.TUPLE, Kind.DEQUE)
    if value.kind is Kind.INDEX:
        return f"load the records of `{name}` by id in the worker, from a file or a database opened there"
    if listed and element is Kind.NUMBER:
        return (
            f"`{name} = torch.tensor({name})` once it is filled, `.item()` at the read where a Python number is needed "
            "(as a key, an id): shared by forked and by spawned workers"
        )
    if listed and _are_rows(value):
        return f"`{name} = torch.tensor({name})` once it is filled: a row for each; shared by all workers"
    if listed and element in (Kind.STRING, Kind.PATH):
        read = f"Path({name}[i].decode())" if element is Kind.PATH else f"{name}[i].decode()"
        return (
            f"`{name} = np.array([str(each).encode() for each in {name}], dtype=np.bytes_)` once it is filled, "
            f"`{read}` at the read: forked workers share it, spawned ones get one compact copy"
        )
    if listed and element is Kind.ARRAY:
        return f"`np.concatenate({name})` with an array of offsets; a torch tensor is shared by spawned workers too"
    if value.kind is Kind.DICT and element in (Kind.LIST, Kind.TUPLE):
        return (
            f"pack each list of `{name}` into an array or a torch tensor (records pickled, with offsets); many keys "
            "into a sorted array"
        )
    if value.kind in (Kind.DICT, Kind.SET):
        return (
            f"keep the keys of `{name}` as a sorted array and its contents packed beside it, or open a database lazily"
        )
    return (
        f"pickle each record of `{name}` into one torch.uint8 tensor with a tensor of offsets, and `pickle.loads` the "
        "slice at the read: shared by forked and by spawned workers"
    )


def _are_rows(value: Value) -> bool:
    """Whether the elements are tuples or lists of numbers, known one by one."""
    parts = value.element.items if value.element is not None else ()
    return bool(parts) and all(part.kind is Kind.NUMBER for part in parts)
