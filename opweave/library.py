"""Operator registration: the names of `torch.library`."""

from opweave.registry.library import (
    CustomOpDef,
    custom_op,
    infer_schema,
    register_fake,
    register_kernel,
    triton_op,
    wrap_triton,
)

__all__ = ["CustomOpDef", "custom_op", "infer_schema", "register_fake", "register_kernel", "triton_op", "wrap_triton"]
