"""What Datasets store: elements of every kind, how each is edited in place, and how it is told as a number."""

from __future__ import annotations

from dataclasses import dataclass

from tests.training.draft import Draft, block

ROWS = 8


@dataclass
class Store:
    """made: the expression of what is stored; kind: of an element, a key of the tables below.

    trap: why copying an element changes more than its edits, by name; empty if it does not.
    """

    made: str
    kind: str
    trap: str = ""

    @property
    def is_list(self) -> bool:
        """Whether rows can be popped and exchanged."""
        return self.made.startswith("[")


EDITS = {
    "array": (
        "{v} *= 2", "{v}[0] = -1.0", "{v} += 1", "{v}[1:] = 0", "np.multiply({v}, 3, out={v})", "{v}.sort()",
        "{v}[:] = {v} - 1", "{v}.fill(3)", "{v}.flat[0] = 5", "{v}.reshape(2, 2)[0] = 3", "np.asarray({v})[0] = 3",
        "np.copyto({v}, {v} * 2)", "np.add.at({v}, 0, 5)", "torch.from_numpy({v}).mul_(2)", "{v}.T[1] = 9",
        "{v}.__setitem__(0, 7)", "{v}.__imul__(2)", "np.put({v}, [0], 4)", "({v}[0], {v}[1]) = 3, 4",
        "[{v}[0], *{v}[1:3]] = 3, 4, 5", "memoryview({v})[0] = 6",
    ),
    "tensor": (
        "{v}.mul_(2)", "{v}[0] = -1.0", "{v} += 1", "{v}[1:] = 0", "{v}.clamp_(max=1)", "{v}.sub_(1)",
        "torch.mul({v}, 3, out={v})", "{v}.data += 1", "{v}.copy_({v} * 2)",
        "{v}.view(2, 2)[0] = 1", "{v}.numpy()[0] = 4", "torch.nn.init.zeros_({v})", "torch.relu_({v} - 1)",
        "{v}.T[0] = 2", "{v}.data = {v} * 2", "{v}.unsqueeze(0).mul_(2)", "torch.nn.functional.threshold_({v}, 2, 0)",
        "torch.nn.functional.threshold({v}, 2.0, 0.0, inplace=True)", "torch.Tensor.mul_({v}, 2)",
        "torch.split({v}, 2)[0].fill_(6)", "[each.mul_(2) for each in [{v}]]", "np.asarray({v})[1] = 3",
    ),
    "dict": (
        "{v}['b'] = {v}['b'] + 1", "{v}['a'].append(9.0)", "{v}['a'][0] += 1", "{v}['b'] += 2", "{v}['c'] = 3",
        "{v}.update(b=7)", "{v}['a'] = [sum({v}['a'])]", "{v}['a'].extend([1.0, 2.0])", "{v}.pop('c', 0)",
        "{v}['a'].reverse()", "{v}.setdefault('d', 1)", "del {v}['a'][1:]",
        "{v}.__setitem__('b', 4)", "{v} |= {{'b': 6}}", "dict.update({v}, b=3)", "{v}['b'], _ = 5, 6",
    ),
    "dict of arrays": ("{v}['a'] *= 2", "{v}['a'] = {v}['a'] + 1", "{v}['a'][0] = 5", "{v}['b'] += 1"),
    "dict of tensors": ("{v}['a'].mul_(2)", "{v}['a'] = {v}['a'] + 1", "{v}['a'][0] = 5", "{v}['a'] += 1"),
    "list": (
        "{v}.append(4.0)", "{v}[0] += 1", "{v}.reverse()", "{v} += [5.0]", "{v}.insert(0, 0.5)",
        "{v}[:] = [w * 2 for w in {v}]", "{v}.pop()", "{v}.sort(reverse=True)",
        "list.append({v}, 3.0)", "{v}.__iadd__([2.0])", "{v} *= 2", "{v}[0], {v}[1] = {v}[1], {v}[0]",
    ),
    "object": ("{v}.a.append(1.0)", "{v}.b += 1", "{v}.b = 7", "{v}.a[0] = 3.0"),
    "maybe": ("{v} and {v}.update(b=7)", "{v} and {v}['a'].append(9.0)"),
    "maybe array": ("{v} is None or {v}.fill(2)",),
}  # fmt: skip
NUMBERS = {
    "array": "float({v}.sum())",
    "tensor": "float({v}.sum())",
    "dict": "sum({v}['a']) + {v}['b'] + len({v})",
    "dict of arrays": "float({v}['a'].sum()) + {v}['b']",
    "dict of tensors": "float({v}['a'].sum()) + {v}['b']",
    "list": "sum({v}) + len({v})",
    "object": "sum({v}.a) + {v}.b",
    "maybe": "0 if {v} is None else sum({v}['a']) + {v}['b']",
    "maybe array": "0 if {v} is None else float({v}.sum())",
}
VIEWS = {
    "array": (
        "{v}[1:]", "{v}[::-1]", "np.flip({v})", "torch.from_numpy({v})", "{v}.reshape(2, 2)", "np.asarray({v})",
        "torch.as_tensor({v})", "{v}.T",
    ),
    "tensor": (
        "{v}[1:]", "{v}.view(2, 2)", "{v}.unsqueeze(0)", "{v}.numpy()", "{v}.T", "{v}.contiguous()", "{v}.detach()",
    ),
}  # fmt: skip


def store(d: Draft, trap: bool) -> Store:
    """Anything; or elements that are no good to copy."""
    return _trap(d) if trap else _plain(d)


def _plain(d: Draft) -> Store:
    n = ROWS
    return d.pick(
        Store(f"np.arange({4 * n}.0).reshape({n}, 4)", "array"),
        Store(f"np.random.rand({n}, 4).astype(np.float32)", "array"),
        Store(f"torch.arange({4 * n}.0).reshape({n}, 4)", "tensor"),
        Store(f"torch.rand({n}, 4)", "tensor"),
        Store(f"[np.full(4, float(k)) for k in range({n})]", "array"),
        Store(f"[torch.full((4,), float(k)) for k in range({n})]", "tensor"),
        Store(f"[{{'a': [float(k), 1.0], 'b': k}} for k in range({n})]", "dict"),
        Store(f"[{{'a': [float(k), 1.0], 'b': k}} for k in range({n})]", "dict"),
        Store(f"[{{'a': np.ones(3) * k, 'b': 1}} for k in range({n})]", "dict of arrays"),
        Store(f"[dict(a=torch.ones(3) * k, b=k) for k in range({n})]", "dict of tensors"),
        Store(f"[[float(k), 2.0, 3.0] for k in range({n})]", "list"),
        Store(f"{{k: [float(k), 2.0] for k in range({n})}}", "list"),
        Store(f"{{k: {{'a': [float(k)], 'b': k}} for k in range({n})}}", "dict"),
        Store(f"{{k: np.ones(4) * k for k in range({n})}}", "array"),
    )


def _trap(d: Draft) -> Store:
    n, name = ROWS, d.new("class")
    way = d.pick("lock", "none", "none array", "list class", "dict class", "object", "shared", "history", "generator")
    if way == "lock":
        d.need("import threading")
        return Store(f"[{{'a': [float(k)], 'b': k, 'lock': threading.Lock()}} for k in range({n})]", "dict", way)
    if way == "none":
        return Store(f"[None if k == 3 else {{'a': [float(k)], 'b': k}} for k in range({n})]", "maybe", way)
    if way == "none array":
        return Store(f"[None if k == 3 else np.ones(4) * k for k in range({n})]", "maybe array", way)
    if way == "list class":
        d.define("\n".join(block(f"class {name}(list):", ["def area(self): return sum(self)"])))
        return Store(f"[{name}([float(k), 2.0]) for k in range({n})]", "list", way)
    if way == "dict class":
        d.define("\n".join(block(f"class {name}(dict):", ["def area(self): return sum(self['a'])"])))
        return Store(f"[{name}(a=[float(k)], b=k) for k in range({n})]", "dict", way)
    if way == "object":
        d.define("\n".join(block(f"class {name}:", ["def __init__(self, k): self.a, self.b = [float(k)], k"])))
        return Store(f"[{name}(k) for k in range({n})]", "object", "")
    if way == "shared":
        d.define(f"{name} = [1.0]")
        return Store(f"[{{'a': {name}, 'b': k}} for k in range({n})]", "dict", way)
    if way == "history":
        return Store(
            f"[{{'a': torch.ones(2, requires_grad=True) * k, 'b': k}} for k in range({n})]", "dict of tensors", way
        )
    return Store(f"[{{'a': [float(k)], 'b': k, 'it': (w for w in 'ab')}} for k in range({n})]", "dict", way)
