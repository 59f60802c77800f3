"""Which native code of the runtime the calls of a graph need; it is compiled while the graph still is.

Asked as soon as a function is captured, and once more when the passes are done, which may make other products.
"""

from __future__ import annotations

from opweave.codegen import blas, convolution, narrow_products
from opweave.codegen.native import preparing
from opweave.tracer.graph import Graph


def begin(graph: Graph) -> None:
    """Have it compiled on another core, unless it is there or was begun."""
    calls = [n for n in graph if n.op == "call_function"]
    products = [n for n in calls if blas.is_product(n)] if blas.is_native() else []
    if products:
        special = [code for n in products for code in blas.code_for(n.meta["val"]._dtype, *blas.sizes_of(n))]
        preparing.begin(*special, blas.code())
    types = {n.meta["val"]._dtype for n in calls if convolution.convolution_of(n) is not None}
    multiplied = {narrow.a.meta["val"]._dtype for n in calls if (narrow := narrow_products.product_of(n)) is not None}
    if types or multiplied:
        preparing.begin(*map(convolution.code, types), *map(narrow_products.code, multiplied))
