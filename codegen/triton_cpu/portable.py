"""Kernels as TTIR text that needs nothing of its author's: how exported programs carry them.

The text is made for arguments of given types, but assumes nothing of their values: not that addresses or sizes are
multiples of 16, as Triton does in a launch, since the text will meet other arguments.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton.compiler.compiler import make_backend

from opweave.codegen.contraction import contracted
from opweave.codegen.native import llvm, objects
from opweave.codegen.native.arguments import Parameter, flatten, parameters as launch_parameters
from opweave.codegen.native.launch import HEAP, Launcher
from opweave.codegen.triton_cpu import access_check, sanitizer
from opweave.codegen.triton_cpu.analysis import Lowered, TargetFeatures
from opweave.codegen.triton_cpu.compiler import LONG, CPUBackend, contracts
from opweave.codegen.triton_cpu.driver import activate, use
from opweave.codegen.triton_cpu.host import host_target
from opweave.codegen.triton_cpu.lower import lower
from opweave.codegen.triton_cpu.sharing import careful_launcher, overlap
from opweave.codegen.triton_cpu.verify import check_text
from opweave.registry.errors import CompileError, ExportError, OpweaveError, UnsupportedError
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.launch_form import LaunchForm
from opweave.registry.loading import parsing
from opweave.registry.triton.effects import configurations, source_of
from opweave.registry.triton.modules import first_ir, new_context, read
from opweave.tracer.export.kernels import Lowering


def to_text(kernel: Any, form: LaunchForm, operands: Mapping[str, Any]) -> Lowering:
    """Lower a kernel for a launch.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        Of an autotuned kernel the configuration that was found best, the first one where none was tried: all compute
        the same.
    form : LaunchForm
        The launch's.
    operands : mapping
        Its operands by name; tensors may be fake.

    Raises
    ------
    UnsupportedError
        If a configuration of the kernel runs Python before each launch.
    CompileError
        If the kernel does not compile.
    """
    found = list(configurations(kernel, form.arguments(operands)))
    choice = _best(kernel)
    jit_fn, values, known = found[choice]
    if jit_fn is None or known is None:
        raise UnsupportedError(
            "save: the kernel runs a pre_hook, which is Python, before its launches", got=str(kernel),
            hint="do in the triton_op's body what the hook does",
        )  # fmt: skip
    activate()
    target = host_target()
    try:
        with parsing, deferred(), use(target):
            source, _, options, _ = source_of(jit_fn, values, target)
            source.attrs = {}
            context = new_context()
            backend: Any = make_backend(target)
            module = CPUBackend.make_ttir(first_ir(source, backend, target, options, context))
            name, text = str(module.get_entry_func_name()), module.str_nodebug()
            text = contracted(text) if contracts(options) else text
    except OpweaveError:
        raise
    except Exception as error:  # Triton raises whatever its frontend stumbles over
        let_through(error)
        raise CompileError(
            f"save: {jit_fn.__name__} cannot be lowered for these arguments", got=f"{type(error).__name__}: {error}"
        ) from error
    names = list(jit_fn.arg_names)
    fixed = {names[path[0]]: value for path, value in source.constants.items() if len(path) == 1}
    parameters, bindings = _spread(source.signature, names, form, operands)
    return Lowering(choice, name, text, parameters, fixed, bindings)


def _spread(
    signature: Mapping[str, Any], names: Sequence[str], form: LaunchForm, operands: Mapping[str, Any]
) -> tuple[tuple[tuple[str, str], ...], dict[str, tuple[str | None, Any]]]:
    """The parameters, those of tuples and descriptors one by one, and what each is given."""
    parameters: list[tuple[str, str]] = []
    bindings: dict[str, tuple[str | None, Any]] = {}
    shown = form.arguments({name: name for name in operands})
    for name in names:
        kind = signature[name]
        if name not in form.structures:
            parameters.append((name, kind))
            continue
        for leaf, value in zip(launch_parameters({name: kind}), flatten([kind], [shown[name]]), strict=True):
            operand = value if isinstance(value, str) and value in form.structures[name].names else None
            unique = re.sub(r"\W+", "_", operand or leaf.name)
            while unique in bindings or unique in signature:  # a descriptor's sizes are given twice
                unique += "_"
            parameters.append((unique, leaf.type))
            bindings[unique] = (operand, None) if operand else (None, value)
    return tuple(parameters), bindings


def _best(kernel: Any) -> int:
    """Which of an autotuner's configurations to keep: the last one that it found best."""
    inner = kernel
    while not hasattr(inner, "configs") and hasattr(inner, "fn"):
        inner = inner.fn
    best = getattr(inner, "best_config", None)
    return next((i for i, config in enumerate(getattr(inner, "configs", ())) if config is best), 0)


def launcher(
    name: str, text: str, parameters: Sequence[tuple[str, str]], writes: frozenset[str] = frozenset()
) -> Callable[..., None]:
    """Compile a kernel's text for this machine's CPU.

    Parameters
    ----------
    name : str
        The kernel's function.
    text : str
        As `to_text` made it.
    parameters : sequence of (str, str)
        Name and Triton type of each parameter that is not `constexpr`.
    writes : frozenset of str
        The parameters that it may write.

    Returns
    -------
    callable
        `launch(gx, gy, gz, *arguments)`. Made where kernels are sanitized, it looks at every access before it is made.

    Raises
    ------
    CompileError
        If the text is no kernel with these parameters.
    UnsupportedError
        If it uses what the CPU backend has not.
    """
    sanitized = sanitizer.enabled()
    host = llvm.host()
    try:
        text = _verified(text)
        operations = check_text(name, text, parameters)
        if sanitizer.settings().strict and operations > _MOST_OPERATIONS:
            raise ExportError(
                f"{name}: a stranger's kernel is too long to be compiled", got=f"{operations} operations",
                hint=f"at most {_MOST_OPERATIONS}",
            )  # fmt: skip
        lowered = lower(
            _numbered(name, text) if sanitized else text, name=name, features=TargetFeatures.of(host, sanitized)
        )
        if sanitized:
            _check_memory(name, lowered)
        imports = access_check.native().imports if sanitized else None
        level = objects.AS_IS if sanitized and len(lowered.llvm_ir) > LONG else objects.CLEANED
        code = objects.load(
            llvm.compile_object(lowered.llvm_ir, name=name, level=level), (lowered.name,), imports=imports
        )
    except OpweaveError:
        raise
    except Exception as error:  # damaged text makes the parser and the lowering stumble anywhere
        let_through(error)
        raise CompileError(
            f"{name}: the exported program's kernel does not compile", got=f"{type(error).__name__}: {error}"
        ) from error
    made = [Parameter(parameter, kind) for parameter, kind in parameters]
    run = Launcher(name, made, code, code.address(lowered.name), lowered.assertions).launch
    if sanitized:
        return _watched(name, run, sanitizer.sites_of(lowered.sites), [p.name for p in made], writes)
    careful = functools.cache(lambda: careful_launcher(name, made, text))

    def launch(gx: int, gy: int, gz: int, *values: Any) -> None:
        (careful() if overlap(values, lowered.apart) else run)(gx, gy, gz, *values)

    return launch if lowered.apart else run


def _watched(
    name: str, run: Callable[..., None], sites: Sequence[sanitizer.Site], names: Sequence[str], writes: frozenset[str]
) -> Callable[..., None]:
    def launch(gx: int, gy: int, gz: int, *values: Any) -> None:
        with sanitizer.watching(name, (gx, gy, gz), sites, names, values, writes):
            run(gx, gy, gz, *values)

    return launch


def _numbered(name: str, text: str) -> str:
    """The text with the number of each line behind it, for messages: it has no other places."""
    lines = text.splitlines()
    return "\n".join(
        f'{line} loc("{name}.ttir":{n}:1)' if line.startswith("  ") else line for n, line in enumerate(lines, 1)
    )


_MOST_MEMORY = 1 << 28
_MOST_OPERATIONS = 3000
"""Of a stranger's kernel: the time to compile one grows faster than its length."""


def _check_memory(name: str, lowered: Lowered) -> None:
    """Refuse kernels whose blocks take more memory than a program should."""
    for assertion in lowered.assertions:
        place, _, nbytes = assertion.partition("\0")
        if place == HEAP and int(nbytes) > _MOST_MEMORY:
            raise ExportError(f"{name}: a program of the kernel takes too much memory", got=f"{nbytes} bytes")


def _verified(text: str) -> str:
    """The text as Triton itself reads and prints it: the lowering trusts what it is given to be well typed."""
    module = read(text, new_context())
    if not module.verify():
        raise ValueError("the module breaks the rules of its operations")
    return module.str_nodebug()
