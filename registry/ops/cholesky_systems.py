"""Systems of linear equations whose matrix is given by its Cholesky factor."""

from __future__ import annotations

from typing import Any

from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.matrices import batch_of, check_square, identity_like, mH, spec_of
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor

aten = ops.aten


def _spec(self: Tensor, input2: Tensor, upper: bool = False) -> TensorSpec:
    check_square("cholesky_solve", input2, self)
    return spec_of((*batch_of("cholesky_solve", input2, self), *self._sizes[-2:]), self._dtype, self)


@extern("aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", spec=_spec, outs="out")
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, from the Cholesky factor of A."""
    check_square("cholesky_solve", input2, self)
    L = mH(input2) if upper else input2
    first = aten.linalg_solve_triangular.default(L, self, upper=False)
    return aten.linalg_solve_triangular.default(mH(L), first, upper=True)


@cholesky_solve.backward
def _cholesky_solve_backward(
    grad: Tensor, self: Tensor, input2: Tensor, upper: bool, result: Tensor, needs: Any
) -> tuple[Any, Any]:
    """As PyTorch does, A is taken for the product of the whole factor with itself: both triangles have gradients."""
    of_self = aten.cholesky_solve.default(grad, input2, upper)
    if not needs[1]:
        return of_self, None
    common = of_self @ mH(result)
    common = common + mH(common)
    return of_self, -(input2 @ common) if upper else -(common @ input2)


@composite("aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", outs="out")
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor."""
    check_square("cholesky_inverse", self)
    return aten.cholesky_solve.default(identity_like(self, self._sizes[-1]), self, upper)


for _decl in (cholesky_inverse, cholesky_solve):
    _decl.autocast = {"cpu": "fp32"}
