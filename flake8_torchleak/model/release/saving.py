"""Whether the graph of a value holds an operation that saves tensors: differentiating it a second time then raises.

A sum, a mean, a view or a copy saves none: `(p + 1).sum()` can be differentiated again and again. The tables are
checked in `tests/test_release_torch.py` by differentiating twice with the installed torch.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.effects import TORCH_FUNCTIONS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.helpers import part_of
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

SAVING_OPERATORS = (ast.Mult, ast.Div, ast.Pow, ast.MatMult)
LINEAR = frozenset({
    "H", "T", "__getitem__", "adaptive_avg_pool1d", "adaptive_avg_pool3d", "add", "add_", "alias_copy",
    "alpha_dropout", "append", "as_strided", "as_strided_copy", "as_strided_scatter", "as_tensor", "atleast_1d",
    "atleast_2d", "atleast_3d", "batch_norm", "bernoulli", "bfloat16", "block_diag", "broadcast_tensors",
    "broadcast_to", "cartesian_prod", "cat", "cdouble", "ceil", "cfloat", "channel_shuffle", "chunk", "clone",
    "column_stack", "concat", "constant_pad_nd", "contiguous", "cpu", "cuda", "cumsum", "cumulative_trapezoid",
    "deg2rad", "detach", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter", "dict",
    "diff", "double", "dropout", "dropout1d", "dropout2d", "dropout3d", "dsplit", "dstack", "einsum", "expand",
    "expand_as", "expand_copy", "feature_alpha_dropout", "fft", "fft2", "fftn", "fftshift", "fill", "flatten", "flip",
    "fliplr", "flipud", "float", "floor", "frac", "get", "gradient", "half", "hfft", "hfft2", "hfftn", "hsplit",
    "hstack", "ifft", "ifft2", "ifftn", "ifftshift", "imag", "interpolate", "irfft", "irfft2", "irfftn", "item",
    "items", "lerp", "linear_cross_entropy", "list", "lu_unpack", "mH", "mT", "matrix_power", "mean", "meshgrid",
    "moveaxis", "movedim", "narrow", "narrow_copy", "neg", "neg_", "negative", "normal", "ones", "ones_like",
    "pad", "permute", "permute_copy", "pixel_shuffle", "pixel_unshuffle", "pop", "rad2deg", "ravel", "real", "reduce",
    "repeat", "repeat_interleave", "requires_grad_", "reshape", "reshape_as", "rfft", "roll", "rot90", "round", "rsub",
    "select", "select_scatter", "sign", "slice", "slice_scatter", "split", "split_with_sizes", "split_with_sizes_copy",
    "squeeze", "squeeze_", "squeeze_copy", "stack", "sub", "sub_", "subtract", "sum", "sum_to_size", "swapaxes",
    "swapdims", "t", "t_", "t_copy", "tensor", "tensor_split", "tile", "to", "to_sparse", "trace", "transpose",
    "transpose_", "transpose_copy", "trapezoid", "trapz", "tril", "triu", "trunc", "tuple", "type_as", "unbind",
    "unbind_copy", "unflatten", "unfold", "unfold_copy", "unsafe_chunk", "unsafe_split", "unsqueeze", "unsqueeze_",
    "unsqueeze_copy", "upsample_bilinear", "upsample_nearest", "values", "view", "view_as", "view_as_complex",
    "view_copy", "vsplit", "vstack", "zero_", "zeros", "zeros_like",
})  # fmt: skip
"""Functions and methods that save no tensor, or none that carries history; what is applied to them decides."""
_MOST_DEPTH = 100
"""Expressions within expressions and variables that are looked through."""
_MOST_STEPS = 500
"""Expressions that are looked at for one question."""


class Saving:
    """Which values of a module have an operation in their graph that saves tensors."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._active: set[ast.AST] = set()
        self._known: dict[ast.AST, bool] = {}
        self._cuts = self._steps = 0

    def saves(self, node: ast.expr) -> bool:
        """Whether a value comes through an operation that saves tensors: a product, a loss, a call of a module.

        What nothing shows (the part of an unknown object, a leaf) does not count.
        """
        known = self._known.get(node)
        if known is not None:
            return known
        if not self._active:
            self._steps = 0
        self._steps += 1
        if node in self._active:
            self._cuts += 1
            return False
        if len(self._active) > _MOST_DEPTH or self._steps > _MOST_STEPS:
            leave_out(self.module, node, "what a loss is made of goes through too many expressions")
            self._cuts += 1
            return False
        cuts = self._cuts
        self._active.add(node)
        try:
            found = self._saves(node)
        finally:
            self._active.discard(node)
        if cuts == self._cuts or not self._active:
            self._known[node] = found  # what a circle cut short holds for the question under way alone
        return found

    def _saves(self, node: ast.expr) -> bool:
        if isinstance(node, (ast.Name, ast.Attribute)):
            key = key_of(node)
            reaching = self.module.flow.reaching(key, node) if key else []
            if reaching:
                return all(self._definition_saves(each) for each in reaching)
            return isinstance(node, ast.Attribute) and self._part_saves(node)
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, SAVING_OPERATORS) or self.saves(node.left) or self.saves(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.saves(node.operand)
        if isinstance(node, ast.IfExp):
            return self.saves(node.body) and self.saves(node.orelse)
        if isinstance(node, (ast.Subscript, ast.NamedExpr, ast.Starred, ast.Await)):
            return self.saves(node.value)
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            entries = node.values if isinstance(node, ast.Dict) else node.elts
            return bool(entries) and all(self.saves(each) for each in entries)
        return isinstance(node, ast.Call) and self._call_saves(node)

    def _part_saves(self, node: ast.Attribute) -> bool:
        """Whether an attribute is a part of what was computed, and no leaf: `model.weight`, `self.alpha`."""
        owned = self.module.classes.self_attribute(node)
        if owned is not None:
            bound = owned[0].attributes.get(f"self.{owned[1]}", [])
            return bool(bound) and all(self._definition_saves(each) for each in bound)
        if self.module.infer.value(node.value).kind is Kind.MODULE:
            return False
        key = key_of(node.value)
        reaching = self.module.flow.reaching(key, node.value) if key else []
        return not any(each.how is How.PARAMETER for each in reaching) and self.saves(node.value)

    def _call_saves(self, node: ast.Call) -> bool:
        function = self._run_by(node)
        if function is not None:
            return self._all_save(function, ())
        if self._makes_leaf(node):
            return False
        if last_name(node.func) not in LINEAR:
            return True
        applied = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return any(self.saves(each) for each in [*applied, *node.args])

    def _run_by(self, node: ast.Call) -> FunctionNode | None:
        """The function in reach that a call runs, be it a network's `forward`."""
        return self.module.classes.callee(node) or self._forward(node.func)

    def _all_save(self, function: FunctionNode, path: tuple[int, ...]) -> bool:
        """Whether all that a function gives saves; of the tuples that it gives, the part at `path`."""
        within = self.module.tree.within(function)
        given = [part_of(n.value, path) for n in within if isinstance(n, (ast.Return, ast.Yield))]
        return bool(given) and all(each is not None and self.saves(each) for each in given)

    def _makes_leaf(self, node: ast.Call) -> bool:
        """Whether a call makes a tensor or a module of its own, through which no history comes."""
        head, _, name = self.module.names.qualname(node.func).rpartition(".")
        if head == "torch" and name in TORCH_FUNCTIONS:
            return not TORCH_FUNCTIONS[name].graph
        return name in ("Parameter", "Buffer") or self.module.infer.value(node).kind is Kind.MODULE

    def _forward(self, func: ast.expr) -> FunctionNode | None:
        """The `forward` of a module whose class is in reach, run by a call of the module or by its name."""
        network = func.value if isinstance(func, ast.Attribute) and func.attr == "forward" else func
        made = self.module.infer.value(network).made
        facts = self.module.classes.all.get(made) if isinstance(made, ast.ClassDef) else None
        found = facts.methods.get("forward") if facts is not None else None
        return found if isinstance(found, FUNCTIONS) else None

    def _definition_saves(self, definition: Definition) -> bool:
        if definition.how is How.PARAMETER:
            return self._given_saves(definition)
        if definition.value is None:
            return False
        if isinstance(definition.value, ast.Constant):
            return True  # it has no graph at all
        if definition.how is How.AUGMENT:
            statement, before = definition.statement, definition.node
            saving = isinstance(statement, ast.AugAssign) and isinstance(statement.op, SAVING_OPERATORS)
            return saving or self.saves(definition.value) or (isinstance(before, ast.expr) and self.saves(before))
        if definition.how is How.ITERATE and self._may_give_leaves(definition.value):
            return False
        if definition.path and definition.how is How.ASSIGN and isinstance(definition.value, ast.Call):
            function = self._run_by(definition.value)
            if function is not None:
                return self._all_save(function, definition.path)
        return self.saves(definition.value)

    def _may_give_leaves(self, iterable: ast.expr) -> bool:
        """Whether iterating may give parameters: leaves of the graph, through which nothing came."""
        if isinstance(iterable, ast.Call):
            return last_name(iterable.func) in _LEAVES or any(self._may_give_leaves(each) for each in iterable.args)
        key = key_of(iterable)
        return any(each.how is How.PARAMETER for each in self.module.flow.reaching(key, iterable)) if key else False

    def _given_saves(self, definition: Definition) -> bool:
        """Whether what a function is handed saves, by the calls in the file: without one, it may be a leaf."""
        given = self._given(definition)
        return bool(given) and all(each is None or self.saves(each) for each in given)

    def _given(self, definition: Definition) -> list[ast.expr | None]:
        """What the calls in the file hand over for a parameter."""
        function, parameter = definition.statement, definition.node
        assert isinstance(function, FUNCTIONS)  # lambdas are not looked into
        assert isinstance(parameter, ast.arg)
        calls = [call for call in self.module.classes.calls_of(function) if not self.module.tree.inside(call, function)]
        return [self.module.classes.argument(call, parameter, function) for call in calls]

    def is_handed(self, node: ast.expr) -> bool:
        """Whether a value is a parameter for which the file shows no argument: what is differentiated as it comes.

        Somebody computed it, then; in a sum with others it may be a leaf.
        """
        reaching = self.module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
        return bool(reaching) and all(each.how is How.PARAMETER and not self._given(each) for each in reaching)


_LEAVES = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})
"""Methods that give leaves of the graph."""
