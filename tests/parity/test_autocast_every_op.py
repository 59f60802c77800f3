"""Under autocasting, what type the results of PyTorch's samples of its operators have, beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import comparisons
import differences
import opinfo
import pytest
import torch

import opweave
from opweave.registry.errors import DTypeError

#: Of these PyTorch decomposes matrices in bfloat16, which NumPy's LAPACK has not; they are refused.
REFUSED = ("svd_lowrank", "pca_lowrank")
#: The last product of a pseudoinverse is rounded to bfloat16 there; here it has the matrix's type throughout.
AS_GIVEN = ("linalg.pinv", "linalg.pinv.hermitian")
#: Its function is a product before anything else, which autocasting rounds to what no pseudoinverse takes.
NOT_TRIED = ("linalg.pinv.singular",)


def types(value: Any) -> list[str]:
    if isinstance(value, (torch.Tensor, opweave.Tensor)):
        return [str(value.dtype).rpartition(".")[2]]
    return [name for each in value for name in types(each)] if isinstance(value, (list, tuple)) else []


@pytest.mark.every_op
@pytest.mark.parametrize(
    "entry",
    [
        entry
        for entry in opinfo.op_db
        if torch.float32 in entry.supported_dtypes("cpu") and opinfo.label(entry) not in NOT_TRIED
    ],
    ids=opinfo.label,
)
def test_types(entry: Any) -> None:
    label = opinfo.label(entry)
    if label in differences.OPINFO or f"{label} function" in differences.OPINFO:
        pytest.skip("the table says why it is not tried")  # no difference: it is in the table of OpInfo
    function = opinfo.function_of(entry)
    for sample in itertools.islice(opinfo.samples_of(entry, "function", torch.float32), 3):
        given = [opinfo.to_opweave(part) for part in (sample.input, tuple(sample.args), dict(sample.kwargs))]
        with torch.autocast("cpu", torch.bfloat16):
            theirs = sample.input if label in AS_GIVEN else entry(sample.input, *sample.args, **sample.kwargs)
        with opweave.autocast("cpu", opweave.bfloat16):
            if label in REFUSED:
                with pytest.raises(DTypeError):
                    function(given[0], *given[1], **given[2])
                return  # no difference: said above
            ours = function(given[0], *given[1], **given[2])
        comparisons.note_test()
        assert types(ours) == types(theirs), sample


def test_products_of_vectors_are_not_cast() -> None:
    for call in (
        lambda lib, r: lib.inner(r(3), r(3)), lambda lib, r: lib.inner(r(2, 3), r(3)),
        lambda lib, r: lib.tensordot(r(3), r(3), 1), lambda lib, r: lib.tensordot(r(2, 3), r(2, 3), 2),
        lambda lib, r: lib.tensordot(r(2, 3), r(3, 2), 1), lambda lib, r: lib.tensordot(r(2), r(3), 0),
        lambda lib, r: lib.chain_matmul(r(2, 3), r(3, 2)), lambda lib, r: lib.einsum("i,i->", r(3), r(3)),
    ):  # fmt: skip
        found = []
        for lib in (opweave, torch):
            with lib.autocast("cpu", lib.bfloat16):
                found.append(types(call(lib, lib.ones)))
        assert found[0] == found[1]
