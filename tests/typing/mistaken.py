"""Mistakes that users make, each on a line whose comment says `error`; a type checker must find all."""

from __future__ import annotations

import numpy as np

import opweave as torch
from opweave import Tensor
from opweave.nn import functional as F


@torch.library.custom_op("typed::mixed", mutates_args=())
def mixed(x: Tensor, y: Tensor, share: float = 0.5) -> Tensor:
    return torch.from_numpy(np.asarray(x.numpy() * share + y.numpy() * (1 - share)))


@torch.compile
def fused(x: Tensor, bias: Tensor) -> Tensor:
    return (x + bias).relu()


class Scale:
    @torch.compile
    def apply(self, x: Tensor, factor: float) -> Tensor:
        return x * factor


@torch.no_grad()
def frozen(x: Tensor) -> Tensor:
    return x.detach()


def loss(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()


x = torch.randn(3, 4)
w = torch.ones(4)

torch.softmax(x, dims=1)  # error: the argument is called dim
torch.softmax(x)  # error: dim is missing
torch.matmul(x, "weights")  # error: text for a tensor
x.topk(2).value  # error: the results are values and indices
x.softmaxx(dim=0)  # error: there is no such method
x.transpose(0)  # error: it takes two dimensions
torch.zeros(3, dtype="float32")  # error: a dtype is no text
torch.cat(x, x)  # error: a list of tensors, and a dimension
values: list[float] = x.sum()  # error: a tensor
first, second, third = x.max(dim=0)  # error: two results
x.reshape("a", 2)  # error: sizes are numbers
torch.compile(fused, fullgrph=True)  # error: the argument is called fullgraph
mixed(x)  # error: y is missing
mixed(x, x, part=0.1)  # error: the argument is called share
fused(x)  # error: bias is missing
Scale().apply(x, "2")  # error: text for a number
frozen(x, x)  # error: it takes one tensor
torch.func.grad(loss)(w)  # error: x is missing
torch.vmap(loss, in_dim=0)(x, x)  # error: the argument is called in_dims
torch.quantile(x, 0.5, interpolation="cubic")  # error: there is no such interpolation
torch.nope(x)  # error: there is no such function
F.cross_entropy(x, w, reduce_mode="sum")  # error: the argument is called reduction
x.shape.append(3)  # error: sizes are a tuple
torch.linalg.solve(x)  # error: the right side is missing
x + "1"  # error: text for a number
len(x.item)  # error: a method, not its result
torch.div(x, w, rounding_mode="ceil")  # error: trunc or floor
x.requires_grad = "yes"  # error: a truth value
torch.arange(0, 10, dtyp=torch.int64)  # error: the argument is called dtype
x.view(2, 6).T().sum()  # error: a property, not a method
