"""Triton's own modules: made, read from text, and taken through its passes.

Its bindings have no types, so that they are used here alone; Triton is imported when the first module is asked for.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

from opweave.registry import forking
from opweave.registry.errors import UnsupportedError
from opweave.registry.interrupts import contextmanager
from opweave.registry.loading import load_heavy

_LIBRARY = "triton._C.libtriton"
CLEANED = ("common.inliner", "common.canonicalizer", "common.cse", "common.symbol_dce")
"""Passes after which a kernel is one function, with nothing in it that is not used."""
BLOCK_POINTERS = "ttir.rewrite_tensor_pointer"
"""The pass that makes plain pointers of block pointers; Triton 3.8 no longer has it."""
#: Kernels that one context serves: it keeps the types, constants and places of all of them.
_MOST_KERNELS = 64
#: By the class of the backend: a context, and how many more kernels it is for.
_shared: dict[type, tuple[Any, int]] = {}
_left: list[Any] = []


def new_context(backend: Any = None) -> Any:
    """What modules are made in: it knows Triton's operations, and those of a backend."""
    refuse_nested_pointers()
    ir = load_heavy(_LIBRARY).ir
    context = ir.context()
    ir.load_dialects(context)
    if backend is not None:
        backend.load_dialects(context)
    return context


def shared_context(backend: Any) -> Any:
    """What `new_context` makes, or made for other kernels: to make one takes a tenth of the time that a kernel takes.

    Only for a thread that holds `loading.parsing`, and for modules that are gone when it lets go.
    """
    kind = type(backend)
    context, left = _shared.get(kind, (None, 0))
    if not left:
        context, left = new_context(backend), _MOST_KERNELS
    _shared[kind] = context, left - 1
    return context


def _leave_to_parent() -> None:
    """Neither use contexts in a forked child nor take them apart, lest they wait for threads that are not there."""
    _left.append(dict(_shared))
    _shared.clear()


forking.after_fork_in_child(_leave_to_parent)


def first_ir(source: Any, backend: Any, target: Any, options: Any, context: Any) -> Any:
    """The module that Triton's frontend makes of a kernel.

    Parameters
    ----------
    source : ASTSource
        The kernel.
    backend, target, options
        Whom it is made for, and with what.
    context
        See `new_context`.
    """
    load_heavy("triton.compiler.code_generator")
    helpers = backend.get_codegen_implementation(options)
    return source.make_ir(target, options, helpers, backend.get_module_map(), context)


def refuse_nested_pointers() -> None:
    """Have Triton's frontend refuse a pointer to pointers, as of 3.9 has none, and would end the process instead."""
    release = tuple(int(part) for part in load_heavy("triton").__version__.split(".")[:2])
    kind = load_heavy("triton.language.core").pointer_type
    made = kind.to_ir
    if release < (3, 9) or hasattr(made, "__wrapped__"):
        return

    @functools.wraps(made)
    def to_ir(self: Any, builder: Any) -> Any:
        if isinstance(self.element_ty, kind):
            raise UnsupportedError(
                "a pointer to pointers, which Triton has none of from 3.9 on", got=str(self),
                hint="keep addresses in a tensor of int64, and cast each: address.to(tl.pointer_type(tl.float32))",
            )  # fmt: skip
        return made(self, builder)

    kind.to_ir = to_ir


def read(text: str, context: Any) -> Any:
    """A module from TTIR; it is checked.

    Raises
    ------
    RuntimeError
        If the text breaks a rule; Triton says on stderr which.
    """
    with in_file(text) as path:
        module = load_heavy(_LIBRARY).ir.parse_mlir_module(path, context)
    module.context = context
    return module


@contextmanager
def in_file(text: str) -> Iterator[str]:
    """The path of a file that has the text for a while: Triton reads nothing else."""
    with load_heavy("tempfile").TemporaryDirectory(prefix="opweave-") as folder:
        path = os.path.join(folder, "kernel.ttir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield path


def run_passes(module: Any, names: tuple[str, ...], label: str) -> Any:
    """Change a module by Triton's passes, and return it.

    Parameters
    ----------
    names : tuple of str
        As `common.cse`.
    label : str
        What Triton's own logs call it.
    """
    library = load_heavy(_LIBRARY)
    manager = library.ir.pass_manager(module.context)
    for name in names:
        group, _, what = name.partition(".")
        found = getattr(library.passes, group)
        if name != BLOCK_POINTERS or hasattr(found, f"add_{what}"):
            getattr(found, f"add_{what}")(manager)
    manager.run(module, label)
    return module
