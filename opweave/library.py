"""Operator registration: the names of `torch.library`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opweave.registry.library import (
    CustomOpDef,
    Library,
    Tag,
    allow_redefinition,
    custom_op,
    define,
    fallthrough_kernel,
    get_ctx,
    get_kernel,
    impl,
    impl_abstract,
    infer_schema,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)

if TYPE_CHECKING:
    from opweave.opcheck import opcheck

__all__ = [
    "CustomOpDef", "Library", "Tag", "allow_redefinition", "custom_op", "define", "fallthrough_kernel", "get_ctx",
    "get_kernel", "impl", "impl_abstract", "infer_schema", "opcheck", "register_autocast", "register_autograd",
    "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name != "opcheck":
        raise AttributeError(f"module 'opweave.library' has no attribute {name!r}")
    globals()[name] = found = importlib.import_module("opweave.opcheck").opcheck  # loads the compiler
    return found
