"""The texts of users' own kernels, which are launched as they are."""

from __future__ import annotations

import inspect
from typing import Any

from opweave.codegen.aot import compile_text
from opweave.codegen.backends import backend_of
from opweave.codegen.launch_text import launch_text, options_for
from opweave.registry.device import Device
from opweave.registry.interrupts import let_through
from opweave.registry.triton.effects import configurations
from opweave.registry.triton_op import CompiledText, forms, kernels
from opweave.tracer.node import Node


def is_launch(node: Node | None) -> bool:
    """Whether a node launches a user's kernel."""
    return node is not None and "kernel_idx" in node.kwargs


def texts_of(node: Node, device: Device) -> dict[str, Any]:
    """What a launched kernel becomes, by language; of a tuned one its first configuration.

    Raises
    ------
    CompileError
        If it does not compile for these arguments.
    """
    kernel: Any = kernels[node.kwargs["kernel_idx"]]
    values = {k: v.meta["val"] if isinstance(v, Node) else v for k, v in node.kwargs["kwargs"].items()}
    found: dict[str, Any] = {}
    if not isinstance(kernel, CompiledText):
        found["triton"] = _source(kernel)
        given = forms[node.kwargs["constant_args_idx"]].arguments(values)
        kernel, values, _ = next(iter(configurations(kernel, given)))
    if kernel is None:  # behind a decorator that nothing here knows
        return found
    text = launch_text(kernel, values, device)
    made = compile_text(text.text, options_for(text.options, device), target=backend_of(device).target(device))
    return {**found, "ttir": text.text, **{k: v for k, v in made.asm.items() if isinstance(v, str) and k != "source"}}


def _source(kernel: Any) -> str:
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    try:
        return inspect.getsource(kernel)
    except (OSError, TypeError) as error:  # made in a shell
        let_through(error)
        return ""
