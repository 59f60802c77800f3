"""Operator registration: the names of `torch.library`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opweave.registry.custom_op import CustomOpDef, custom_op
from opweave.registry.fake_context import get_ctx
from opweave.registry.ffi import register_ffi, to_ffi
from opweave.registry.kernels import fallthrough_kernel
from opweave.registry.library import Library, allow_redefinition, define, get_kernel, impl
from opweave.registry.loading import load_heavy
from opweave.registry.op_rules import (
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from opweave.registry.schema import infer_schema
from opweave.registry.tags import Tag
from opweave.registry.triton_op import triton_op, wrap_triton

if TYPE_CHECKING:
    from opweave.opcheck import opcheck

__all__ = [
    "CustomOpDef", "Library", "Tag", "allow_redefinition", "custom_op", "define", "fallthrough_kernel", "get_ctx",
    "get_kernel", "impl", "impl_abstract", "infer_schema", "opcheck", "register_autocast", "register_autograd",
    "register_fake", "register_ffi", "register_kernel", "register_torch_dispatch", "register_vmap", "to_ffi",
    "to_torch", "triton_op", "wrap_triton",
]  # fmt: skip


def to_torch(op: Any) -> Any:
    """Register an op in `torch.library`, from its one declaration.

    Parameters
    ----------
    op : CustomOpDef or OpOverload
        Of a library of the user's, with its registrations: schema, kernel, fake rule, gradient, vmap rule.

    Returns
    -------
    torch.library.CustomOpDef
        It is `torch.ops.<namespace>.<name>`, too. Tensors are shared, not copied. The gradient is an op of its own,
        `<name>_backward`, so that `torch.compile` takes both; what has no gradient gets zeros.

    Raises
    ------
    ArgumentError
        If it is no op.
    UnsupportedError
        If PyTorch is not there, or the op is opweave's own, an overload with a name, or returns views of its arguments.

    Examples
    --------
    >>> f = opweave.library.to_torch(my_op)  # doctest: +SKIP
    >>> torch.library.opcheck(f, (torch.randn(3),))  # doctest: +SKIP
    """
    return load_heavy("opweave.compat.registration").to_torch_op(op)


def __getattr__(name: str) -> Any:
    if name != "opcheck":
        raise AttributeError(f"module 'opweave.library' has no attribute {name!r}")
    globals()[name] = found = importlib.import_module("opweave.opcheck").opcheck  # loads the compiler
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
