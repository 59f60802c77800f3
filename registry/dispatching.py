"""How an entry of an op's dispatch table is found, when a set of keys is first seen.

The bits of a set that are no keys wrap what the rest of the set finds. Then the keys are gone through from the highest
down (`kernel_at`): a registered kernel, else what the key does with any op (`resolvers`), else the fallback of the
key, else on to the next one. What is found gets what a call has to see to besides (`_completed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from opweave.registry.errors import DispatchError
from opweave.registry.kernels import (
    Kernel,
    KeysetKernel,
    fallthrough_kernel,
    forward,
    marking_inference,
    noting_mutation,
    noting_use,
    refusing_hidden_views,
    settling,
    watch,
)
from opweave.registry.keys import (
    ALIASES,
    ANOMALY,
    BACKEND_MASK,
    BACKEND_OF,
    BACKENDS,
    CHECK_NAN,
    DUAL,
    INFERENCE,
    PYTHON_BIT,
    WATCHED,
    DispatchKey,
    DispatchKeySet,
    state,
)
from opweave.registry.overriding import BITS as OVERRIDING, asking_kernel
from opweave.registry.python_dispatch import python_dispatch
from opweave.registry.results import unlinked

if TYPE_CHECKING:
    from opweave.registry.op import OpOverload

#: What a key does with an op that has no kernel for it: `resolver(op, bits)` makes the kernel, or gives None to go on
#: to the next key. Autograd, batching, autocast enter themselves here.
resolvers: dict[DispatchKey, Callable[[OpOverload, int], Kernel | None]] = {}

IMPLICIT = DispatchKey.CompositeImplicitAutograd
EXPLICIT = (DispatchKey.CompositeExplicitAutogradNonFunctional, DispatchKey.CompositeExplicitAutograd)
ALIAS_OF = {member: alias for alias in (DispatchKey.Autograd, DispatchKey.Autocast) for member in ALIASES[alias]}


def resolve(op: OpOverload, bits: int) -> Kernel:
    """What a call with these keys runs.

    Raises
    ------
    DispatchError
        If no key of the set runs anything.
    """
    if bits & OVERRIDING:
        return asking_kernel(op, bits)
    if bits & WATCHED:
        found = op._lookup(bits & ~WATCHED)
        return found if watch.call is None else watch.call(op, found)
    if bits & DUAL:
        assert forward.call is not None, "what includes the bit supplies it"
        return forward.call(op, bits & ~DUAL)
    if bits & (ANOMALY | CHECK_NAN):
        return op._lookup(bits & ~(ANOMALY | CHECK_NAN))
    if bits & INFERENCE:
        return marking_inference(op._lookup(bits & ~INFERENCE))
    for key in _highest_first(bits):
        kernel = kernel_at(op, key, bits)
        if kernel is not None:
            return _completed(op, key, kernel, bits)
    key = DispatchKeySet(bits & BACKEND_MASK).highest()
    raise DispatchError(
        f"{op}: no kernel for {'meta tensors' if key is DispatchKey.Meta else key.name}",
        got="kernels: " + (", ".join(k.name for k in op.kernels) or "none"),
        hint="register one with opweave.library.register_"
        + ("fake" if key is DispatchKey.Meta else f"kernel({op.name!r}, {key.name.lower()!r})"),
    )


def _highest_first(bits: int) -> Iterator[DispatchKey]:
    yield from DispatchKeySet(bits)
    if not bits & BACKEND_MASK:
        yield DispatchKey.Undefined


def _completed(op: OpOverload, key: DispatchKey, kernel: Any, bits: int) -> Kernel:
    """A key's kernel with what a call has to see to besides."""
    found = kernel.at(bits) if isinstance(kernel, KeysetKernel) else kernel
    if key is DispatchKey.Python and op.is_mutable:
        found = refusing_hidden_views(op, found)
    elif key < DispatchKey.Functionalize and op._makes_tensors and not hasattr(found, "unlinked"):
        found = unlinked(found)
    if not bits & PYTHON_BIT:
        return found
    if op.decl is not None:
        return settling(op, found) if kernel is op.kernels.get(IMPLICIT) else found
    # A trace, which is the work of a mode, misses what runs above it.
    return found if key is DispatchKey.Python else noting_use(op, found)


def kernel_at(op: OpOverload, key: DispatchKey, bits: int) -> Any:
    """What a key runs; None to go on to the next one."""
    kernels = op.kernels
    kernel = None if key in op.disabled else kernels.get(key)
    if kernel is fallthrough_kernel:
        return None
    if key is DispatchKey.Undefined or key in BACKENDS:
        return _backend_kernel(op, key, kernel, bits)
    if kernel is None and key in BACKEND_OF and not bits & BACKEND_OF[key].bit:
        return None
    if kernel is None and key in ALIASES[IMPLICIT] and IMPLICIT in kernels and not _has_backend(op, bits):
        if ALIAS_OF.get(key) is not DispatchKey.Autograd or op.derivative_source()[1] is None:
            kernel = kernels[IMPLICIT]
    if kernel is None and key in ALIAS_OF:
        kernel = kernels.get(ALIAS_OF[key])
        if kernel is fallthrough_kernel:
            return None
    if kernel is None and key in resolvers:
        kernel = resolvers[key](op, bits)
    return kernel or op.fallback_at(key)


def _backend_kernel(op: OpOverload, key: DispatchKey, kernel: Any, bits: int) -> Any:
    """`kernel_at` for a device, or for no tensor at all: the fake rule and the composite bodies stand in."""
    kernels = op.kernels
    if kernel is None and key is DispatchKey.Meta:
        kernel = op.fake
    for alias in (*EXPLICIT, IMPLICIT) if kernel is None else ():
        kernel = kernel or kernels.get(alias)
    if kernel is None and key is DispatchKey.Undefined:
        kernel = kernels.get(DispatchKey.CPU)
    kernel = kernel or op.disabled.get(key) or op.fallback_at(key)
    return None if kernel is None else noting_mutation(op, kernel, bits) if op.is_mutable else kernel


def _has_backend(op: OpOverload, bits: int) -> bool:
    """Whether a kernel for the devices in a key set stands in for the composite body.

    One for non-functional use does not, as in PyTorch.
    """
    present = op.kernels
    if DispatchKey.CompositeExplicitAutograd in present:
        return True
    return any(key in present and bits & key.bit and key not in op.disabled for key in BACKENDS)


def _dispatch_in_python(op: OpOverload, bits: int) -> Kernel:
    def call(*args: Any, **kwargs: Any) -> Any:
        modes = state.modes
        if modes and modes[-1].record is not None:
            return modes[-1].record(op, args, kwargs)
        return python_dispatch(op, *op.trim(args, kwargs))

    return call


resolvers[DispatchKey.Python] = _dispatch_in_python
