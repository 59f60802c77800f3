"""The class of `Tensor` and its subclasses: which of these say themselves what a call on them is for them.

A subclass with `__torch_function__` gets one class more among its bases, in front of `Tensor` (`registry.overriding`):
there each method, operator and attribute asks. Plain tensors have none of it, and pay nothing.
"""

from __future__ import annotations

from typing import Any


class TensorMeta(type):
    """Of `Tensor` and all classes derived from it."""

    #: The class whose methods ask; made with the first subclass that needs it.
    asking: Any = None
    #: Gives that class, once all methods of `Tensor` are there; `registry.overriding` sets it.
    make_asking: Any = None

    def mro(cls) -> list[type]:
        """The order in which attributes are looked up."""
        order = [kind for kind in super().mro() if kind is not TensorMeta.asking]
        if TensorMeta.make_asking is None or not asks(cls, order):
            return order
        if TensorMeta.asking is None:
            make, TensorMeta.make_asking = TensorMeta.make_asking, None
            TensorMeta.asking = make()
            TensorMeta.make_asking = make
        base = next(i for i, kind in enumerate(order) if "_is_root" in kind.__dict__)
        return [*order[:base], TensorMeta.asking, *order[base:]]


def asks(cls: type, order: list[type]) -> bool:
    """Whether a class has calls go by its `__torch_function__`.

    All have one, `Tensor`'s own; with `__torch_dispatch__` a class is asked there, unless it has both.
    """
    found: Any = None
    has_dispatch = False
    for kind in order:
        if "_is_root" in kind.__dict__:
            break
        has_dispatch = has_dispatch or "__torch_dispatch__" in kind.__dict__
        if found is None:
            found = kind.__dict__.get("__torch_function__")
    else:
        return False  # `Tensor` is none of them, or it is the class itself
    if order[0] is kind:
        return False
    if found is not None:
        return getattr(found, "__func__", found) is not disabled
    # The class has no order yet, by which its attributes would be found.
    return not has_dispatch and not cls.__dict__.get("__module__", "").startswith("opweave.")


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class that is not asked: `_disabled_torch_function_impl`."""
    return func(*args, **(kwargs or {}))
