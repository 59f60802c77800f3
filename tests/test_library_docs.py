"""The examples of `torch.library`'s documentation, as printed there, with opweave as `torch`.

Versions 2.8 and 2.2 of the page; the index page has no examples of its own. An example is changed in three ways only:
modules that opweave keeps elsewhere are renamed, lines that need a GPU run where there is one (on the CPU they are left
out, or name the CPU instead), and every op is forgotten afterwards, since the examples define the same names.
"""

import ast
import contextlib
import gc
import io
import itertools
import re
import textwrap
import warnings

import numpy as np
import pytest

import opweave
from opweave.registry.errors import DispatchError, RegistrationError
from opweave.registry.op import registry

_serial = itertools.count()

RENAMED = {
    "from torch.fx.experimental.proxy_tensor import make_fx": "from opweave import make_fx",
    "torch._subclasses.fake_tensor.FakeTensorMode": "torch.FakeTensorMode",
    "torch.utils._python_dispatch.TorchDispatchMode": "torch.TorchDispatchMode",
    "import torch\n": "import opweave as torch\n",
    "from torch import": "from opweave import",
    "from torch.library import": "from opweave.library import",
}


pytestmark = pytest.mark.usefixtures("forget")


@pytest.fixture
def run(tmp_path):
    """Runs an example; returns its names. Every `>>>` line is code, a line without one the text of the last value."""

    def run(text, **names):
        scope = {"torch": opweave, "np": np, "Tensor": opweave.Tensor, "__name__": "example", **names}
        code: list[str] = []
        blocks: list[tuple[list[str], list[str]]] = []
        for line in textwrap.dedent(text).strip("\n").splitlines():
            if line.startswith((">>>", "...")):
                if blocks and blocks[-1][1]:
                    code = []
                if not code:
                    blocks.append((code, []))
                code.append(line[4:])
            elif line.strip():
                blocks[-1][1].append(line)
        for code, expected in blocks:
            source = "\n".join(code) + "\n"
            for printed, ours in RENAMED.items():
                source = source.replace(printed, ours)
            file = tmp_path / f"example_{next(_serial)}.py"  # Triton reads the source of kernels
            file.write_text(source)
            tree = ast.parse(source)
            shown = io.StringIO()
            last = tree.body.pop() if expected else None
            with contextlib.redirect_stdout(shown):
                exec(compile(tree, str(file), "exec"), scope)
                if isinstance(last, ast.Expr):
                    print(eval(compile(ast.Expression(last.value), str(file), "eval"), scope))
            if expected:
                assert shown.getvalue().splitlines() == expected
            scope["printed"] = shown.getvalue()
        return scope

    return run


def on(device, text, *changes):
    """An example as printed on a GPU; with changes, or without the lines that name a GPU, elsewhere."""
    if device == "cuda":
        return text
    for printed, here in changes:
        assert printed in text
        text = text.replace(printed, here)
    return "\n".join(line for line in text.splitlines() if "cuda" not in line)


# ---- 2.8: opcheck --------------------------------------------------------------------------------------------------

OPCHECK = """
>>> @torch.library.custom_op("mylib::numpy_mul", mutates_args=())
>>> def numpy_mul(x: Tensor, y: float) -> Tensor:
>>>     x_np = x.numpy(force=True)
>>>     z_np = x_np * y
>>>     return torch.from_numpy(z_np).to(x.device)
>>>
>>> @numpy_mul.register_fake
>>> def _(x, y):
>>>     return torch.empty_like(x)
>>>
>>> def setup_context(ctx, inputs, output):
>>>     y, = inputs
>>>     ctx.y = y
>>>
>>> def backward(ctx, grad):
>>>     return grad * ctx.y, None
>>>
>>> numpy_mul.register_autograd(backward, setup_context=setup_context)
>>>
>>> sample_inputs = [
>>>     (torch.randn(3), 3.14),
>>>     (torch.randn(2, 3, device='cuda'), 2.718),
>>>     (torch.randn(1, 10, requires_grad=True), 1.234),
>>>     (torch.randn(64, 64, device='cuda', requires_grad=True), 90.18),
>>> ]
>>>
>>> for args in sample_inputs:
>>>     torch.library.opcheck(numpy_mul, args)
"""


def test_opcheck_finds_that_its_example_unpacks_one_of_two_inputs(device, run):
    # `y, = inputs`, where inputs are (x, y): the text is wrong, and opcheck says so at the first input with a gradient.
    with pytest.raises(Exception, match="too many values to unpack"):
        run(on(device, OPCHECK))


def test_opcheck(device, run):
    made = run(on(device, OPCHECK.replace("y, = inputs", "_, y = inputs")))
    assert len(made["sample_inputs"]) == (4 if device == "cuda" else 2)


# ---- 2.8: custom_op ------------------------------------------------------------------------------------------------


def test_custom_op(run):
    made = run("""
        >>> import torch
        >>> from torch import Tensor
        >>> from torch.library import custom_op
        >>> import numpy as np
        >>>
        >>> @custom_op("mylib::numpy_sin", mutates_args=())
        >>> def numpy_sin(x: Tensor) -> Tensor:
        >>>     x_np = x.cpu().numpy()
        >>>     y_np = np.sin(x_np)
        >>>     return torch.from_numpy(y_np).to(device=x.device)
        >>>
        >>> x = torch.randn(3)
        >>> y = numpy_sin(x)
        >>> assert torch.allclose(y, x.sin())
        >>>
        >>> # Example of a custom op that only works for one device type.
        >>> @custom_op("mylib::numpy_sin_cpu", mutates_args=(), device_types="cpu")
        >>> def numpy_sin_cpu(x: Tensor) -> Tensor:
        >>>     x_np = x.numpy()
        >>>     y_np = np.sin(x_np)
        >>>     return torch.from_numpy(y_np)
        >>>
        >>> x = torch.randn(3)
        >>> y = numpy_sin_cpu(x)
        >>> assert torch.allclose(y, x.sin())
        >>>
        >>> # Example of a custom op that mutates an input
        >>> @custom_op("mylib::numpy_sin_inplace", mutates_args={"x"}, device_types="cpu")
        >>> def numpy_sin_inplace(x: Tensor) -> None:
        >>>     x_np = x.numpy()
        >>>     np.sin(x_np, out=x_np)
        >>>
        >>> x = torch.randn(3)
        >>> expected = x.sin()
        >>> numpy_sin_inplace(x)
        >>> assert torch.allclose(x, expected)
        >>>
        >>> # Example of a factory function
        >>> @torch.library.custom_op("mylib::bar", mutates_args={}, device_types="cpu")
        >>> def bar(device: torch.device) -> Tensor:
        >>>     return torch.ones(3)
        >>>
        >>> bar("cpu")
    """)
    assert made["x"]._version == 1 and made["bar"]("cpu").tolist() == [1, 1, 1]


# ---- 2.8: triton_op, wrap_triton -----------------------------------------------------------------------------------

KERNEL = """
>>> @triton.jit
>>> def add_kernel(
>>>     in_ptr0,
>>>     in_ptr1,
>>>     out_ptr,
>>>     n_elements,
>>>     BLOCK_SIZE: "tl.constexpr",
>>> ):
>>>     pid = tl.program_id(axis=0)
>>>     block_start = pid * BLOCK_SIZE
>>>     offsets = block_start + tl.arange(0, BLOCK_SIZE)
>>>     mask = offsets < n_elements
>>>     x = tl.load(in_ptr0 + offsets, mask=mask)
>>>     y = tl.load(in_ptr1 + offsets, mask=mask)
>>>     output = x + y
>>>     tl.store(out_ptr + offsets, output, mask=mask)
>>>
"""
TRITON_OP = f"""
>>> import torch
>>> from torch.library import triton_op, wrap_triton
>>>
>>> import triton
>>> from triton import language as tl
>>>{KERNEL}
>>> @triton_op("mylib::add", mutates_args={{}})
>>> def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
>>>     output = torch.empty_like(x)
>>>     n_elements = output.numel()
>>>
>>>     def grid(meta):
>>>         return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
>>>
>>>     # NB: we need to wrap the triton kernel in a call to wrap_triton
>>>     wrap_triton(add_kernel)[grid](x, y, output, n_elements, 16)
>>>     return output
>>>
>>> @torch.compile
>>> def f(x, y):
>>>     return add(x, y)
>>>
>>> x = torch.randn(3, device="cuda")
>>> y = torch.randn(3, device="cuda")
>>>
>>> z = f(x, y)
>>> assert torch.allclose(z, x + y)
"""
WRAP_TRITON = f"""
>>> import torch
>>> import triton
>>> from triton import language as tl
>>> from torch.fx.experimental.proxy_tensor import make_fx
>>> from torch.library import wrap_triton
>>>{KERNEL}
>>> def add(x, y):
>>>     output = torch.empty_like(x)
>>>     n_elements = output.numel()
>>>
>>>     def grid_fn(meta):
>>>         return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
>>>
>>>     wrap_triton(add_kernel)[grid_fn](x, y, output, n_elements, 16)
>>>     return output
>>>
>>> x = torch.randn(3, device="cuda")
>>> y = torch.randn(3, device="cuda")
>>> gm = make_fx(add)(x, y)
>>> print(gm.code)
>>> # def forward(self, x_1, y_1):
>>> #     empty_like = torch.ops.aten.empty_like.default(x_1, pin_memory = False)
>>> #     triton_kernel_wrapper_mutation_proxy = triton_kernel_wrapper_mutation(
>>> #         kernel_idx = 0, constant_args_idx = 0,
>>> #         grid = [(1, 1, 1)], kwargs = {{
>>> #             'in_ptr0': x_1, 'in_ptr1': y_1, 'out_ptr': empty_like,
>>> #             'n_elements': 3, 'BLOCK_SIZE': 16
>>> #         }})
>>> #     return empty_like
"""


def test_triton_op(device, run):
    made = run(on(device, TRITON_OP, ('device="cuda"', 'device="cpu"')))
    assert (made["z"] != made["x"]).all() and made["z"].device.type == device


def test_wrap_triton(device, run):
    made = run(on(device, WRAP_TRITON, ('device="cuda"', 'device="cpu"')))
    code = re.sub(r': "[^"]*"', "", made["printed"])  # the types that opweave prints beside names
    lines = (
        "def forward(self, x_1, y_1):", "empty_like = ops.aten.empty_like.default(x_1)",
        "ops.triton_kernel_wrapper_mutation(kernel_idx=", "constant_args_idx=", "grid=[(1, 1, 1)]", "'in_ptr0': x_1",
        "'in_ptr1': y_1", "'out_ptr': empty_like", "'n_elements': 3", "'BLOCK_SIZE': 16", "return",
    )  # fmt: skip
    assert [line for line in lines if line not in code] == [], code
    assert opweave.allclose(made["gm"](made["x"], made["y"]), made["x"] + made["y"])


# ---- 2.8: register_kernel ------------------------------------------------------------------------------------------

REGISTER_KERNEL = """
>>> import torch
>>> from torch import Tensor
>>> from torch.library import custom_op
>>> import numpy as np
>>>
>>> # Create a custom op that works on cpu
>>> @custom_op("mylib::numpy_sin", mutates_args=(), device_types="cpu")
>>> def numpy_sin(x: Tensor) -> Tensor:
>>>     x_np = x.numpy()
>>>     y_np = np.sin(x_np)
>>>     return torch.from_numpy(y_np)
>>>
>>> # Add implementations for the cuda device
>>> @torch.library.register_kernel("mylib::numpy_sin", "cuda")
>>> def _(x):
>>>     x_np = x.cpu().numpy()
>>>     y_np = np.sin(x_np)
>>>     return torch.from_numpy(y_np).to(device=x.device)
>>>
>>> x_cpu = torch.randn(3)
>>> x_cuda = x_cpu.cuda()
>>> assert torch.allclose(numpy_sin(x_cpu), x_cpu.sin())
>>> assert torch.allclose(numpy_sin(x_cuda), x_cuda.sin())
"""


def test_register_kernel(device, run):
    text = REGISTER_KERNEL
    if device == "cpu":  # registering for a device that is not there is possible; calling it is not
        text = "\n".join(line for line in text.splitlines() if "x_cuda" not in line)
    made = run(text)
    assert {key.name for key in made["numpy_sin"]._opoverload.kernels} == {"CPU", "CUDA"}


# ---- 2.8: register_autocast ----------------------------------------------------------------------------------------

REGISTER_AUTOCAST = """
>>> import torch
>>> from torch import Tensor
>>> from torch.library import custom_op
>>>
>>> # Create a custom op that works on cuda
>>> @torch.library.custom_op("mylib::my_sin", mutates_args=())
>>> def my_sin(x: Tensor) -> Tensor:
>>>     return torch.sin(x)
>>>
>>> # Register autocast dispatch rule for the cuda device
>>> torch.library.register_autocast("mylib::my_sin", "cuda", torch.float16)
>>>
>>> x = torch.randn(3, dtype=torch.float32, device="cuda")
>>> with torch.autocast("cuda", dtype=torch.float16):
>>>     y = torch.ops.mylib.my_sin(x)
>>> assert y.dtype == torch.float16
"""


def test_register_autocast(device, run):
    made = run(on(device, REGISTER_AUTOCAST, ('"cuda"', '"cpu"')))
    assert made["my_sin"](made["x"]).dtype == opweave.float32  # outside of the block
    np.testing.assert_allclose(made["y"].numpy(force=True), np.sin(made["x"].numpy(force=True)), atol=2e-3)


# ---- 2.8: register_autograd ----------------------------------------------------------------------------------------


def test_register_autograd(run):
    run("""
        >>> import torch
        >>> import numpy as np
        >>> from torch import Tensor
        >>>
        >>> @torch.library.custom_op("mylib::numpy_sin", mutates_args=())
        >>> def numpy_sin(x: Tensor) -> Tensor:
        >>>     x_np = x.cpu().numpy()
        >>>     y_np = np.sin(x_np)
        >>>     return torch.from_numpy(y_np).to(device=x.device)
        >>>
        >>> def setup_context(ctx, inputs, output) -> Tensor:
        >>>     x, = inputs
        >>>     ctx.save_for_backward(x)
        >>>
        >>> def backward(ctx, grad):
        >>>     x, = ctx.saved_tensors
        >>>     return grad * x.cos()
        >>>
        >>> torch.library.register_autograd(
        ...     "mylib::numpy_sin", backward, setup_context=setup_context
        ... )
        >>>
        >>> x = torch.randn(3, requires_grad=True)
        >>> y = numpy_sin(x)
        >>> (grad_x,) = torch.autograd.grad(y, x, torch.ones_like(y))
        >>> assert torch.allclose(grad_x, x.cos())
        >>>
        >>> # Example with a keyword-only arg
        >>> @torch.library.custom_op("mylib::numpy_mul", mutates_args=())
        >>> def numpy_mul(x: Tensor, *, val: float) -> Tensor:
        >>>     x_np = x.cpu().numpy()
        >>>     y_np = x_np * val
        >>>     return torch.from_numpy(y_np).to(device=x.device)
        >>>
        >>> def setup_context(ctx, inputs, keyword_only_inputs, output) -> Tensor:
        >>>     ctx.val = keyword_only_inputs["val"]
        >>>
        >>> def backward(ctx, grad):
        >>>     return grad * ctx.val
        >>>
        >>> torch.library.register_autograd(
        ...     "mylib::numpy_mul", backward, setup_context=setup_context
        ... )
        >>>
        >>> x = torch.randn(3, requires_grad=True)
        >>> y = numpy_mul(x, val=3.14)
        >>> (grad_x,) = torch.autograd.grad(y, x, torch.ones_like(y))
        >>> assert torch.allclose(grad_x, torch.full_like(x, 3.14))
    """)


# ---- 2.8: register_fake --------------------------------------------------------------------------------------------


def test_register_fake_example_1(run):
    made = run("""
        >>> import torch
        >>> import numpy as np
        >>> from torch import Tensor
        >>>
        >>> # Example 1: an operator without data-dependent output shape
        >>> @torch.library.custom_op("mylib::custom_linear", mutates_args=())
        >>> def custom_linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        >>>     raise NotImplementedError("Implementation goes here")
        >>>
        >>> @torch.library.register_fake("mylib::custom_linear")
        >>> def _(x, weight, bias):
        >>>     assert x.dim() == 2
        >>>     assert weight.dim() == 2
        >>>     assert bias.dim() == 1
        >>>     assert x.shape[1] == weight.shape[1]
        >>>     assert weight.shape[0] == bias.shape[0]
        >>>     assert x.device == weight.device
        >>>
        >>>     return (x @ weight.t()) + bias
        >>>
        >>> with torch._subclasses.fake_tensor.FakeTensorMode():
        >>>     x = torch.randn(2, 3)
        >>>     w = torch.randn(3, 3)
        >>>     b = torch.randn(3)
        >>>     y = torch.ops.mylib.custom_linear(x, w, b)
        >>>
        >>> assert y.shape == (2, 3)
    """)
    assert isinstance(made["y"], opweave.FakeTensor)


NONZERO = """
>>> import torch
>>> import numpy as np
>>> from torch import Tensor
>>>
>>> # Example 2: an operator with data-dependent output shape
>>> @torch.library.custom_op("mylib::custom_nonzero", mutates_args=())
>>> def custom_nonzero(x: Tensor) -> Tensor:
>>>     x_np = x.numpy(force=True)
>>>     res = np.stack(np.nonzero(x_np), axis=1)
>>>     return torch.tensor(res, device=x.device)
>>>
>>> @torch.library.register_fake("mylib::custom_nonzero")
>>> def _(x):
>>> # Number of nonzero-elements is data-dependent.
>>> # Since we cannot peek at the data in an fake impl,
>>> # we use the ctx object to construct a new symint that
>>> # represents the data-dependent size.
>>>     ctx = torch.library.get_ctx()
>>>     nnz = ctx.new_dynamic_size()
>>>     shape = [nnz, x.dim()]
>>>     result = x.new_empty(shape, dtype=torch.int64)
>>>     return result
>>>
"""
NONZERO_TRACED = """
>>> from torch.fx.experimental.proxy_tensor import make_fx
>>>
>>> x = torch.tensor([0, 1, 2, 3, 4, 0])
>>> trace = make_fx(torch.ops.mylib.custom_nonzero, tracing_mode="symbolic")(x)
>>> trace.print_readable()
>>>
>>> assert torch.allclose(trace(x), torch.ops.mylib.custom_nonzero(x))
"""


def test_register_fake_example_2(run):
    made = run(NONZERO)
    x = opweave.tensor([0, 1, 2, 3, 4, 0])
    assert made["custom_nonzero"](x).tolist() == [[1], [2], [3], [4]]
    run(NONZERO + NONZERO_TRACED)
    op = opweave.ops.mylib.custom_nonzero
    compiled = opweave.compile(lambda x: op(x) * 2)
    assert [compiled(y).tolist() for y in (x, x[4:], x[1:])] == [[[2], [4], [6], [8]], [[0]], [[0], [2], [4], [6]]]
    assert len(compiled.entries) == 2  # for six elements, then for any number
    with opweave.FakeTensorMode() as mode:
        found = opweave.ops.mylib.custom_nonzero(mode.from_tensor(x))
    assert str(found.shape) == "opweave.Size([u0, 1])"


# ---- 2.8: register_vmap --------------------------------------------------------------------------------------------


def test_register_vmap(run):
    made = run("""
        >>> import torch
        >>> import numpy as np
        >>> from torch import Tensor
        >>> from typing import Tuple
        >>>
        >>> def to_numpy(tensor):
        >>>     return tensor.cpu().numpy()
        >>>
        >>> lib = torch.library.Library("mylib", "FRAGMENT")
        >>> @torch.library.custom_op("mylib::numpy_cube", mutates_args=())
        >>> def numpy_cube(x: Tensor) -> Tuple[Tensor, Tensor]:
        >>>     x_np = to_numpy(x)
        >>>     dx = torch.tensor(3 * x_np ** 2, device=x.device)
        >>>     return torch.tensor(x_np ** 3, device=x.device), dx
        >>>
        >>> def numpy_cube_vmap(info, in_dims, x):
        >>>     result = numpy_cube(x)
        >>>     return result, (in_dims[0], in_dims[0])
        >>>
        >>> torch.library.register_vmap(numpy_cube, numpy_cube_vmap)
        >>>
        >>> x = torch.randn(3)
        >>> torch.vmap(numpy_cube)(x)
        >>>
        >>> @torch.library.custom_op("mylib::numpy_mul", mutates_args=())
        >>> def numpy_mul(x: Tensor, y: Tensor) -> Tensor:
        >>>     return torch.tensor(to_numpy(x) * to_numpy(y), device=x.device)
        >>>
        >>> @torch.library.register_vmap("mylib::numpy_mul")
        >>> def numpy_mul_vmap(info, in_dims, x, y):
        >>>     x_bdim, y_bdim = in_dims
        >>>     x = x.movedim(x_bdim, -1) if x_bdim is not None else x.unsqueeze(-1)
        >>>     y = y.movedim(y_bdim, -1) if y_bdim is not None else y.unsqueeze(-1)
        >>>     result = x * y
        >>>     result = result.movedim(-1, 0)
        >>>     return result, 0
        >>>
        >>>
        >>> x = torch.randn(3)
        >>> y = torch.randn(3)
        >>> torch.vmap(numpy_mul)(x, y)
    """)
    x, y = made["x"], made["y"]
    assert opweave.allclose(opweave.vmap(made["numpy_mul"])(x, y), x * y)
    cube, slope = opweave.vmap(made["numpy_cube"])(x)
    assert opweave.allclose(cube, x**3) and opweave.allclose(slope, 3 * x**2)


# ---- 2.8: register_torch_dispatch ----------------------------------------------------------------------------------


def test_register_torch_dispatch(run):
    run("""
        >>> import torch
        >>>
        >>> @torch.library.custom_op("mylib::foo", mutates_args={})
        >>> def foo(x: torch.Tensor) -> torch.Tensor:
        >>>     return x.clone()
        >>>
        >>> class MyMode(torch.utils._python_dispatch.TorchDispatchMode):
        >>>     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        >>>         return func(*args, **kwargs)
        >>>
        >>> @torch.library.register_torch_dispatch("mylib::foo", MyMode)
        >>> def _(mode, func, types, args, kwargs):
        >>>     x, = args
        >>>     return x + 1
        >>>
        >>> x = torch.randn(3)
        >>> y = foo(x)
        >>> assert torch.allclose(y, x)
        >>>
        >>> with MyMode():
        >>>     y = foo(x)
        >>> assert torch.allclose(y, x + 1)
    """)


# ---- 2.8: infer_schema ---------------------------------------------------------------------------------------------


def test_infer_schema(run):
    run(
        """
        >>> def foo_impl(x: torch.Tensor) -> torch.Tensor:
        >>>     return x.sin()
        >>>
        >>> infer_schema(foo_impl, op_name="foo", mutates_args={})
        foo(Tensor x) -> Tensor
        >>>
        >>> infer_schema(foo_impl, mutates_args={})
        (Tensor x) -> Tensor
        """,
        infer_schema=opweave.library.infer_schema,
    )


# ---- 2.8: set_kernel_enabled ---------------------------------------------------------------------------------------


def test_set_kernel_enabled(run):
    made = run(
        """
        >>> inp = torch.randn(1)
        >>>
        >>> # define custom op `f`.
        >>> @custom_op("mylib::f", mutates_args=())
        >>> def f(x: Tensor) -> Tensor:
        >>>     return torch.zeros(1)
        >>>
        >>> print(f(inp))  # tensor([0.]), default kernel
        >>>
        >>> @f.register_kernel("cpu")
        >>> def _(x):
        >>>     return torch.ones(1)
        >>>
        >>> print(f(inp))  # tensor([1.]), CPU kernel
        >>>
        >>> # temporarily disable the CPU kernel
        >>> with f.set_kernel_enabled("cpu", enabled = False):
        >>>     print(f(inp))  # tensor([0.]) with CPU kernel disabled
        """,
        custom_op=opweave.library.custom_op,
    )
    assert made["printed"].splitlines() == ["tensor([0.])", "tensor([1.])", "tensor([0.])"]
    assert made["f"](made["inp"]).tolist() == [1]


# ---- 2.8: Library --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ns", ["mylib", "foo"])  # 2.8 and 2.2
def test_library_define(run, ns):
    made = run(
        f"""
        >>> my_lib = Library("{ns}", "DEF")
        >>> my_lib.define("sum(Tensor self) -> Tensor")
        """,
        Library=opweave.library.Library,
    )
    assert str(getattr(opweave.ops, ns).sum.default._schema) == f"{ns}::sum(Tensor self) -> Tensor"
    made.clear()
    gc.collect()
    assert not hasattr(getattr(opweave.ops, ns), "sum")


FALLBACK = """
>>> my_lib = Library("_", "IMPL")
>>> def fallback_kernel(op, *args, **kwargs):
>>>     # Handle all autocast ops generically
>>>     # ...
>>> my_lib.fallback(fallback_kernel, "Autocast")
"""


def test_library_fallback(run):
    # The function of the text has no body. With one, it is the fallback of every autocast key.
    with pytest.raises(SyntaxError):
        run(FALLBACK, Library=opweave.library.Library)
    seen = []
    text = FALLBACK.replace(">>>     # ...", ">>>     return handle(op, args, kwargs)")

    def handle(op, args, kwargs):
        seen.append(str(op))
        with opweave.autocast("cpu", enabled=False):
            return op(*args, **kwargs)

    made = run(text, Library=opweave.library.Library, handle=handle)
    x = opweave.randn(3)
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        assert opweave.equal(x.sin(), opweave.sin(x))
    assert seen and set(seen) >= {"aten.sin.default"}
    seen.clear()
    made.clear()
    gc.collect()
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        x.sin()
    assert not seen


def test_library_impl(run):
    made = run(
        """
        >>> my_lib = Library("aten", "IMPL")
        >>> def div_cpu(self, other):
        >>>     return self * (1 / other)
        >>> my_lib.impl("div.Tensor", div_cpu, "CPU")
        """,
        Library=opweave.library.Library,
    )
    x, y = opweave.tensor([5.0, 7.0]), opweave.tensor([49.0, 3.0])
    with_library = (x / y).tolist()
    assert with_library == (x * y.reciprocal()).tolist()
    made.clear()
    gc.collect()
    exact = (np.array([5, 7], np.float32) / np.array([49, 3], np.float32)).tolist()
    assert (x / y).tolist() == exact != with_library


# ---- 2.8: define, impl ---------------------------------------------------------------------------------------------


def test_define(run):
    run("""
        >>> import torch
        >>> import numpy as np
        >>>
        >>> # Define the operator
        >>> torch.library.define("mylib::sin", "(Tensor x) -> Tensor")
        >>>
        >>> # Add implementations for the operator
        >>> @torch.library.impl("mylib::sin", "cpu")
        >>> def f(x):
        >>>     return torch.from_numpy(np.sin(x.numpy()))
        >>>
        >>> # Call the new operator from torch.ops.
        >>> x = torch.randn(3)
        >>> y = torch.ops.mylib.sin(x)
        >>> assert torch.allclose(y, x.sin())
    """)


def test_impl(run):
    run("""
        >>> import torch
        >>> import numpy as np
        >>> # Example 1: Register function.
        >>> # Define the operator
        >>> torch.library.define("mylib::mysin", "(Tensor x) -> Tensor")
        >>>
        >>> # Add implementations for the cpu device
        >>> @torch.library.impl("mylib::mysin", "cpu")
        >>> def f(x):
        >>>     return torch.from_numpy(np.sin(x.numpy()))
        >>>
        >>> x = torch.randn(3)
        >>> y = torch.ops.mylib.mysin(x)
        >>> assert torch.allclose(y, x.sin())
        >>>
        >>> # Example 2: Register function with decorator.
        >>> def custom_decorator(func):
        >>>     def wrapper(*args, **kwargs):
        >>>         return func(*args, **kwargs) + 1
        >>>     return wrapper
        >>>
        >>> # Define the operator
        >>> torch.library.define("mylib::sin_plus_one", "(Tensor x) -> Tensor")
        >>>
        >>> # Add implementations for the operator
        >>> @torch.library.impl("mylib::sin_plus_one", "cpu")
        >>> @custom_decorator
        >>> def f(x):
        >>>     return torch.from_numpy(np.sin(x.numpy()))
        >>>
        >>> # Call the new operator from torch.ops.
        >>> x = torch.randn(3)
        >>>
        >>> y1 = torch.ops.mylib.sin_plus_one(x)
        >>> y2 = torch.sin(x) + 1
        >>> assert torch.allclose(y1, y2)
    """)


# ---- 2.2 -----------------------------------------------------------------------------------------------------------


def test_define_2_2_implements_another_name_than_it_defines(run):
    # It defines mylib::sin and implements mylibrary::sin; and then compares the sine with x itself.
    text = """
        >>> import torch
        >>> import numpy as np
        >>> # Define the operator
        >>> torch.library.define("mylib::sin", "(Tensor x) -> Tensor")
        >>> # Add implementations for the operator
        >>> @torch.library.impl("mylibrary::sin", "cpu")
        >>> def f(x):
        >>>     return torch.from_numpy(np.sin(x.numpy()))
        >>> # Call the new operator from torch.ops.
        >>> x = torch.randn(3)
        >>> y = torch.ops.mylib.sin(x)
        >>> assert torch.allclose(y, x)
    """
    # The kernel waits for a mylibrary::sin, as in PyTorch.
    with pytest.raises(DispatchError, match=r"mylib\.sin\.default: no kernel for CPU"):
        run(text)
    registry.remove(registry.find("mylib::sin"))
    with pytest.raises(AssertionError):
        run(text.replace("mylibrary::sin", "mylib::sin"))


def test_impl_2_2(run):
    run("""
        >>> import torch
        >>> import numpy as np
        >>> # Define the operator
        >>> torch.library.define("mylibrary::sin", "(Tensor x) -> Tensor")
        >>> # Add implementations for the cpu device
        >>> @torch.library.impl("mylibrary::sin", "cpu")
        >>> def f(x):
        >>>     return torch.from_numpy(np.sin(x.numpy()))
        >>> x = torch.randn(3)
        >>> y = torch.ops.mylibrary.sin(x)
        >>> assert torch.allclose(y, x.sin())
    """)


LINEAR_2_2 = """
>>> import torch
>>> import numpy as np
>>> from torch import Tensor
>>> # Example 1: an operator without data-dependent output shape
>>> torch.library.define(
>>>     "mylib::custom_linear",
>>>     "(Tensor x, Tensor weight, Tensor bias) -> Tensor")
>>> @torch.library.impl_abstract("mylib::custom_linear")
>>> def custom_linear_abstract(x, weight):
>>>     assert x.dim() == 2
>>>     assert weight.dim() == 2
>>>     assert bias.dim() == 1
>>>     assert x.shape[1] == weight.shape[1]
>>>     assert weight.shape[0] == bias.shape[0]
>>>     assert x.device == weight.device
>>>     return (x @ weight.t()) + bias
"""
NONZERO_2_2 = """
>>> import torch
>>> # Example 2: an operator with data-dependent output shape
>>> torch.library.define("mylib::custom_nonzero", "(Tensor x) -> Tensor")
>>> @torch.library.impl_abstract("mylib::custom_nonzero")
>>> def custom_nonzero_abstract(x):
>>>     # Number of nonzero-elements is data-dependent.
>>>     # Since we cannot peek at the data in an abstract impl,
>>>     # we use the ctx object to construct a new symint that
>>>     # represents the data-dependent size.
>>>     ctx = torch.library.get_ctx()
>>>     nnz = ctx.new_dynamic_size()
>>>     shape = [nnz, x.dim()]
>>>     result = x.new_empty(shape, dtype=torch.int64)
>>>     return result
>>> @torch.library.impl("mylib::custom_nonzero", "cpu")
>>> def custom_nonzero_cpu(x):
>>>     x_np = x.numpy()
>>>     res = np.stack(np.nonzero(x_np), axis=1)
>>>     return torch.tensor(res, device=x.device)
"""


def test_impl_abstract_2_2_leaves_out_the_bias(run):
    # custom_linear_abstract has no parameter `bias`, so the op's arguments do not fit it.
    with pytest.warns(DeprecationWarning, match="register_fake"), pytest.raises(RegistrationError) as caught:
        run(LINEAR_2_2)
    assert "the fake rule cannot be called with the op's arguments" in caught.value.what
    assert "def custom_linear_abstract(x, weight)" in caught.value.got
    registry.remove(registry.find("mylib::custom_linear"))
    with pytest.warns(DeprecationWarning, match="register_fake"):
        run(LINEAR_2_2.replace("(x, weight):", "(x, weight, bias):"))
    with opweave.FakeTensorMode():
        y = opweave.ops.mylib.custom_linear(opweave.ones(2, 3), opweave.ones(4, 3), opweave.ones(4))
    assert y.shape == (2, 4)


def test_impl_abstract_2_2_data_dependent(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        run(NONZERO_2_2)
    x = opweave.tensor([0, 1, 2, 3, 4, 0])
    assert opweave.ops.mylib.custom_nonzero(x).tolist() == [[1], [2], [3], [4]]
    with opweave.FakeTensorMode() as mode:
        assert opweave.ops.mylib.custom_nonzero(mode.from_tensor(x)).shape[1] == 1


# ---- the index page: every name it lists ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "opcheck", "custom_op", "triton_op", "wrap_triton", "register_kernel", "register_autocast", "register_autograd",
        "register_fake", "register_vmap", "impl_abstract", "get_ctx", "register_torch_dispatch", "infer_schema",
        "CustomOpDef.set_kernel_enabled", "get_kernel", "Library.define", "Library.impl", "Library.fallback",
        "fallthrough_kernel", "define", "impl",
    ],
)  # fmt: skip
def test_every_name_of_the_index_is_there(name):
    found = opweave.library
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found) and found.__doc__


def test_get_ctx_outside_of_a_rule():
    with pytest.raises(RuntimeError, match="no fake rule is running"):
        opweave.library.get_ctx()
