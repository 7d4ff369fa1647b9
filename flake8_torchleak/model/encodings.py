"""What tokenizers of transformers give: lists of Python integers, one object for each token, unless told otherwise.

Run with transformers 5.24.0: a call gives a `BatchEncoding`, a dict whose entries are lists of lists of int for a list
of texts; `return_tensors` makes them tensors or arrays. 20,000 texts of 100 tokens cost each worker 73 MB.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.values import NUMBER, UNKNOWN, Kind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.env import Env
    from flake8_torchleak.model.infer import Infer

_OPTIONS = frozenset({
    "truncation", "padding", "add_special_tokens", "return_attention_mask", "return_token_type_ids",
    "is_split_into_words", "return_offsets_mapping", "return_special_tokens_mask", "pad_to_multiple_of",
})  # fmt: skip
"""Arguments that only calls of these tokenizers have."""
_OF_ALL = frozenset({"encode_plus", "batch_encode_plus", "__call__"})
"""Methods that do what a call does."""
_TEXTS = frozenset({"text", "batch_text_or_text_pairs"})
ENTRIES = frozenset({"input_ids", "attention_mask", "token_type_ids"})
"""What an encoding has under a key, and as an attribute."""
_WHY = 'a tokenizer gives lists of integers; padded, and with `return_tensors="pt"`, tensors'
_MOST_NAMES = 4
"""Names of one tokenizer, one after the other."""


class Encodings:
    """Values of calls of tokenizers."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def value(self, node: ast.Call, env: Env) -> Value | None:
        """What a call of a tokenizer gives; None for other calls, and for those that give tensors."""
        options = {each.arg for each in node.keywords}
        name = last_name(node.func)
        if options.isdisjoint(_OPTIONS) and not self._has_any:
            return None
        is_method = isinstance(node.func, ast.Attribute) and (name in _OF_ALL or name == "encode")
        maker = node.func.value if is_method and isinstance(node.func, ast.Attribute) else node.func
        if options.isdisjoint(_OPTIONS) and not self._is_tokenizer(maker, _MOST_NAMES):
            return None
        if any(each.arg == "return_tensors" and getattr(each.value, "value", 0) is not None for each in node.keywords):
            return None
        ids = Value(Kind.LIST, graph=False, element=NUMBER)
        if name == "encode":
            return ids
        given = next((each.value for each in node.keywords if each.arg in _TEXTS), node.args[0] if node.args else None)
        texts = self.infer.value(given, env) if given is not None else UNKNOWN
        why: tuple[tuple[ast.AST, str], ...] = ((node, _WHY),)
        size = Size.SMALL if texts.size is Size.SMALL else Size.GROWS
        rows = ids if texts.kind is Kind.STRING else Value(Kind.LIST, graph=False, size=size, element=ids, why=why)
        return Value(Kind.DICT, graph=False, size=Size.SMALL, element=rows, why=why)

    @cached_property
    def _has_any(self) -> bool:
        """Whether the file imports what makes tokenizers."""
        names = (alias.name for each in self.infer.tree.all(ast.ImportFrom) for alias in each.names)
        return "transformers" in self.infer.names.imports and (
            any("Tokenizer" in each for each in names) or bool(self.infer.tree.all(ast.Import))
        )

    def _is_tokenizer(self, node: ast.expr, depth: int) -> bool:
        """Whether an expression is a tokenizer of transformers, by what it is bound to."""
        if isinstance(node, ast.Call):
            path = self.infer.names.qualname(node.func)
            return path.startswith("transformers.") and "Tokenizer" in path
        owned = self.infer.classes.self_attribute(node)
        if owned is not None:
            bound = owned[0].attributes.get(f"self.{owned[1]}", [])
        else:
            bound = self.infer.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
        values = [each.value for each in bound if each.is_plain]
        return depth > 0 and any(each is not None and self._is_tokenizer(each, depth - 1) for each in values)
