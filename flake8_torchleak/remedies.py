"""What to store in the place of a container of Python objects, in words: by what it holds."""

from __future__ import annotations

from flake8_torchleak.model.values import Kind, Value

_LISTED = (Kind.LIST, Kind.TUPLE, Kind.DEQUE)


def copied(name: str, value: Value) -> str:
    """What workers do to memory: of arrays, forked ones copy the headers alone."""
    held = f"`{name}` ({described(value)})"
    if value.kind is Kind.INDEX:
        return f"memory grows by a copy of {held} in each worker"
    if value.element is not None and value.element.kind is Kind.ARRAY:
        return f"each spawned worker starts with its own copy of {held} in memory"
    if (
        value.element is None
        and value.kind in _OPEN
        or value.element is not None
        and value.element.kind is Kind.UNKNOWN
    ):
        return f"memory grows by a copy of `{name}` (unless it holds arrays) in each worker"
    return f"memory grows by a copy of {held} in each worker that reads it"


_OPEN = frozenset({Kind.LIST, Kind.DICT, Kind.SET, Kind.DEQUE, Kind.PICKLE, Kind.UNKNOWN})
"""What may hold anything, where nothing is known of its elements."""


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
    """What to store instead, by element type."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind is Kind.INDEX:
        return "store what samples need by id as `PackedDict(...)` (class: `torchleak explain TLK101`)"
    if value.kind in _LISTED and element is Kind.NUMBER:
        return "store `torch.tensor(...)` of it"
    if value.kind in _LISTED and element in (Kind.STRING, Kind.PATH):
        encoded = "bytes(p) for p" if element is Kind.PATH else "s.encode() for s"
        return f"store `np.array([{encoded} in ...])`, `.decode()` at the read"
    if value.kind in _LISTED and element is Kind.ARRAY:
        return "store one `torch.cat(...)`, and offsets"
    if value.kind in _LISTED and _are_rows(value):
        return "store `torch.tensor(...)` of it, a row for each"
    if value.kind is Kind.SET:
        return "store `np.array(sorted(...))`"
    name = "PackedDict" if value.kind is Kind.DICT else "PackedRecords"
    return f"store `{name}(...)` (class: `torchleak explain TLK101`)"


def advice(name: str, value: Value) -> str:
    """The remedy in code, and what it does under each start method."""
    element = value.element.kind if value.element is not None else Kind.UNKNOWN
    if value.kind is Kind.INDEX:
        return f"read each record of `{name}` by its id, from a file or a database that the worker opens"
    if value.kind in _LISTED and (element is Kind.NUMBER or _are_rows(value)):
        number = ", `.item()` where a Python number is needed (as a key, an id)" if element is Kind.NUMBER else ""
        return f"`{name} = torch.tensor({name})` once it is filled{number}: all workers share it"
    if value.kind in _LISTED and element in (Kind.STRING, Kind.PATH):
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
    packed = f"PackedRecords({name})"
    if value.kind is Kind.DICT:
        packed = f"PackedDict({name})"
    return (
        f"`{name} = {packed}` once it is filled; `torchleak explain TLK101` prints the class, to be pasted: "
        "all workers "
        "share it"
    )


def _are_rows(value: Value) -> bool:
    """Whether the elements are tuples or lists of numbers, known one by one."""
    parts = value.element.items if value.element is not None else ()
    return bool(parts) and all(part.kind is Kind.NUMBER for part in parts)
