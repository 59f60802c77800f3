"""The Python surface: `Tensor` methods and operators, and functions of the package, made from the registered ops.

The rule: an `aten` op is a function `opweave.<name>`; if its first argument is `self` it is a method of `Tensor` too.
What Python calls differently (operators, `x.view(2, 3)`, `x.to("cuda")`) stands in the tables below.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry import (
    binding,
    constructor,
    copying,
    dtypes,
    families,
    older_forms,
    overriding,
    random_generator,
    replay,
    subclasses,
)
from opweave.registry.autograd import surface as autograd_surface
from opweave.registry.errors import DomainError, DTypeError, UnsupportedError
from opweave.registry.memory_format import strided
from opweave.registry.op import ops, registry
from opweave.registry.ops import copies, creation, index, subscript
from opweave.registry.overriding import is_of_pytorch, raise_mixed
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe, from_numpy

_NUMBERS = (int, float, complex, Symbolic)

_ALIASES = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg",
            "absolute": "abs", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
            "not_equal": "ne", "arctan2": "atan2", "clip": "clamp", "concatenate": "concat", "fix": "trunc",
            "moveaxis": "movedim", **{f"arc{name}": f"a{name}" for name in
                                      ("cos", "cosh", "sin", "sinh", "tan", "tanh")}}  # fmt: skip

# What would give a tensor other memory, on which views, graphs and what autograd saved rely.
_REFUSED = {"set_": "x = other.view(sizes)"}

# Functions whose aten op has another signature than the function of the package, or none.
_NOT_FUNCTIONS = {"copy", "zero", "normal_functional", "uniform", "numpy_T", "matrix_H", "mT", "mH", "index",
                  "to_dense", "native_layer_norm_backward", "nll_loss_forward",
                  "native_group_norm_backward", "sym_numel",
                  "sym_is_contiguous", "sym_size", "sym_stride", "sym_storage_offset",
                  "nll_loss_backward", "mse_loss", "cross_entropy_loss", "nll_loss", "linear", "silu", "elu",
                  "leaky_relu", "mish", "hardtanh", "relu6", "hardswish",
                  "hardsigmoid", "log_sigmoid", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
                  "binary_cross_entropy", "one_hot", "nll_loss_nd", "glu", "softshrink", "unfold", "broadcast_tensors",
                  "avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d",
                  "adaptive_max_pool3d", "max_unpool2d", "max_unpool3d", "max_pool2d_with_indices",
                  "max_pool3d_with_indices", "upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d",
                  "im2col", "col2im",
                  "pad", "reflection_pad1d", "reflection_pad2d",
                  "reflection_pad3d", "replication_pad1d", "replication_pad2d",
                  "replication_pad3d", "exponential", "geometric", "log_normal", "cauchy", "random"}  # fmt: skip


def _factory(make: Callable[..., Tensor], is_method: bool = False) -> Callable[..., Tensor]:
    """A function or a method that makes tensors, which takes `requires_grad` too."""

    def function(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Tensor:
        if kwargs.get("layout") is not None:
            kwargs = {name: value for name, value in kwargs.items() if name != "layout" or value is not strided}
        if kwargs.get("out") is not None:
            kwargs = _options_of(kwargs["out"], kwargs)
        made = make(*args, **kwargs)
        return made.requires_grad_() if requires_grad else made

    made_by: Any = make
    function.__name__ = made_by.opname if isinstance(made_by, OpOverloadPacket) else made_by.__name__
    packet = made_by if isinstance(made_by, OpOverloadPacket) else getattr(made_by, "op_packet", None)
    if packet is None:
        function.__doc__ = made_by.__doc__
        more = inspect.Parameter("requires_grad", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool")
        form = inspect.signature(made_by)
        form = form.replace(parameters=[*form.parameters.values(), more])
        function.__signature__ = form  # type: ignore[attr-defined]
    else:  # its signature and its docstring follow from it
        function.op_packet, function.is_method = packet, is_method  # type: ignore[attr-defined]
    return function


#: What a function that makes tensors is told of them.
_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def _options_of(out: Tensor, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The other arguments of a function that makes a tensor in `out`, which has the type and device that it asks for.

    Raises
    ------
    DTypeError
        If it asks for another type.
    """
    wanted = kwargs.get("dtype")
    if wanted is not None and dtypes.as_dtype(wanted) is not out._dtype:
        raise DTypeError(f"out: dtype {wanted!r} does not match the tensor written to", got=describe(out))
    kept = {name: value for name, value in kwargs.items() if name not in _OPTIONS}
    return {name: value for name, value in kept.items() if name != "memory_format" or value is not None}


# ---- operators -----------------------------------------------------------------------------------------------------


def _operand(value: Any) -> Any:
    """A value as the other operand of an operator; NotImplemented if it is foreign."""
    if isinstance(value, (Tensor, *_NUMBERS)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return from_numpy(value if value.flags.writeable else value.copy())
    if is_of_pytorch(type(value)):
        raise_mixed(value)
    return NotImplemented


def _foreign(packet: OpOverloadPacket, self: Tensor, other: Any) -> Any:
    """What an object that is no tensor makes of being the second operand; NotImplemented if it is not asked, either."""
    others = overriding.foreign((other,), {})
    if not others:
        return NotImplemented
    try:
        return overriding.overridden(packet, others, (self, other), {})
    except overriding.NoImplementation:
        return NotImplemented


def _binary(packet: OpOverloadPacket, overload: str = "Tensor", swap: bool = False) -> Callable[[Tensor, Any], Any]:
    def forward(self: Tensor, other: Any) -> Any:
        if not isinstance(other, Tensor) and type(other) not in (int, float):
            known = _operand(other)
            if known is NotImplemented:
                return _foreign(packet, self, other)
            other = known
        return getattr(packet, overload)._entry(self, other)  # two arguments always bind

    def reflected(self: Tensor, other: Any) -> Any:
        other = _operand(other)
        return NotImplemented if other is NotImplemented else getattr(packet, overload)(other, self)

    return reflected if swap else forward


def _unary(packet: OpOverloadPacket) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return packet.default(self)

    method.of_packet = packet  # type: ignore[attr-defined]  # its docstring follows from it
    return method


def _assigned(part: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Any], None]:
    """What `x.real = value` does: it writes to the elements."""

    def assign(self: Tensor, value: Any) -> None:
        subscript.setitem(part(self), ..., value)

    return assign


def _divided(self: Tensor, other: Any) -> Any:
    # Not as a division, as in PyTorch: a kernel for `div` may use it.
    other = _operand(other)
    return NotImplemented if other is NotImplemented else ops.aten.reciprocal.default(self) * other


def _operators() -> dict[str, Callable[..., Any]]:
    aten = ops.aten
    table: dict[str, Callable[..., Any]] = {}
    both = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
            "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
            "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "matmul": "matmul"}  # fmt: skip
    overloads = {"floordiv": "default", "pow": "Tensor_Tensor", "matmul": "default"}
    for name, opname in both.items():
        packet, overload = getattr(aten, opname), overloads.get(name, "Tensor")
        table[f"__{name}__"] = _binary(packet, overload)
        table[f"__r{name}__"] = _binary(packet, overload, swap=True)
        written = registry.packets.get(f"aten::{opname}_")
        if written is not None:
            table[f"__i{name}__"] = _binary(written)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        table[f"__{name}__"] = _binary(getattr(aten, name))
    for name, packet in (("neg", aten.neg), ("abs", aten.abs), ("invert", aten.bitwise_not)):
        table[f"__{name}__"] = _unary(packet)
    table["__rtruediv__"] = table["__rdiv__"] = _divided
    table["__pos__"] = lambda self: self
    return table


# ---- methods that are not an op of that name -----------------------------------------------------------------------


def _cast(name: str, dtype: dtypes.DType) -> Callable[..., Tensor]:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return copies.to(self, dtype, memory_format=memory_format)

    cast.__name__ = name
    cast.__doc__ = f"""The tensor with elements of type {dtype.name}; itself where it has that type already.

    Examples
    --------
    >>> opweave.tensor([0, 2]).{name}().dtype
    {dtype!r}
    """
    return cast


def _cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in main memory; itself where it is there already.

    Examples
    --------
    >>> opweave.tensor([1.0]).cpu()
    tensor([1.])
    """
    return copies.to(self, "cpu", memory_format=memory_format)


def _cuda(self: Tensor, device: Any = "cuda", memory_format: Any = None) -> Tensor:
    """The tensor on a GPU; itself where it is there already.

    Examples
    --------
    >>> opweave.ones(2).cuda()  # doctest: +SKIP
    tensor([1., 1.], device='cuda:0')
    """
    return copies.to(self, device, memory_format=memory_format)


def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the element type of another; itself where it has that type already.

    Examples
    --------
    >>> opweave.tensor([1, 2]).type_as(opweave.tensor([0.5]))
    tensor([1., 2.])
    """
    return copies.to(self, other._dtype)


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor's elements where a condition holds, another's elsewhere.

    Examples
    --------
    >>> opweave.tensor([1.0, 2.0]).where(opweave.tensor([True, False]), 0)
    tensor([1., 0.])
    """
    return ops.aten.where(condition, self, other)


def _polygamma(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma` at each element.

    Examples
    --------
    >>> opweave.tensor([1.0]).polygamma(1)
    tensor([1.6449])
    """
    return ops.aten.polygamma.default(n, self)


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The tensor with another element type, which may have its old name; without one, that name of its own.

    Examples
    --------
    >>> opweave.tensor([1, 2]).type(opweave.float32)
    tensor([1., 2.])
    >>> opweave.ones(2).type()
    'torch.FloatTensor'
    """
    place = "torch." if self._device.type == "cpu" else f"torch.{self._device.type}."
    if dtype is None:
        return f"{place}{dtypes.CLASS_OF[self._dtype]}"
    if isinstance(dtype, str):
        named = dtypes.BY_CLASS.get(dtype.rpartition(".")[2]) if dtype.startswith(place) else None
        if named is None:
            raise DomainError(
                f"type: invalid type {dtype!r}", got=describe(self), hint=f"an opweave.dtype, or {place}DoubleTensor"
            )
        return copies.to(self, named)
    if dtype is Tensor:  # the type of tensors that none is said for
        dtype = creation.get_default_dtype()
    return copies.to(self, getattr(dtype, "_dtype", dtype))


def _view(self: Tensor, *args: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """Other sizes, or another element type, over the same memory.

    Examples
    --------
    >>> opweave.tensor([1, 2, 3, 4]).view(2, 2)
    tensor([[1, 2],
            [3, 4]])
    """
    if size is not None:
        return ops.aten.view.default(self, size)
    if dtype is not None or (len(args) == 1 and isinstance(args[0], (dtypes.DType, type))):
        return ops.aten.view.dtype(self, dtypes.as_dtype(args[0] if dtype is None else dtype, "view"))
    size = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return ops.aten.view.default(self, size)


def is_tensor(value: Any) -> bool:
    """Whether the value is a Tensor.

    Examples
    --------
    >>> opweave.is_tensor(3)
    False
    """
    return isinstance(value, Tensor)


def numel(input: Tensor) -> int:
    """Number of elements.

    Examples
    --------
    >>> opweave.numel(opweave.zeros(2, 3))
    6
    """
    return input.numel()


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A new tensor with a copy of the data, of this tensor's dtype and device where none are given.

    Parameters
    ----------
    data : number, nested sequence, array or Tensor
        As for `opweave.tensor`.
    dtype : DType, optional
        Wanted element type.
    device : Device or str, optional
        Where to put it.
    requires_grad : bool
        Whether autograd records what is done with it.

    Examples
    --------
    >>> opweave.zeros(1).new_tensor([1, 2])
    tensor([1., 2.])
    """
    return creation.tensor(data, dtype=dtype or self._dtype, device=device or self._device)


def _awaited(table: dict[str, str]) -> dict[str, Any]:
    """Functions of families that are no ops, which are run when they are first called."""
    return {name: binding.Awaited(family, name) for family, names in table.items() for name in names.split()}


def _forms() -> dict[str, str]:
    """The forms of all packets by their names; packets of files that were not run are made, and wait for them."""
    forms: dict[str, str] = {}
    waiting: dict[str, tuple[str, ...]] = {}
    for family, words in index.PACKETS.items():
        is_run = families.is_run(family)
        for word in words.split():
            name, _, form = word.partition("/")
            if "::" not in name:
                name = f"aten::{name}"
            forms[name] = form
            if not is_run:
                waiting[name] = (*waiting.get(name, ()), family)
    for name, files in waiting.items():
        packet = registry.packets.get(name)
        if packet is None:
            packet = registry.packets[name] = OpOverloadPacket(*name.split("::"))
        packet.wait(files)
    return forms


#: The form of each op's packet (`registry.binding.form_of`).
_FORMS = _forms()

_METHODS: dict[str, Any] = {
    "new": constructor.new,
    "new_tensor": _factory(new_tensor),
    "to": copies.to,
    "cpu": _cpu,
    "cuda": _cuda,
    "type": _type,
    "type_as": _type_as,
    "view": _view,
    "where": _where,
    **_awaited(index.METHODS),
    "polygamma": _polygamma,
    "__getitem__": subscript.getitem,
    "__setitem__": subscript.setitem,
    **{name: _cast(name, getattr(dtypes, target)) for name, target in (
        ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
        ("long", "int64"), ("cfloat", "complex64"),
        ("cdouble", "complex128"), ("short", "int16"), ("bool", "bool_"), ("char", "int8"), ("byte", "uint8"))},
}  # fmt: skip

_PROPERTIES = {
    "T": ("numpy_T", "A view with the dimensions in the opposite order."),
    "mT": ("mT", "A view of the matrices in the last two dimensions, transposed."),
    "H": ("matrix_H", "A matrix transposed and conjugated."),
    "mH": ("mH", "The matrices in the last two dimensions, transposed and conjugated."),
    "real": ("real", "The real parts of complex numbers, as a view; a real tensor itself."),
    "imag": ("imag", "The imaginary parts of complex numbers, as a view."),
}


def _form(packet: OpOverloadPacket) -> str:
    """The form of a packet; of one that the index lacks, it is told from its overloads."""
    form = _FORMS.get(f"{packet.namespace}::{packet.opname}")
    return binding.form_of(packet) if form is None else form


def _own_names() -> set[str]:
    """What the class itself defines, which no op may hide."""
    return {name for kind in Tensor.__mro__ for name in vars(kind)}


_OLDER = {
    "add": older_forms.scaled("alpha", 1), "sub": older_forms.scaled("alpha", 1),
    "addcmul": older_forms.scaled("value", 2), "addcdiv": older_forms.scaled("value", 2),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), older_forms.product),
}  # fmt: skip
older_forms.FORMS.update((name + suffix, form) for name, form in _OLDER.items() for suffix in ("", "_"))


def _refused(name: str, instead: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f"{name}: a tensor keeps its memory and its sizes", got=describe(self), hint=f"make another: {instead}"
        )

    method.__doc__ = (
        f"Refused: views, graphs and what autograd saved rely on a tensor's memory; write `{instead}`.\n\n"
        f"Examples\n--------\n>>> {instead}  # doctest: +SKIP\n"
    )
    return method


def _bind(name: str, value: Any) -> None:
    """Make something an attribute of `Tensor`; what computes may be replayed."""
    if isinstance(value, property) and value.fget is not None:
        methods.append(replay.Function(value.fget))
        value = property(
            methods[-1], value.fset, doc=value.__doc__ or ""
        )  # else it would ask for what is made when asked for
    elif isinstance(value, (types.FunctionType, binding.Awaited)) and name != "__setitem__":  # which gives nothing
        methods.append(replay.Function(value))
        value = methods[-1]
        if name.startswith("__"):
            value.__name__ = name  # of an operator, which is asked about by it
    setattr(Tensor, name, value)


#: The methods of `Tensor` that may be replayed, the same ones from the start: compiled code has guards on them.
methods: list[replay.Function] = []


#: Examples of what `registry.tensor` defines.
_EXAMPLES = {
    Tensor.untyped_storage: "x = opweave.ones(4)\n>>> x[1:].untyped_storage().nbytes()\n16",
    Tensor.data_ptr: "x = opweave.ones(4)\n>>> x[1:].data_ptr() - x.data_ptr()\n4",
    Tensor.numpy: "opweave.ones(2).numpy()\narray([1., 1.], dtype=float32)",
    Tensor.item: "opweave.tensor([2.5]).item()\n2.5",
    Tensor.tolist: "opweave.tensor([[1, 2], [3, 4]]).tolist()\n[[1, 2], [3, 4]]",
    from_numpy: "import numpy as np\n>>> array = np.zeros(3)\n>>> x = opweave.from_numpy(array)\n"
    ">>> array[0] = 7\n>>> x\ntensor([7., 0., 0.], dtype=opweave.float64)",
}


def bind() -> None:
    """Give `Tensor` its methods, operators and properties."""
    for member, example in _EXAMPLES.items():
        member.__doc__ = f"{inspect.cleandoc(member.__doc__ or '')}\n\nExamples\n--------\n>>> {example}\n"
    autograd_surface.bind()
    constructor.bind()
    taken = _own_names() - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__getitem__", "__setitem__"}
    for name, function in {**_METHODS, **_operators()}.items():
        _bind(name, function)
        taken.add(name)
    for name, instead in _REFUSED.items():
        setattr(Tensor, name, _refused(name, instead))
    for name, (opname, text) in _PROPERTIES.items():
        part = _unary(getattr(ops.aten, opname))
        _bind(name, property(part, _assigned(part) if name in ("real", "imag") else None, doc=text))
        taken.add(name)
    for packet in list(registry.packets.values()):
        name = packet.opname
        if packet.namespace != "aten" or name.startswith(("_", *_MODULES)) or name in taken:
            continue
        form = _form(packet)
        if "s" in form:
            method = binding.method(packet, form)
            _bind(name, _factory(method, True) if "p" in form else method)
    for alias, name in _ALIASES.items():
        for suffix in ("", "_"):  # in place, too
            if f"aten::{name}{suffix}" in registry.packets:
                registry.aliases[f"aten::{alias}{suffix}"] = f"aten::{name}{suffix}"
                if alias + suffix not in taken:
                    setattr(Tensor, alias + suffix, getattr(ops.aten, name + suffix))
    overriding.as_called.append(_as_called)
    copying.bind()
    subclasses.bind()


def _as_called(packet: Any) -> Any:
    """What Python calls an op by: the function of the package, else the method."""
    if packet.namespace != "aten":
        return packet
    name = packet.opname
    for prefix in _MODULES:
        if name.startswith(prefix):
            return functions_of(prefix[:-1]).get(name.removeprefix(prefix), packet)
    found = functions().get(name) or vars(Tensor).get(name) or packet
    return found.__get__ if type(found) is property else found


#: Modules of the package whose functions are the ops of a prefix: `aten::linalg_inv` is `opweave.linalg.inv`.
_MODULES = ("linalg_", "special_", "fft_")


@functools.cache
def functions_of(module: str) -> dict[str, Any]:
    """The functions of a module of the package, by name: those of the ops that begin with its name."""
    prefix = f"{module}_"
    table: dict[str, Any] = {}
    for packet in list(registry.packets.values()):
        if packet.namespace == "aten" and packet.opname.startswith(prefix) and not packet.opname.endswith("_"):
            function = binding.function(packet, _form(packet))
            name = packet.opname.removeprefix(prefix)
            table[name] = replay.Function(function) if isinstance(function, types.FunctionType) else function
    return dict(sorted(table.items()))


@functools.cache
def hidden(packet: Any) -> Any:
    """What the package has by the name of an op that begins with `_`: the op, whose lists of results are tuples."""
    form = _form(packet)
    return replay.Function(binding.function(packet, form)) if "l" in form else packet


@functools.cache
def functions() -> dict[str, Any]:
    """The functions of the package by name, and its constants."""
    table: dict[str, Any] = {}
    for packet in registry.packets.values():
        name = packet.opname
        if packet.namespace != "aten" or name.startswith("_") or name.endswith("_backward") or name in _NOT_FUNCTIONS:
            continue
        if name.startswith(_MODULES):
            continue
        form = _form(packet)
        function = binding.function(packet, form)
        if "p" in form:
            function = _factory(function)
        table[name] = replay.Function(function) if isinstance(function, types.FunctionType) else function
    for alias, name in _ALIASES.items():
        for suffix in ("", "_"):
            if name + suffix in table:
                table[alias + suffix] = table[name + suffix]
    table.update(
        tensor=_factory(creation.tensor), as_tensor=creation.as_tensor, manual_seed=random_generator.manual_seed,
        Generator=random_generator.Generator,
        is_tensor=is_tensor, numel=numel,
        pi=math.pi, inf=math.inf, nan=math.nan, e=math.e, newaxis=None,
        **{name: _METHODS[name] for names in index.METHODS.values() for name in names.split()},
        **_awaited(index.FUNCTIONS),
    )  # fmt: skip
    return table


bind()
