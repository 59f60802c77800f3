"""The TTIR of a user's kernel as its launch would compile it, to be read or changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opweave.codegen.contraction import contracted
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.loading import load_heavy
from opweave.registry.triton import effects
from opweave.registry.triton.modules import new_context, read
from opweave.registry.triton_op import CompiledText


@dataclass(frozen=True)
class LaunchText:
    """A kernel's text.

    Attributes
    ----------
    text : str
        TTIR, after Triton's passes for the target; products and sums are one operation where they should be.
    names : sequence of str
        What its parameters are called.
    options : mapping
        What the launch says of the compilation.
    target, backend : object
        Triton's.
    context : object
        What modules are read in.
    """

    text: str
    names: tuple[str, ...]
    options: Mapping[str, Any]
    target: Any
    backend: Any
    context: Any


def launch_text(kernel: Any, values: Mapping[str, Any], device: Device, *, contract: bool = False) -> LaunchText:
    """The text of a kernel for a launch.

    Parameters
    ----------
    kernel : JITFunction or CompiledText
        The kernel, of tuned ones a configuration's.
    values : mapping of str to object
        Its arguments and options.
    device : Device
        Where it runs.
    contract : bool
        Whether to say which products and sums become one operation where else the backend would choose.
    """
    if isinstance(kernel, CompiledText):
        kernel.check_fixed(values)
        options: dict[str, Any] = {}
        text, names = kernel.ttir, tuple(name for name, kind in kernel.parameters if kind != "constexpr")
    else:
        options = {k: v for k, v in values.items() if k not in kernel.arg_names}
        text, names = effects.lowered(kernel, dict(values))
    target, is_cpu = effects.target_of(values), device.type == "cpu"
    if is_cpu:
        target = load_heavy("opweave.codegen.triton_cpu.host").host_target()
    context, backend = _context(target)
    # Nothing that is known besides is put in: a loop whose turns are counted comes out unrolled, and of its sums of
    # products others become one operation.
    text = str(_for_target(read(text, context), backend, target, options_for(options, device)))
    if is_cpu:
        contract = load_heavy("opweave.codegen.triton_cpu.compiler").contracts(options)
    if contract and options.get("enable_fp_fusion", True) is not False:
        text = contracted(text)
    return LaunchText(text, names, options, target, backend, context)


def options_for(options: Mapping[str, Any], device: Device) -> dict[str, Any]:
    """Of the compilation. On the CPU products and sums are one operation already where they should be."""
    fixed = {"enable_fp_fusion": False} if device.type == "cpu" else {}
    return {**{k: v for k, v in options.items() if isinstance(v, (int, float, str, bool))}, **fixed}


def _context(target: Any) -> tuple[Any, Any]:
    from triton.compiler import make_backend

    backend: Any = make_backend(target)
    return new_context(backend), backend


def _for_target(module: Any, backend: Any, target: Any, options: Mapping[str, Any]) -> Any:
    """After Triton's own passes for the target."""
    from triton.backends.compiler import Language

    stages: dict[str, Any] = {}
    backend.add_stages(stages, backend.parse_options(dict(options)), Language.TRITON)
    with effects.compiling(target):
        return stages["ttir"](module, {})
