"""`opcheck`: whether what is registered for an op fits together, found by trying it.

    test_schema                  writes, aliases, results and repeatability of the kernel    (opcheck.behaviour)
    test_faketensor              the fake rule against the kernel                            (opcheck.behaviour)
    test_autograd_registration   where the gradient is registered                            (opcheck.gradients)
    test_aot_dispatch_dynamic    compiled code, gradients, vmap rules                        (opcheck.gradients)

All are tried on copies of the given arguments; at the level "thorough" in other memory layouts and with sizes of 0 too
(opcheck.inputs), and then a vmap rule is compared with a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.opcheck.behaviour import Refused, check_fake, check_schema
from opweave.opcheck.gradients import check_compiled, check_registration
from opweave.opcheck.inputs import LEVELS, Sample, Tolerance, bound
from opweave.registry.autograd.mode import enable_grad, inference_mode
from opweave.registry.custom_op import CustomOpDef
from opweave.registry.errors import ArgumentError, OpCheckError
from opweave.registry.keys import no_modes
from opweave.registry.op import OpOverload
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.undeclared import told_elsewhere

_TESTS: dict[str, Callable[[Sample, Tolerance], None]] = {
    "test_schema": check_schema,
    "test_autograd_registration": lambda given, tolerance: check_registration(given),
    "test_faketensor": check_fake,
    "test_aot_dispatch_dynamic": check_compiled,
}

__all__ = ["OpCheckError", "opcheck"]


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(_TESTS),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
    level: str = "default",
) -> dict[str, str | Exception]:
    """Try an op on some arguments, and see whether what is registered for it agrees with itself.

    Parameters
    ----------
    op : CustomOpDef, OpOverload or OpOverloadPacket
        The op.
    args, kwargs : tuple, dict
        Arguments that it takes; copies are used. Gradients are tried for those that require grad.
    test_utils : str or sequence of str
        ``"test_schema"``: the kernel writes and returns what the schema says, and does so each time.
        ``"test_autograd_registration"``: its gradient, if any, is registered for Autograd.
        ``"test_faketensor"``: there is a fake rule, and it gives what the kernel gives but for the data.
        ``"test_aot_dispatch_dynamic"``: compiled code gives the same; gradients agree with finite differences, can be
        traced, and are the same traced.
    raise_exception : bool
        Raise the first error; otherwise all tests are run.
    atol, rtol : float, optional
        Tolerance of comparisons, both or neither; as the dtype allows by default.
    level : {"default", "thorough"}
        ``"default"`` tries the arguments as they are given, which is what PyTorch's tries. ``"thorough"`` tries them
        in other memory layouts and with sizes of 0 too, gradients of one input and of one output alone, and a vmap
        rule beside a loop.

    Returns
    -------
    dict of str to str or Exception
        ``"SUCCESS"`` or the error, for each test.

    Raises
    ------
    OpCheckError
        If a test fails.

    Examples
    --------
    >>> opcheck(numpy_sin, (opweave.randn(3, 4, requires_grad=True),))  # doctest: +SKIP
    {'test_schema': 'SUCCESS', 'test_autograd_registration': 'SUCCESS', ...}
    """
    if level not in LEVELS:
        raise ArgumentError("opcheck: no such level", got=repr(level), hint=f"one of {', '.join(map(repr, LEVELS))}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in _TESTS]
    if unknown:
        raise ArgumentError(
            "opcheck: no such test", got=", ".join(map(repr, unknown)), hint=f"test_utils of {', '.join(_TESTS)}"
        )
    if not isinstance(args, (tuple, list)):
        raise ArgumentError("opcheck: args must be a tuple", got=type(args).__name__, hint="opcheck(op, (x,))")
    keywords = dict(kwargs or {})
    overload: OpOverload
    if isinstance(op, CustomOpDef):
        overload = op._opoverload
        if op._structure is not None:
            args, keywords = op._structure.encode(tuple(args), keywords)
    elif isinstance(op, OpOverloadPacket):
        overload = op.pick(tuple(args), keywords)
    elif isinstance(op, OpOverload):
        overload = op
    else:
        raise ArgumentError(
            "opcheck: expected an op",
            got=f"{op!r} ({type(op).__name__})",
            hint="what @custom_op made, or opweave.ops.mylib.f",
        )
    tolerance = Tolerance(atol, rtol)
    given = Sample(overload, "", bound(overload, args, keywords), thorough=level == "thorough")
    results: dict[str, str | Exception] = {}
    for name in names:
        try:
            with no_modes(), inference_mode(False), enable_grad(), told_elsewhere():
                _TESTS[name](given, tolerance)
        except OpCheckError as error:
            if raise_exception:
                raise
            results[name] = error
        except Refused:
            results[name] = "SUCCESS"
        else:
            results[name] = "SUCCESS"
    return results


def __dir__() -> list[str]:
    return sorted(__all__)
