"""Functions and layers of einops in compiled functions, one graph each, where `import torch` gives opweave."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import opweave, opweave.compat
opweave.compat.install(force=True)
import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

mix = EinMix("b h d -> b h e", weight_shape="d e", bias_shape="e", d=4, e=3)
model = torch.nn.Sequential(Rearrange("b (h d) -> b h d", h=2), mix, Reduce("b h e -> b e", "max"))
compiled = torch.compile(model, fullgraph=True)
x = torch.randn(3, 8)
for turn in range(4):
    assert torch.allclose(compiled(x), model(x), atol=1e-6), turn
    with torch.no_grad():
        if turn < 2:
            mix.weight.mul_(2)
        else:
            mix.weight = torch.nn.Parameter(torch.randn(4, 3))

def together(x, n):
    packed, sizes = pack([x, x[:, :n]], "b *")
    first, second = unpack(packed, sizes, "b *")
    total = reduce(second, "b (k s) -> b s", "mean", k=2).sum()
    return einsum(first, first, "b i, c i -> b c") + total + repeat(x[:, 0], "b -> b c", c=3)

one = torch.compile(together, fullgraph=True)
for n in (2, 4, 6):
    assert torch.allclose(one(x, n), together(x, n), atol=1e-5), n
print("done")
"""


def test_einops_is_part_of_a_graph() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
