"""`import torch` where there is no PyTorch: in a process of its own."""

from __future__ import annotations

import collections
import subprocess
import sys
from typing import Any

import pytest

import opweave
from opweave.compat.names import PRESENT

PROGRAM = """
import sys
import opweave, opweave.compat
assert "torch" not in sys.modules
opweave.compat.install(force=True)
opweave.compat.install()

import torch, torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.utils import _pair
from torch.distributed.tensor import DTensor
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
import torch.utils.checkpoint

assert torch.Tensor is Tensor is opweave.Tensor and torch.nn.Linear is opweave.nn.Linear
assert nn.Module is opweave.nn.Module and F.relu is opweave.nn.functional.relu
assert issubclass(nn.BatchNorm2d, _BatchNorm) and _pair(3) == (3, 3)
assert not dist.is_available() and torch.version.cuda is None
assert not dist.is_initialized() and int(torch.__version__.split(".")[0]) >= 2
assert isinstance(torch.ones(2), torch.FloatTensor) and torch.LongTensor([1, 2]).dtype is torch.int64
assert torch.finfo(torch.float32).max == 3.4028234663852886e38 and torch.iinfo(torch.int8).min == -128
assert not hasattr(torch, "nonsense") and not torch.compiler.is_compiling()
torch.backends.cudnn.benchmark = True
assert torch.backends.cudnn.benchmark

@torch.compile(mode="max-autotune")
def f(x):
    return x * 2 if torch.compiler.is_compiling() else x * 3

assert f(torch.ones(1)).item() in (2, 3)

class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad.mm(b.t()), a.t().mm(grad)

import importlib.metadata
from torch.autograd import Variable
from torch.functional import einsum
from torch.distributions.normal import Normal
from torch.distributions.utils import _standard_normal, _sum_rightmost, broadcast_all, lazy_property
from torch.nn.parallel import DistributedDataParallel
from torch.ao.quantization import FakeQuantizeBase
from torch.utils.dlpack import from_dlpack, to_dlpack
from torch.utils.data._utils.collate import default_collate
from torch.nn.modules.lazy import LazyModuleMixin
from torch.overrides import TorchFunctionMode, has_torch_function

assert importlib.metadata.version("torch") == torch.__version__ and torch.torch is torch
assert einsum is torch.einsum and Normal is torch.distributions.Normal
assert "opweave" in torch.__config__.show() and isinstance(torch.ones(1), Variable)
assert Variable(torch.ones(2), requires_grad=True).requires_grad
assert from_dlpack(to_dlpack(torch.ones(2))).tolist() == [1, 1]
assert "ReLU" in vars(torch.nn.modules.activation)
assert torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512") and len(default_collate([1, 2])) == 2
assert isinstance(nn.LazyLinear(2), LazyModuleMixin) and torch.nn.parameter.is_lazy(nn.LazyLinear(2).weight)

class Kept(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {})).as_subclass(cls if func is torch.Tensor.clone else torch.Tensor)

kept = torch.ones(2).as_subclass(Kept)
assert type(kept + 1) is torch.Tensor and type(kept.clone()) is Kept and has_torch_function((kept,))
assert torch.ops.aten._sparse_addmm.default is not None and not hasattr(torch.ops.aten, "nonsense")
assert torch.LongTensor(2, 3).shape == (2, 3) and torch.FloatTensor([2, 3]).tolist() == [2.0, 3.0]
assert not torch.is_autocast_enabled("mps") and not torch.ones(1).is_mps
for absent in (DistributedDataParallel, FakeQuantizeBase, torch.TensorType):
    try:
        absent()
    except NotImplementedError as error:
        assert "is not there" in str(error)
    else:
        raise AssertionError(absent)

a = torch.ones(2, 2, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    product = Product.apply(a, torch.ones(2, 2))
product.float().sum().backward()
assert product.dtype is torch.bfloat16 and a.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
torch._dynamo.mark_dynamic(torch.ones(3, 2), 0)

class Zeros(nn.Module):
    def forward(self, x):
        n = x.item()
        torch._check(n >= 0)
        torch._check(n < 10)
        return torch.zeros(n)

assert torch.export.export(Zeros(), (torch.tensor(3),)).module()(torch.tensor(5)).shape == (5,)

class Mine(DTensor):
    def of(self, x: DTensor | None, group: dist.ProcessGroup = None): ...

for use in (lambda: dist.all_reduce(torch.ones(1)), Mine, lambda: dist.ReduceOp.SUM(), torch.cuda.Stream):
    try:
        use()
    except NotImplementedError as error:
        assert "is not there" in str(error), error
    else:
        raise AssertionError(use)
assert dist.ReduceOp.SUM is not None and not isinstance(torch.ones(1), DTensor)
try:
    import torch.nonsense
except ModuleNotFoundError:
    pass
else:
    raise AssertionError
assert type(a).__module__ == torch.Tensor.__module__ == "torch"  # by which packages choose functions for it
opweave.compat.uninstall()
assert "torch" not in sys.modules and type(a).__module__ == "opweave.registry.tensor"
try:
    opweave.compat.install()
except TypeError as error:
    assert "PyTorch is installed" in str(error)
print("done")
"""


def test_code_written_for_pytorch_runs_without_it():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_names_that_only_compat_has_say_so() -> None:
    kept = vars(opweave)["_BY_COMPAT"]
    known = {*PRESENT["torch"], *(module.split(".")[1] for module in PRESENT if "." in module)}
    assert kept <= known
    for name in kept:
        with pytest.raises(AttributeError, match=rf"after opweave\.compat\.install\(\): torch\.{name}"):
            getattr(opweave, name)
    with pytest.raises(AttributeError, match=r"opweave\.cuda_is_available\(\)"):
        _ = opweave.cuda  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(opweave, "backends")


REPLACING = """
import opweave.compat
opweave.compat.install(force=True)
from unittest import mock
import torch, torch.nn.functional as F
from torch.nn.modules.module import register_module_forward_hook
x, module = torch.tensor([-2.0, 3.0]), torch.nn.LeakyReLU(0.5)
call = torch.compile(lambda x: module(x), fullgraph=True)
for where in (F, torch.nn.functional):
    assert call(x).tolist() == module(x).tolist() == [-1.0, 3.0]
    with mock.patch.object(where, "leaky_relu", lambda x, *_: x * 7):
        assert call(x).tolist() == module(x).tolist() == [-14.0, 21.0]
    before, F.leaky_relu = F.leaky_relu, lambda x, *_: x * 8
    assert call(x).tolist() == module(x).tolist() == [-16.0, 24.0]
    F.leaky_relu = before
with mock.patch("torch.nn.init.kaiming_uniform_", lambda t, **_: torch.nn.init.ones_(t)):
    assert torch.nn.Linear(2, 1).weight.tolist() == [[1.0, 1.0]]
assert torch.nn.Linear(2, 1).weight.tolist() != [[1.0, 1.0]]
with register_module_forward_hook(lambda module, args, out: out + 1):
    assert call(x).tolist() == [0.0, 4.0]
assert call(x).tolist() == [-1.0, 3.0]
"""


def test_functions_that_are_replaced_are_called_by_the_modules():
    done = subprocess.run([sys.executable, "-c", REPLACING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _ends(index: int, limit: int) -> None:
    if index == limit:
        raise ValueError(f"not {index}")


def test_processes_that_are_started_together() -> None:
    spawn = PRESENT["torch.multiprocessing"]["start_processes"]
    assert spawn(_ends, (5,), nprocs=2, start_method="fork") is None
    with pytest.raises(PRESENT["torch.multiprocessing"]["ProcessRaisedException"], match="not 1") as caught:
        spawn(_ends, (1,), nprocs=2, start_method="fork")
    assert caught.value.error_index == 1
    context = spawn(_ends, (5,), nprocs=1, join=False, start_method="fork")
    assert len(context.pids()) == 1
    assert context.join(60)


def test_trees_that_are_written_out() -> None:
    trees = PRESENT["torch.utils._pytree"]
    leaf, nodes = trees["LeafSpec"], trees["SUPPORTED_NODES"]
    pair = collections.namedtuple("pair", "a b")  # noqa: PYI024  # of this sort
    tree = {"x": [1, pair(2, (3,))], "y": collections.OrderedDict(z=collections.deque([4], 5))}

    def flat(value: Any) -> tuple[list[Any], Any]:
        kind = trees["_get_node_type"](value)
        if kind not in nodes:
            return [value], leaf()
        children, context = nodes[kind].flatten_fn(value)
        parts = [flat(child) for child in children]
        return [x for each, _ in parts for x in each], trees["TreeSpec"](kind, context, [spec for _, spec in parts])

    leaves, spec = flat(tree)
    assert leaves == [1, 2, 3, 4]
    assert spec.num_leaves == 4
    assert trees["tree_unflatten"]([x * 10 for x in leaves], spec) == {
        "x": [10, pair(20, (30,))], "y": collections.OrderedDict(z=collections.deque([40], 5))
    }  # fmt: skip
    assert isinstance(leaf(), leaf)
    assert not isinstance(spec, leaf)
    assert isinstance(trees["tree_structure"](tree), trees["TreeSpec"])
    with pytest.raises(TypeError, match="another number of leaves"):
        trees["tree_unflatten"]([1], spec)


def test_the_arguments_of_to() -> None:
    parse = PRESENT["torch._C._nn"]["_parse_to"]
    cpu = opweave.device("cpu")
    assert parse("cpu", opweave.float32, True) == (cpu, opweave.float32, True, None)
    assert parse(opweave.ones(2, dtype=opweave.float64)) == (cpu, opweave.float64, False, None)
    assert parse(device=None, dtype=opweave.int8, non_blocking=True) == (None, opweave.int8, True, None)
    with pytest.raises(TypeError):
        parse("cpu", [])


STATELESS = """
import opweave.compat
opweave.compat.install(force=True)
import torch
from functorch import make_fx, vmap
from torch.nn.utils.stateless import _reparametrize_module

assert vmap(lambda x: x * 2)(torch.ones(3)).tolist() == [2.0] * 3
assert make_fx(torch.sin)(torch.ones(3))(torch.zeros(3)).tolist() == [0.0] * 3
try:
    import functorch.nonsense
except ModuleNotFoundError:
    pass
else:
    raise AssertionError
layer = torch.nn.Linear(2, 1)
own = layer.weight
with _reparametrize_module(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}):
    assert layer(torch.ones(2)).tolist() == [2.0]
assert layer.weight is own
class Asked:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func

assert torch.nn.functional.softmax(Asked(), -1) is torch.nn.functional.softmax
torch.set_default_device("cpu")
torch.random.manual_seed(3)
assert torch.random.initial_seed() == torch.default_generator.initial_seed() == 3
assert {"backends", "random", "nn"} <= set(dir(torch))
print("done")
"""


def test_other_parameters_for_a_block():
    done = subprocess.run([sys.executable, "-c", STATELESS], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
