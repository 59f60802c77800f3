"""Generated kernels as the cache keeps them: object code, and what a launch has to know.

A kernel that is found here is launched without Triton and LLVM being loaded. Its key is all that it is compiled from
and with; where the user has Triton do something else meanwhile (environment variables of Triton and LLVM, hooks, a
cache of the user's own), nothing is looked up or kept, and Triton compiles.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from opweave.codegen import cache
from opweave.codegen.kernel import KernelSource
from opweave.codegen.native import sanitizing
from opweave.codegen.native.arguments import Parameter, agree, parameters
from opweave.codegen.native.launch import launch_function
from opweave.codegen.native.sealed import opened
from opweave.codegen.store import DAMAGE

_CODE, _ABOUT = "code.o", "kernel.json"
#: Beginnings of environment variables that change what Triton and LLVM do, and those that do not change code.
_CHANGING = ("TRITON_", "MLIR_", "LLVM_", "DISABLE_", "USE_IR_LOC", "OPWEAVE_DEBUG_INFO")
_HARMLESS = ("TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_DEFAULT_BACKEND", "TRITON_BACKENDS_IN_TREE")


def find(kernel: KernelSource) -> Callable[..., None] | None:
    """The launch function of a kernel that was compiled before, as `launch.direct_launcher` gives it."""
    if not is_plain():
        return None
    key = _key(kernel)
    for place, files in cache.entries(key):
        try:
            about = json.loads(files[_ABOUT])
            params = [Parameter(str(name), str(kind)) for name, kind in about["parameters"]]
            assertions = tuple(map(str, about["assertions"]))
            if about["name"] != kernel.name or opened(files[_CODE]) is None:
                raise ValueError("it is another kernel, or damaged")
        except DAMAGE as error:
            place.report_damage(key, error)
            continue
        cache.mend(key, place, files)
        return launch_function(kernel.name, files[_CODE], params, assertions)
    return None


def finished(kernel: KernelSource, lowered: Any, obj: bytes) -> Callable[..., None]:
    """The launch function of a kernel that was compiled now, which is kept.

    Parameters
    ----------
    kernel : KernelSource
    lowered : aot.LoweredKernel
        The same, lowered.
    obj : bytes
        Its code.
    """
    params, assertions = parameters(lowered.signature), tuple(lowered.metadata.assertions)
    agree(lowered.name, params, lowered.metadata)
    if lowered.name == kernel.name:
        about = {
            "name": kernel.name,
            "parameters": [[p.name, p.type] for p in params],
            "assertions": assertions,
        }
        files = {_CODE: obj, _ABOUT: json.dumps(about).encode()}
        any(place.write(_key(kernel), files) for place in cache.stores())
    return launch_function(lowered.name, obj, params, assertions)


def _key(kernel: KernelSource) -> str:
    parts = (
        kernel.name, kernel.language, kernel.signature, sorted(kernel.constexprs.items()), kernel.aligned,
        kernel.apart, kernel.options, kernel.num_warps,
    )  # fmt: skip
    return cache.key_of("kernel", kernel.source, repr(parts))


def is_plain() -> bool:
    """Whether Triton would compile as it does by itself."""
    if sanitizing.enabled():
        return False
    if any(name.startswith(_CHANGING) and name not in _HARMLESS for name in os.environ):
        return False
    knobs: Any = sys.modules.get("triton.knobs")
    if not all(hasattr(knobs, name) for name in ("runtime", "compilation", "cache")):
        return True  # no hook can stand in what is not imported, or is being imported in another thread
    runtime, compilation = knobs.runtime, knobs.compilation
    changed = (
        getattr(runtime, "add_stages_inspection_hook", None), compilation.listener, compilation.override,
        compilation.dump_ir, compilation.always_compile, compilation.store_binary_only,
    )  # fmt: skip
    return not any(changed) and getattr(knobs.cache.manager_class, "__module__", __name__).startswith("opweave.")
