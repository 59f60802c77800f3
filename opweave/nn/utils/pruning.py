"""Ways to choose what of a parameter is pruned: at random, by size, or by the user's mask.

A pruned parameter `weight` is a parameter `weight_orig` and a buffer `weight_mask`. The way that it was pruned by is a
hook, too, which computes their product before each call of the module. Pruned again, it loses more of what is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from opweave.nn.modules.module import Module
from opweave.registry.errors import ArgumentError, DomainError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten


# ---- methods -------------------------------------------------------------------------------------------------------


class BasePruningMethod(ABC):
    """A way to choose what of a parameter is pruned, and the hook that multiplies with the mask.

    A subclass has a `PRUNING_TYPE`, ``"unstructured"``, ``"structured"`` (with an attribute `dim`) or ``"global"``, and
    a `compute_mask`.

    Examples
    --------
    >>> class Negative(opweave.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> linear = opweave.nn.Linear(3, 2)
    >>> method = Negative.apply(linear, "weight")
    >>> bool((linear.weight >= 0).all())
    True
    """

    PRUNING_TYPE: ClassVar[Literal["unstructured", "structured", "global"]]
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask of a tensor, from the mask that it has."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        mask, orig = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return aten.mul.Tensor(mask.to(dtype=orig.dtype), orig)

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter of a module by this method, made with the other arguments.

        Parameters
        ----------
        module : Module
            Whose parameter it is.
        name : str
            Of the parameter.
        importance_scores : Tensor, optional
            What the mask is computed of, in place of the parameter.

        Returns
        -------
        BasePruningMethod
            The method; a `PruningContainer` of all methods where the parameter was pruned before.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        orig: Any = getattr(module, name)
        scores = _scores(importance_scores, orig, name)
        before = pruning_hooks(module, name)
        if before:
            _, old = before[0]
            container = PruningContainer(*(old if isinstance(old, PruningContainer) else (old,)), method)
            mask = container.compute_mask(scores, _copied(getattr(module, name + "_mask").detach()))
            method = container
            for number, _ in before:
                del module._forward_pre_hooks[number]  # type: ignore[attr-defined]  # a dict where there are hooks
        else:
            mask = method.compute_mask(scores, default_mask=aten.ones_like.default(orig))
            del module._parameters[name]
            module.register_parameter(name + "_orig", orig)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A tensor times the mask that the method chooses for it.

        Parameters
        ----------
        t : Tensor
            What is pruned.
        default_mask : Tensor, optional
            A mask that it has already.
        importance_scores : Tensor, optional
            What the mask is computed of, in place of the tensor.
        """
        given = aten.ones_like.default(t) if default_mask is None else default_mask
        return aten.mul.Tensor(t, self.compute_mask(_scores(importance_scores, t, "the tensor"), default_mask=given))

    def remove(self, module: Module) -> None:
        """Make the product with the mask the parameter, and forget the mask."""
        name = self._tensor_name
        weight: Any = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        orig: Any = module._parameters[name + "_orig"]
        orig.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, orig)


def _scores(given: Any, t: Tensor, name: str) -> Any:
    if given is None:
        return t
    if tuple(given.shape) != tuple(t._sizes):
        raise _Mismatch(
            f"prune: importance_scores should have the same shape as {name}", got=describe([given, t])
        )  # fmt: skip
    return given


class _Mismatch(ShapeError, AssertionError):
    """Sizes that differ, where PyTorch has an assertion."""


def _copied(mask: Tensor) -> Tensor:
    return aten.clone.default(mask, memory_format=None)


def pruning_hooks(module: Module, name: str) -> list[tuple[int, BasePruningMethod]]:
    return [
        (number, hook) for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]  # fmt: skip


class PruningContainer(BasePruningMethod):
    """Several methods that a parameter was pruned by, one after the other.

    Parameters
    ----------
    *args : BasePruningMethod
        The methods so far.

    Examples
    --------
    >>> prune = opweave.nn.utils.prune
    >>> linear = opweave.nn.Linear(4, 2)
    >>> first = prune.L1Unstructured.apply(linear, "weight", 2)
    >>> both = prune.RandomUnstructured.apply(linear, "weight", 3)
    >>> len(both), int(linear.weight_mask.sum())
    (2, 3)
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method, which must be for the same parameter."""
        if not isinstance(method, BasePruningMethod):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{type(method)} is not a BasePruningMethod subclass", got=repr(method),
                hint="class Mine(prune.BasePruningMethod), with a compute_mask",
            )  # fmt: skip
        if self._tensor_name != method._tensor_name:
            raise DomainError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer",
                got=f"one for '{method._tensor_name}'", hint="each parameter has a container of its own",
            )  # fmt: skip
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask by the last method, of what the ones before it left."""
        method = self._pruning_methods[-1]
        left = self._left(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype)
        chosen = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = chosen.to(dtype=mask.dtype)
        return mask

    @staticmethod
    def _left(method: Any, t: Any, mask: Any) -> Any:
        """What a method chooses from: elements, or whole channels, that are left."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "global":
            return (slice(None),) * t.dim()
        if method.PRUNING_TYPE != "structured":
            raise DomainError(
                f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}", got=repr(method.PRUNING_TYPE),
                hint="'unstructured', 'structured' or 'global'",
            )  # fmt: skip
        if not hasattr(method, "dim"):
            raise AttributeError("a method of PRUNING_TYPE 'structured' needs an attribute `dim`")
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise OutOfRangeError(
                f"Index is out of bounds for tensor with dimensions {t.dim()}", got=f"dim {method.dim}"
            )
        others = [d for d in range(t.dim()) if d != dim]
        return *[slice(None)] * dim, mask.sum(dim=others) != 0


# ---- how many ------------------------------------------------------------------------------------------------------


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, Real):
        raise ArgumentError(
            f"Invalid type for amount: {amount}. Must be int or float.", got=type(amount).__name__,
            hint="a number of elements, or the fraction of them that is pruned",
        )  # fmt: skip
    if float(amount) < 0 or (not isinstance(amount, Integral) and float(amount) > 1):
        raise DomainError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer",
            got=repr(amount), hint="amount=0.3 prunes three of ten",
        )  # fmt: skip


def _number(amount: Any, size: int) -> int:
    count = int(amount) if isinstance(amount, Integral) else round(amount * size)
    if count > size:
        raise DomainError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}", got=repr(amount),
            hint="a fraction of them: amount=0.3",
        )  # fmt: skip
    return count


def _channels(t: Any, dim: int) -> int:
    """The number of channels along a dimension, if it is one of a tensor that has channels."""
    if t.dim() <= 1:
        raise DomainError(
            "Structured pruning can only be applied to multidimensional tensors", got=describe(t),
            hint="l1_unstructured, for a bias",
        )  # fmt: skip
    if not -t.dim() <= dim < t.dim():
        raise OutOfRangeError(f"Invalid index {dim} for tensor of size {list(t.shape)}", got=f"dim {dim}")
    return t.shape[dim]


def _masked(default_mask: Any, values: Any, count: int, largest: bool) -> Tensor:
    """The mask without the elements whose values are the largest, or the smallest."""
    mask = _copied(default_mask)
    if count:
        indices = aten.topk.default(aten.reshape.default(values, [-1]), count, -1, largest)[1]
        mask = aten.reshape.default(
            aten.index_fill.int_Scalar(aten.reshape.default(mask, [-1]), 0, indices, 0), list(mask.shape)
        )
    return mask


def _only(t: Any, dim: int, channels: Any, default_mask: Any) -> Tensor:
    """The mask with nothing left but some channels."""
    made = aten.index_fill.int_Scalar(aten.zeros_like.default(t.detach()), dim, channels, 1)
    return aten.mul.Tensor(made, default_mask.to(dtype=made.dtype))


# ---- the methods ---------------------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but gives the parameter a mask.

    Examples
    --------
    >>> linear = opweave.nn.Linear(3, 2)
    >>> method = opweave.nn.utils.prune.Identity.apply(linear, "bias")
    >>> linear.bias_mask
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask that there is."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction of them.

    Examples
    --------
    >>> method = opweave.nn.utils.prune.RandomUnstructured(0.25)
    >>> int(method.prune(opweave.ones(8)).sum())
    6
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask without some elements."""
        return _masked(default_mask, aten.rand_like.default(t), _number(self.amount, t.numel()), True)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements that are nearest to zero.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction of them.

    Examples
    --------
    >>> opweave.nn.utils.prune.L1Unstructured(2).prune(opweave.tensor([3.0, -1.0, 2.0, -4.0]))
    tensor([ 3., -0.,  0., -4.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask without the smallest elements."""
        return _masked(default_mask, aten.abs.default(t.detach()), _number(self.amount, t.numel()), False)


class RandomStructured(BasePruningMethod):
    """Prunes whole channels at random.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction of them.
    dim : int
        The dimension that counts the channels.

    Examples
    --------
    >>> method = opweave.nn.utils.prune.RandomStructured(1, dim=0)
    >>> int(method.prune(opweave.ones(4, 2)).sum())
    6
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask without some channels."""
        size = _channels(t, self.dim)
        count = _number(self.amount, size)
        if not count:
            return default_mask
        return _only(t, self.dim, aten.randperm.default(size)[count:], default_mask)


class LnStructured(BasePruningMethod):
    """Prunes the channels whose norms are the smallest.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction of them.
    n : int, float or str
        The norm, as `linalg.vector_norm` and `norm` take it.
    dim : int
        The dimension that counts the channels.

    Examples
    --------
    >>> opweave.nn.utils.prune.LnStructured(1, n=2, dim=0).prune(opweave.tensor([[1.0, 1.0], [2.0, 0.0]]))
    tensor([[0., 0.],
            [2., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask without the smallest channels."""
        size = _channels(t, self.dim)
        count = _number(self.amount, size)
        if not count:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = t.detach().norm(p=self.n, dim=others)
        return _only(t, self.dim, aten.topk.default(norms, size - count)[1], default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of the user's.

    Parameters
    ----------
    mask : Tensor
        Ones for what is left.

    Examples
    --------
    >>> method = opweave.nn.utils.prune.CustomFromMask(opweave.tensor([1, 0]))
    >>> method.prune(opweave.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask that there is times the user's."""
        if default_mask.shape != self.mask.shape:
            raise _Mismatch(
                "prune: the mask must have the shape of the parameter", got=describe([self.mask, default_mask])
            )
        return aten.mul.Tensor(default_mask, self.mask.to(dtype=default_mask.dtype))
