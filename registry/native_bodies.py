"""Bodies of pointwise ops that eager calls on the CPU run as one loop of native code, at any number of elements.

    @pointwise("aten::erfc(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
    @natively
    def erfc(k, x): ...

A body of many steps on float64 numbers, run step by step on whole arrays, goes through memory for each of them. What is
declared so is compiled of these steps for float32 and float64, when it is first called with the type, and is a function
as NumPy's are from then on: a single step of bodies that call it, of row programs and of replayed calls. Every other
handler, as the one that prints kernels, runs the body itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry.hooks import Hook
from opweave.registry.scalar import ArrayScalars

#: Gives a function like NumPy's for a body, its name, a type of its operands and how many there are; None where there
#: is none. `opweave` supplies it.
compiled: Hook[[Callable[..., Any], str, np.dtype[Any], int], np.ufunc | None] = Hook()
_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def natively(body: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a body that has operands and no attributes, of which elements of float32 and float64 are computed by
    native code.

    Parameters
    ----------
    body : callable
        `body(k, *operands)`, as pointwise ops have it.

    Examples
    --------
    >>> import numpy as np
    >>> twice = natively(lambda k, x: x + x)
    >>> twice(ArrayScalars(np), np.ones(2))
    array([2., 2.])
    """
    functions: dict[np.dtype[Any], np.ufunc | None] = {}

    @functools.wraps(body)
    def called(k: Any, *operands: Any) -> Any:
        if compiled.call is None or type(k) is not ArrayScalars or k.xp is not np:
            return body(k, *operands)
        dtype: Any = getattr(operands[0], "dtype", None)
        if dtype not in _TYPES or any(getattr(x, "dtype", None) != dtype for x in operands[1:]):
            return body(k, *operands)
        if dtype not in functions:
            functions[dtype] = compiled.call(body, f"{body.__module__}.{body.__qualname__}", dtype, len(operands))
        function = functions[dtype]
        return body(k, *operands) if function is None else function(*operands)

    return called
