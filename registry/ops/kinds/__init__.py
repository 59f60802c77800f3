"""How ops are declared: a kind supplies everything that follows from what an op *is*.

    @pointwise("aten::silu(Tensor self) -> Tensor", promote=INT_TO_FLOAT)
    def silu(k, x):
        return x / (1 + k.exp(-x))

gives the op with its eager kernel (NumPy and CuPy), its rule for tensors without data, its in-place and `out=`
variants, and what codegen needs to fuse it. What the stages ask of a kind stands in `base.Kind`, what a declaration
may say besides in `traits.Traits`. The kinds:

==========  ==================================================  =========================================
pointwise   one scalar expression for every element             `body(k, *values, **attrs)`
reduction   a combine over axes, a finish after                 `combine`, `finalize`
view        new sizes and strides over the same memory          `rule(sizes, strides, offset, *args)`
generator   every element a function of its index               `body(k, index, *args)`, `spec`
gather      elements of a tensor where others say               `body(*args)`, `spec`, `places`
scatter     a copy, written where other tensors say             `body(*args)`, `spec`, `target`
pieces      tensors side by side                                `body(*args)`, `spec`, `pieces`
move        each element from another place                 `body(*args)`, `spec`, `origin`
scan        each element combined with those before it          `body(*args)`, `spec`, `combine`
composite   written with other ops                              `body(*args)`
extern      a call into a library                               `body(*args)`, `spec`
inplace     writes into its first argument                      `functional`
out         writes into an argument `out`                       `functional`
outs        writes each result into an argument of its own      `functional`, `targets`
==========  ==================================================  =========================================

`decl.meta(make, args, kwargs)` computes an op's results without data: `make(spec)` creates a tensor, so the same rule
serves meta tensors and fake tensors.
"""

from __future__ import annotations

from opweave.registry.ops.kinds.base import COMPARE, DEFAULT, INT_TO_FLOAT, Decl, Kind, Maker, handler
from opweave.registry.ops.kinds.composite import CompositeDecl, ExternDecl, composite, declare_copied_back, extern
from opweave.registry.ops.kinds.concat import ConcatDecl, Pieces, concat
from opweave.registry.ops.kinds.gather import GatherDecl, Place, Places, Scatter, ScatterDecl, gather, scatter
from opweave.registry.ops.kinds.generator import GeneratorDecl, generator
from opweave.registry.ops.kinds.index_map import IndexMapDecl, index_map
from opweave.registry.ops.kinds.pointwise import PointwiseDecl
from opweave.registry.ops.kinds.reducing_scatter import reducing_scatter
from opweave.registry.ops.kinds.reduction import COMBINES, ReductionDecl, normalize_axes, reduced_sizes, reduction
from opweave.registry.ops.kinds.scan import ScanDecl, scan, wide_type
from opweave.registry.ops.kinds.view import ViewDecl, view
from opweave.registry.ops.kinds.writing import (
    InplaceDecl,
    OutDecl,
    OutsDecl,
    WritingDecl,
    before_write,
    declare_inplace,
    declare_out,
    declare_outs,
    pointwise,
    with_traits,
)

__all__ = [
    "COMBINES", "COMPARE", "DEFAULT", "INT_TO_FLOAT", "CompositeDecl", "ConcatDecl", "Decl", "ExternDecl",
    "GatherDecl", "GeneratorDecl", "IndexMapDecl", "InplaceDecl", "Kind", "Maker", "OutDecl", "OutsDecl", "Pieces",
    "Place", "Places", "PointwiseDecl", "ReductionDecl", "ScanDecl", "Scatter", "ScatterDecl", "ViewDecl",
    "WritingDecl", "before_write", "composite", "concat", "declare_copied_back",
    "declare_inplace", "declare_out", "declare_outs",
    "extern", "gather", "generator", "handler", "index_map", "normalize_axes", "pointwise", "reduced_sizes",
    "reducing_scatter", "reduction", "scan", "scatter", "view", "wide_type", "with_traits",
]  # fmt: skip
