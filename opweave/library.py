"""Operator registration: the names of `torch.library`."""

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

__all__ = [
    "CustomOpDef", "Library", "Tag", "allow_redefinition", "custom_op", "define", "fallthrough_kernel", "get_ctx",
    "get_kernel", "impl", "impl_abstract", "infer_schema", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip
