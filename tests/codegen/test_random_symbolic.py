"""Random programs, compiled with all sizes left open at one size and called with others, give what eager gives."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings, strategies as st
from symbolic_programs import TRIED, build, checked, inputs, layouts, programs

import opweave
from opweave.registry.errors import OpweaveError

OTHERS = [(5, 8, 3), (1, 4, 6), (3, 1, 2), (2, 2, 2), (33, 7, 10), (0, 5, 4), (6, 0, 3), (4, 4, 1), (16, 130, 2)]


def outcome(fn, tensors):
    try:
        return fn(*tensors)
    except (OpweaveError, ArithmeticError, LookupError, ValueError) as error:
        return error


@settings(max_examples=8)
@given(layouts(), programs(), st.permutations(OTHERS), st.sampled_from([True, None]))
@example(  # whether a product's rows are more than one is not known
    [((0, 0), "plain")],
    [("where", 156, 249, 12), ("binary", 257, 858, 452), ("softmax", 470, 700, 265), ("softmax", 741, 55, 117),
     ("index", 1000, 38, 351), ("matmul", 700, 132, 43), ("slice", 577, 135, 142), ("slice", 260, 519, 508),
     ("matmul", 716, 393, 381)],
    [(3, 1, 2), (5, 8, 3), (1, 4, 6), (2, 2, 2), (33, 7, 10), (4, 4, 1), (6, 0, 3), (0, 5, 4), (16, 130, 2)],
    True,
)  # fmt: skip
@example(  # at the first size nothing is copied, and at others something
    [((0,), "plain")], [("slice", 0, 50, 0), ("write", 0, 0, 0)],
    [(3, 1, 2), (5, 8, 3), (1, 4, 6), (2, 2, 2), (33, 7, 10), (4, 4, 1), (6, 0, 3), (0, 5, 4), (16, 130, 2)], True,
)  # fmt: skip
def test_other_sizes_give_what_eager_gives(wanted, steps, others, dynamic):
    program = build(checked(steps, wanted))
    compiled = opweave.compile(program, dynamic=dynamic, options={"recompile_limit": 40})
    for sizes in (TRIED[0], *others[:4], TRIED[1]):
        eager = outcome(program, inputs(wanted, sizes))
        found = outcome(compiled, inputs(wanted, sizes))
        if isinstance(eager, Exception):
            assert isinstance(found, Exception), f"eager: {eager}"
            continue
        if isinstance(found, Exception):
            raise found
        for f, w in zip(found, eager, strict=True):
            assert f.shape == w.shape and f.dtype is w.dtype
            strides = [(a, b) for a, b, size in zip(f.stride(), w.stride(), w.shape, strict=True) if size > 1]
            assert w.numel() < 2 or all(a == b for a, b in strides), strides
            scale = max(1.0, float(np.abs(w.numpy()[np.isfinite(w.numpy())]).max(initial=0)))
            np.testing.assert_allclose(f.numpy(), w.numpy(), rtol=1e-6, atol=1e-6 * scale)
