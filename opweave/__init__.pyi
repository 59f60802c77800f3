"""Names of the package.

Written by `python -m opweave.typing_stubs` from the declarations of the ops; see there."""

from builtins import bool as _bool, float as _float, int as _int, str as _str, tuple as _tuple
from collections.abc import Sequence
from typing import Any, Literal, overload
from opweave.registry import return_types
from opweave.registry.argument_types import Bool, DTypeLike, DeviceLike, Float, Int, Number
from opweave.registry.dtypes import DType
from opweave.registry.memory_format import Layout, MemoryFormat
from opweave.registry.dtypes import DType as _DType
from opweave.registry.random_generator import Generator as Generator
from opweave.registry.keys import DispatchKey as DispatchKey
from opweave.registry.keys import DispatchKeySet as DispatchKeySet
from opweave.registry.keys import DispatchMode as DispatchMode
from opweave.fake.tensor import FakeTensor as FakeTensor
from opweave.fake.mode import FakeTensorMode as FakeTensorMode
from opweave.registry.higher_order import HigherOrderOperator as HigherOrderOperator
from opweave.codegen.native.profile import KernelProfile as KernelProfile
from opweave.codegen.native.profile import LaunchProfile as LaunchProfile
from opweave.registry.op import OpOverload as OpOverload
from opweave.registry.packet import OpOverloadPacket as OpOverloadPacket
from opweave.fake.shape_env import ShapeEnv as ShapeEnv
from opweave.registry.strided import Size as Size
from opweave.fake.symbolic import SymBool as SymBool
from opweave.fake.symbolic import SymFloat as SymFloat
from opweave.fake.symbolic import SymInt as SymInt
from opweave.registry.tags import Tag as Tag
from opweave.registry.tensor import Tensor as Tensor
from opweave import amp as amp
from opweave.registry.conversion import asarray as asarray
from opweave.tracer.control_flow import associative_scan as associative_scan
from opweave.amp import autocast as autocast
from opweave import autograd as autograd
from opweave.registry.dtypes import bfloat16 as bfloat16
from opweave.registry.dtypes import cdouble as cdouble
from opweave.registry.dtypes import cfloat as cfloat
from opweave.registry.memory_format import channels_last as channels_last
from opweave.registry.memory_format import channels_last_3d as channels_last_3d
from opweave.fake.symbolic import check as check
from opweave.fake.symbolic import check_is_size as check_is_size
from opweave.registry.autograd.checkpoint import checkpoint as checkpoint
from opweave.amp import clear_autocast_cache as clear_autocast_cache
from opweave.compiling import compile as compile
from opweave.registry.dtypes import complex128 as complex128
from opweave.registry.dtypes import complex64 as complex64
from opweave.tracer.control_flow import cond as cond
from opweave.registry.memory_format import contiguous_format as contiguous_format
from opweave.registry.device import Device as device
from opweave import distributions as distributions
from opweave.registry.dtypes import double as double
from opweave.registry.dtypes import DType as dtype
from opweave.registry.autograd.mode import enable_grad as enable_grad
from opweave.explaining import explain as explain
from opweave import export as export
from opweave import fft as fft
from opweave.registry.numeric_limits import finfo as finfo
from opweave.registry.dtypes import float16 as float16
from opweave.registry.dtypes import float32 as float32
from opweave.registry.dtypes import float64 as float64
from opweave.registry.dtypes import float8_e4m3fn as float8_e4m3fn
from opweave.registry.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from opweave.registry.dtypes import float8_e5m2 as float8_e5m2
from opweave.registry.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from opweave.registry.dtypes import float8_e8m0fnu as float8_e8m0fnu
from opweave.registry.exchange import from_dlpack as from_dlpack
from opweave.registry.tensor import from_numpy as from_numpy
from opweave.registry.conversion import frombuffer as frombuffer
from opweave import func as func
from opweave import fx as fx
from opweave.amp import get_autocast_dtype as get_autocast_dtype
from opweave.registry.dtypes import get_default_dtype as get_default_dtype
from opweave.codegen.native.pool import get_num_threads as get_num_threads
from opweave.registry.printing import get_printoptions as get_printoptions
from opweave.registry.random_state import get_rng_state as get_rng_state
from opweave.registry.dtypes import half as half
from opweave.registry.numeric_limits import iinfo as iinfo
from opweave.registry.autograd.mode import inference_mode as inference_mode
from opweave.registry.random_state import initial_seed as initial_seed
from opweave.registry.dtypes import int16 as int16
from opweave.registry.dtypes import int32 as int32
from opweave.registry.dtypes import int64 as int64
from opweave.registry.dtypes import int8 as int8
from opweave.registry.autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from opweave.registry.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from opweave.amp import is_autocast_cache_enabled as is_autocast_cache_enabled
from opweave.amp import is_autocast_enabled as is_autocast_enabled
from opweave.registry.autograd.mode import is_grad_enabled as is_grad_enabled
from opweave.registry.autograd.mode import is_inference_mode_enabled as is_inference_mode_enabled
from opweave.explaining import kernel_accesses as kernel_accesses
from opweave.registry.memory_format import Layout as layout
from opweave import library as library
from opweave import linalg as linalg
from opweave.saving import load as load
from opweave.runtime.artifact import load_compiled as load_compiled
from opweave.registry.dtypes import long as long
from opweave.nn.traced import make_fx as make_fx
from opweave.tracer.control_flow import map as map
from opweave.runtime.dynamic import mark_dynamic as mark_dynamic
from opweave.runtime.dynamic import mark_static as mark_static
from opweave import masked as masked
from opweave.registry.memory_format import MemoryFormat as memory_format
from opweave import nn as nn
from opweave.registry.autograd.mode import no_grad as no_grad
from opweave.registry.op import ops as ops
from opweave import optim as optim
from opweave import overrides as overrides
from opweave.registry.memory_format import preserve_format as preserve_format
from opweave.codegen.native.profile import profile as profile
from opweave.registry.dtypes import promote_types as promote_types
from opweave.reporting.observing import report as report
from opweave.registry.promote import result_type as result_type
from opweave.registry import return_types as return_types
from opweave import safetensors as safetensors
from opweave.codegen.triton_cpu.sanitizer import sanitize as sanitize
from opweave.saving import save as save
from opweave.tracer.control_flow import scan as scan
from opweave.registry.random_state import seed as seed
from opweave.amp import set_autocast_cache_enabled as set_autocast_cache_enabled
from opweave.amp import set_autocast_dtype as set_autocast_dtype
from opweave.amp import set_autocast_enabled as set_autocast_enabled
from opweave.registry.dtypes import set_default_dtype as set_default_dtype
from opweave.registry.autograd.mode import set_grad_enabled as set_grad_enabled
from opweave.codegen.native.pool import set_num_threads as set_num_threads
from opweave.registry.printing import set_printoptions as set_printoptions
from opweave.registry.random_state import set_rng_state as set_rng_state
from opweave.registry.dtypes import short as short
from opweave import signal as signal
from opweave import special as special
from opweave.registry.memory_format import strided as strided
from opweave.fake.symbolic import sym_float as sym_float
from opweave.fake.symbolic import sym_int as sym_int
from opweave.fake.symbolic import sym_max as sym_max
from opweave.fake.symbolic import sym_min as sym_min
from opweave.fake.symbolic import sym_not as sym_not
from opweave import testing as testing
from opweave.registry.dtypes import uint16 as uint16
from opweave.registry.dtypes import uint32 as uint32
from opweave.registry.dtypes import uint64 as uint64
from opweave.registry.dtypes import uint8 as uint8
from opweave import utils as utils
from opweave.registry.vmap.transform import vmap as vmap
from opweave.tracer.control_flow import while_loop as while_loop

e: _float
inf: _float
nan: _float
newaxis: None
pi: _float
bool: _DType
int: _DType
float: _DType
__version__: _str
TorchDispatchMode = DispatchMode

def _foreach_abs_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`abs_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_acos_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`acos_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_add_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`add_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_addcdiv_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`addcdiv_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_addcmul_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`addcmul_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_asin_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`asin_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_atan_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`atan_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_ceil_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`ceil_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_clamp_max_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`clamp_max_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_clamp_min_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`clamp_min_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_copy_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`copy_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_cos_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`cos_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_cosh_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`cosh_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_div_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`div_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_erf_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`erf_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_erfc_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`erfc_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_exp_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`exp_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_expm1_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`expm1_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_floor_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`floor_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_frac_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`frac_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_lerp_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`lerp_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_lgamma_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`lgamma_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_log10_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log10_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_log1p_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log1p_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_log2_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log2_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_log_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_maximum_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`maximum_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_minimum_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`minimum_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_mul_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`mul_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_neg_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`neg_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_pow_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`pow_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_reciprocal_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`reciprocal_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_round_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`round_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_rsqrt_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`rsqrt_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_sigmoid_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sigmoid_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_sign_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sign_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_sin_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sin_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_sinh_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sinh_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_sqrt_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sqrt_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_sub_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sub_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_tan_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`tan_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_tanh_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`tanh_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_trunc_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`trunc_` of each tensor of a list, in place; gives the list."""
    ...
def _foreach_zero_(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`zero_` of each tensor of a list, in place; gives the list."""
    ...
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element; of a complex number its magnitude.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.abs(x)
    tensor([1.0000, 0.5000, 2.0000])
    >>> x.abs()
    tensor([1.0000, 0.5000, 2.0000])"""
    ...
def abs_(input: Tensor) -> Tensor:
    """The absolute value of each element; of a complex number its magnitude. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.abs_()
    tensor([1.0000, 0.5000, 2.0000])"""
    ...
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element; of a complex number its magnitude.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.abs(x)
    tensor([1.0000, 0.5000, 2.0000])
    >>> x.abs()
    tensor([1.0000, 0.5000, 2.0000])"""
    ...
def absolute_(input: Tensor) -> Tensor:
    """The absolute value of each element; of a complex number its magnitude. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.abs_()
    tensor([1.0000, 0.5000, 2.0000])"""
    ...
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1].

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.acos(x)
    tensor([1.3181, 1.0472, 0.0000])
    >>> x.acos()
    tensor([1.3181, 1.0472, 0.0000])"""
    ...
def acos_(input: Tensor) -> Tensor:
    """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1]. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.acos_()
    tensor([1.3181, 1.0472, 0.0000])"""
    ...
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element; NaN below 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 4.0])
    >>> opweave.acosh(x)
    tensor([0.0000, 1.3170, 2.0634])
    >>> x.acosh()
    tensor([0.0000, 1.3170, 2.0634])"""
    ...
def acosh_(input: Tensor) -> Tensor:
    """The inverse hyperbolic cosine of each element; NaN below 1. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 4.0])
    >>> x.acosh_()
    tensor([0.0000, 1.3170, 2.0634])"""
    ...
def adaptive_avg_pool1d(input: Tensor, output_size: Int | Sequence[Int], *, out: Tensor | None = None) -> Tensor:
    """The means over windows that cover a line evenly.

    Parameters
    ----------
    input : Tensor
        The tensor.
    output_size : int or sequence of int
        The size of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> opweave.adaptive_avg_pool1d(x, 2)
    tensor([[[1.5000, 3.5000]]])
    >>> x.adaptive_avg_pool1d(2)
    tensor([[[1.5000, 3.5000]]])"""
    ...
def adaptive_max_pool1d(input: Tensor, output_size: Int | Sequence[Int]) -> _tuple[Tensor, Tensor]:
    """The maxima over windows that cover a line evenly, and their places in it.

    Parameters
    ----------
    input : Tensor
        The tensor.
    output_size : int or sequence of int
        The size of the result.

    Returns
    -------
    tuple[Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> opweave.adaptive_max_pool1d(x, 2)
    (tensor([[[2., 4.]]]), tensor([[[1, 3]]]))
    >>> x.adaptive_max_pool1d(2)
    (tensor([[[2., 4.]]]), tensor([[[1, 3]]]))"""
    ...
@overload
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def add(input: Tensor, other: Number, alpha: Number = 1, *, out: Tensor | None = None) -> Tensor:
    """The sum `input + alpha * other`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor of `other`.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.add(x, y, alpha=2)
    tensor([ 9., 12., 15.])
    >>> x.add(y, alpha=2)
    tensor([ 9., 12., 15.])"""
    ...
@overload
def add_(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
@overload
def add_(input: Tensor, other: Number, alpha: Number = 1) -> Tensor:
    """The sum `input + alpha * other`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor of `other`.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.add_(y, alpha=2)
    tensor([ 9., 12., 15.])"""
    ...
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Beta x + alpha Σ a b over a batch; where beta is 0, x does not count.

    Parameters
    ----------
    input : Tensor
        The tensor.
    batch1 : Tensor
        The first batch of matrices.
    batch2 : Tensor
        The second batch of matrices.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.ones(3, 2, 2)
    >>> z = opweave.ones(3, 2, 2)
    >>> opweave.addbmm(x, y, z)
    tensor([[ 7.,  8.],
            [ 9., 10.]])
    >>> x.addbmm(y, z)
    tensor([[ 7.,  8.],
            [ 9., 10.]])"""
    ...
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Beta x + alpha Σ a b over a batch; where beta is 0, x does not count. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    batch1 : Tensor
        The first batch of matrices.
    batch2 : Tensor
        The second batch of matrices.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.ones(3, 2, 2)
    >>> z = opweave.ones(3, 2, 2)
    >>> x.addbmm_(y, z)
    tensor([[ 7.,  8.],
            [ 9., 10.]])"""
    ...
def addcdiv(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    tensor1 : Tensor or number
        One tensor.
    tensor2 : Tensor or number
        Another tensor.
    value : number, default 1
        A factor of the quotient.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> z = opweave.tensor([2.0, 2.0, 2.0])
    >>> opweave.addcdiv(x, y, z, value=2)
    tensor([5., 7., 9.])
    >>> x.addcdiv(y, z, value=2)
    tensor([5., 7., 9.])"""
    ...
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    tensor1 : Tensor
        One tensor.
    tensor2 : Tensor
        Another tensor.
    value : number, default 1
        A factor of the quotient.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> z = opweave.tensor([2.0, 2.0, 2.0])
    >>> x.addcdiv_(y, z, value=2)
    tensor([5., 7., 9.])"""
    ...
def addcmul(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    tensor1 : Tensor or number
        One tensor.
    tensor2 : Tensor or number
        Another tensor.
    value : number, default 1
        A factor of the product.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> z = opweave.tensor([2.0, 2.0, 2.0])
    >>> opweave.addcmul(x, y, z, value=2)
    tensor([17., 22., 27.])
    >>> x.addcmul(y, z, value=2)
    tensor([17., 22., 27.])"""
    ...
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    tensor1 : Tensor
        One tensor.
    tensor2 : Tensor
        Another tensor.
    value : number, default 1
        A factor of the product.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> z = opweave.tensor([2.0, 2.0, 2.0])
    >>> x.addcmul_(y, z, value=2)
    tensor([17., 22., 27.])"""
    ...
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`; where beta is 0, what `input` holds does not count.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mat1 : Tensor
        The first matrix.
    mat2 : Tensor
        The second matrix.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> z = opweave.tensor([[1.0, 1.0], [1.0, 1.0]])
    >>> opweave.addmm(x, y, z)
    tensor([[2., 3.],
            [4., 5.]])
    >>> x.addmm(y, z)
    tensor([[2., 3.],
            [4., 5.]])"""
    ...
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`; where beta is 0, what `input` holds does not count. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mat1 : Tensor
        The first matrix.
    mat2 : Tensor
        The second matrix.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> z = opweave.tensor([[1.0, 1.0], [1.0, 1.0]])
    >>> x.addmm_(y, z)
    tensor([[2., 3.],
            [4., 5.]])"""
    ...
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`; where beta is 0, what `input` holds does not count.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mat : Tensor
        A matrix.
    vec : Tensor
        A vector.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 1.0])
    >>> y = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> z = opweave.tensor([1.0, 2.0])
    >>> opweave.addmv(x, y, z)
    tensor([ 6., 12.])
    >>> x.addmv(y, z)
    tensor([ 6., 12.])"""
    ...
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`; where beta is 0, what `input` holds does not count. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mat : Tensor
        A matrix.
    vec : Tensor
        A vector.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 1.0])
    >>> y = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> z = opweave.tensor([1.0, 2.0])
    >>> x.addmv_(y, z)
    tensor([ 6., 12.])"""
    ...
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Beta x + alpha v wᵀ; where beta is 0, x does not count.

    Parameters
    ----------
    input : Tensor
        The tensor.
    vec1 : Tensor
        One vector.
    vec2 : Tensor
        Another vector.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1.0, 2.0])
    >>> z = opweave.tensor([1.0, 10.0])
    >>> opweave.addr(x, y, z)
    tensor([[ 2., 12.],
            [ 5., 24.]])
    >>> x.addr(y, z)
    tensor([[ 2., 12.],
            [ 5., 24.]])"""
    ...
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Beta x + alpha v wᵀ; where beta is 0, x does not count. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    vec1 : Tensor
        One vector.
    vec2 : Tensor
        Another vector.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1.0, 2.0])
    >>> z = opweave.tensor([1.0, 10.0])
    >>> x.addr_(y, z)
    tensor([[ 2., 12.],
            [ 5., 24.]])"""
    ...
def adjoint(input: Tensor) -> Tensor:
    """The matrices in the last two dimensions transposed and conjugated.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.adjoint(x)
    tensor([[1., 3.],
            [2., 4.]])
    >>> x.adjoint()
    tensor([[1., 3.],
            [2., 4.]])"""
    ...
def alias(input: Tensor) -> Tensor:
    """Another tensor over the same memory.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.alias(x)
    tensor([1., 2., 3.])
    >>> x.alias()
    tensor([1., 2., 3.])"""
    ...
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Another tensor over the same memory. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.alias_copy(x)
    tensor([1., 2., 3.])
    >>> x.alias_copy()
    tensor([1., 2., 3.])"""
    ...
@overload
def all(input: Tensor, dim: Int, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def all(input: Tensor, axis: Int, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def all(input: Tensor, dim: Sequence[Int] | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def all(input: Tensor, axis: Sequence[Int] | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """Whether no element is 0, of the whole tensor or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[True, False], [True, True]])
    >>> opweave.all(x, 1)
    tensor([False,  True])
    >>> x.all(1)
    tensor([False,  True])"""
    ...
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether `isclose` holds everywhere; a trace, which does not know, takes `isclose(...).all()`.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Examples
    --------
    >>> opweave.allclose(opweave.tensor([1.0]), opweave.tensor([1.0001]), rtol=1e-3)
    True"""
    ...
def alpha_dropout(input: Tensor, p: Float, train: Bool) -> Tensor:
    """Dropout that keeps mean and variance: dropped elements take the value that SELU saturates at.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The p of the norm.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.alpha_dropout(x, 0.5, False).shape
    opweave.Size([3])"""
    ...
def alpha_dropout_(input: Tensor, p: Float, train: Bool) -> Tensor:
    """Dropout that keeps mean and variance: dropped elements take the value that SELU saturates at. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The p of the norm.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.alpha_dropout_(x, 0.5, False).shape
    opweave.Size([3])"""
    ...
@overload
def amax(input: Tensor, dim: Int | Sequence[Int] = ..., keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def amax(input: Tensor, axis: Int | Sequence[Int] = ..., keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """Maximum over some dimensions; NaN wins.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, default ()
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.amax(x, 1)
    tensor([3., 6.])
    >>> x.amax(1)
    tensor([3., 6.])"""
    ...
@overload
def amin(input: Tensor, dim: Int | Sequence[Int] = ..., keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def amin(input: Tensor, axis: Int | Sequence[Int] = ..., keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """Minimum over some dimensions; NaN wins.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, default ()
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.amin(x, 1)
    tensor([1., 4.])
    >>> x.amin(1)
    tensor([1., 4.])"""
    ...
@overload
def aminmax(input: Tensor, *, dim: Int | None = None, keepdim: Bool = False, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.aminmax: ...
@overload
def aminmax(input: Tensor, *, axis: Int | None = None, keepdim: Bool = False, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.aminmax:
    """The least and the largest element, of the whole tensor or along a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.aminmax
        A named tuple of tensors: min, max.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.aminmax(x, dim=1)
    opweave.return_types.aminmax(
    min=tensor([1., 4.]),
    max=tensor([3., 6.]))
    >>> x.aminmax(dim=1)
    opweave.return_types.aminmax(
    min=tensor([1., 4.]),
    max=tensor([3., 6.]))"""
    ...
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of complex numbers, between -π and π; π for negative real numbers, and 0 for others.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([1 + 1j, -1 + 0j])
    >>> opweave.angle(x)
    tensor([0.7854, 3.1416])
    >>> x.angle()
    tensor([0.7854, 3.1416])"""
    ...
@overload
def any(input: Tensor, dim: Int, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def any(input: Tensor, axis: Int, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def any(input: Tensor, dim: Sequence[Int] | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def any(input: Tensor, axis: Sequence[Int] | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """Whether any element is other than 0, of the whole tensor or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[True, False], [False, False]])
    >>> opweave.any(x, 1)
    tensor([ True, False])
    >>> x.any(1)
    tensor([ True, False])"""
    ...
@overload
def arange(start: Number, end: Number, step: Number = 1, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def arange(end: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Numbers from `start` up to, and without, `end`, `step` apart.

    Parameters
    ----------
    start : number, optional
        Where it begins.
    end : number
        Where it ends.
    step : number, default 1
        How far apart.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.arange(0, 10, 3)
    tensor([0, 3, 6, 9])"""
    ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1].

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.acos(x)
    tensor([1.3181, 1.0472, 0.0000])
    >>> x.acos()
    tensor([1.3181, 1.0472, 0.0000])"""
    ...
def arccos_(input: Tensor) -> Tensor:
    """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1]. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.acos_()
    tensor([1.3181, 1.0472, 0.0000])"""
    ...
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element; NaN below 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 4.0])
    >>> opweave.acosh(x)
    tensor([0.0000, 1.3170, 2.0634])
    >>> x.acosh()
    tensor([0.0000, 1.3170, 2.0634])"""
    ...
def arccosh_(input: Tensor) -> Tensor:
    """The inverse hyperbolic cosine of each element; NaN below 1. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 4.0])
    >>> x.acosh_()
    tensor([0.0000, 1.3170, 2.0634])"""
    ...
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1].

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.asin(x)
    tensor([0.2527, 0.5236, 1.5708])
    >>> x.asin()
    tensor([0.2527, 0.5236, 1.5708])"""
    ...
def arcsin_(input: Tensor) -> Tensor:
    """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1]. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.asin_()
    tensor([0.2527, 0.5236, 1.5708])"""
    ...
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.asinh(x)
    tensor([-0.8814,  0.4812,  1.4436])
    >>> x.asinh()
    tensor([-0.8814,  0.4812,  1.4436])"""
    ...
def arcsinh_(input: Tensor) -> Tensor:
    """The inverse hyperbolic sine of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.asinh_()
    tensor([-0.8814,  0.4812,  1.4436])"""
    ...
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent of each element, in radians from -π/2 to π/2.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.atan(x)
    tensor([-0.7854,  0.4636,  1.1071])
    >>> x.atan()
    tensor([-0.7854,  0.4636,  1.1071])"""
    ...
def arctan2(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input), in radians from -π to π, by the signs of both.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.atan2(x, y)
    tensor([-0.4636,  0.1651,  1.1071])
    >>> x.atan2(y)
    tensor([-0.4636,  0.1651,  1.1071])"""
    ...
def arctan2_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The angle of the point (other, input), in radians from -π to π, by the signs of both. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> x.atan2_(y)
    tensor([-0.4636,  0.1651,  1.1071])"""
    ...
def arctan_(input: Tensor) -> Tensor:
    """The inverse tangent of each element, in radians from -π/2 to π/2. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.atan_()
    tensor([-0.7854,  0.4636,  1.1071])"""
    ...
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.atanh(x)
    tensor([0.2027, 0.5493, 1.4722])
    >>> x.atanh()
    tensor([0.2027, 0.5493, 1.4722])"""
    ...
def arctanh_(input: Tensor) -> Tensor:
    """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> x.atanh_()
    tensor([0.2027, 0.5493, 1.4722])"""
    ...
@overload
def argmax(input: Tensor, dim: Int | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def argmax(input: Tensor, axis: Int | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """Index of the first maximum (of the flattened tensor where no dimension is given).

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.argmax(x, 1)
    tensor([2, 2])
    >>> x.argmax(1)
    tensor([2, 2])"""
    ...
@overload
def argmin(input: Tensor, dim: Int | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def argmin(input: Tensor, axis: Int | None = None, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """Index of the first minimum (of the flattened tensor where no dimension is given).

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.argmin(x, 1)
    tensor([0, 0])
    >>> x.argmin(1)
    tensor([0, 0])"""
    ...
@overload
def argsort(input: Tensor, dim: Int = -1, descending: Bool = False) -> Tensor: ...
@overload
def argsort(input: Tensor, axis: Int = -1, descending: Bool = False) -> Tensor: ...
@overload
def argsort(input: Tensor, *, stable: Bool, dim: Int = -1, descending: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def argsort(input: Tensor, *, stable: Bool, axis: Int = -1, descending: Bool = False, out: Tensor | None = None) -> Tensor:
    """The places that elements come from when they are sorted along a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default -1
        The dimension, counted from the end where negative.
    descending : bool, default False
        Whether the largest comes first.
    stable : bool, optional
        Whether equal elements keep their order.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.argsort(x)
    tensor([1, 2, 0])
    >>> x.argsort()
    tensor([1, 2, 0])"""
    ...
def argwhere(input: Tensor) -> Tensor:
    """The indices of all elements other than 0, a row for each.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.0, 2.0, 3.0])
    >>> opweave.argwhere(x)
    tensor([[1],
            [2]])
    >>> x.argwhere()
    tensor([[1],
            [2]])"""
    ...
def as_strided(input: Tensor, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None) -> Tensor:
    """A view with sizes, strides and an offset into memory of one's own choice.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    stride : sequence of int
        The strides, in elements.
    storage_offset : int, optional
        Where in memory it begins, in elements.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.as_strided(x, [2, 2], [1, 1])
    tensor([[1., 2.],
            [2., 3.]])
    >>> x.as_strided([2, 2], [1, 1])
    tensor([[1., 2.],
            [2., 3.]])"""
    ...
def as_strided_(input: Tensor, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None) -> Tensor:
    """A view with sizes, strides and an offset into memory of one's own choice. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    stride : sequence of int
        The strides, in elements.
    storage_offset : int, optional
        Where in memory it begins, in elements.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.as_strided_([2, 2], [1, 1])
    tensor([[1., 2.],
            [2., 3.]])"""
    ...
def as_strided_copy(input: Tensor, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """A view with sizes, strides and an offset into memory of one's own choice. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    stride : sequence of int
        The strides, in elements.
    storage_offset : int, optional
        Where in memory it begins, in elements.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.as_strided_copy(x, [2, 2], [1, 1])
    tensor([[1., 2.],
            [2., 3.]])
    >>> x.as_strided_copy([2, 2], [1, 1])
    tensor([[1., 2.],
            [2., 3.]])"""
    ...
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy with `src` where `as_strided` would look.

    Parameters
    ----------
    input : Tensor
        The tensor.
    src : Tensor
        What is written.
    size : sequence of int
        The sizes.
    stride : sequence of int
        How far apart windows are; as large as they are by default.
    storage_offset : int, optional
        Where in memory it begins, in elements.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([8.0, 9.0])
    >>> opweave.as_strided_scatter(x, y, [2], [2])
    tensor([8., 2., 9.])
    >>> x.as_strided_scatter(y, [2], [2])
    tensor([8., 2., 9.])"""
    ...
def as_tensor(data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """`data` as a tensor, sharing memory where it is a tensor or array of the wanted type and device already.

    Examples
    --------
    >>> opweave.as_tensor([1, 2])
    tensor([1, 2])"""
    ...
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1].

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.asin(x)
    tensor([0.2527, 0.5236, 1.5708])
    >>> x.asin()
    tensor([0.2527, 0.5236, 1.5708])"""
    ...
def asin_(input: Tensor) -> Tensor:
    """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1]. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.asin_()
    tensor([0.2527, 0.5236, 1.5708])"""
    ...
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.asinh(x)
    tensor([-0.8814,  0.4812,  1.4436])
    >>> x.asinh()
    tensor([-0.8814,  0.4812,  1.4436])"""
    ...
def asinh_(input: Tensor) -> Tensor:
    """The inverse hyperbolic sine of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.asinh_()
    tensor([-0.8814,  0.4812,  1.4436])"""
    ...
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent of each element, in radians from -π/2 to π/2.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.atan(x)
    tensor([-0.7854,  0.4636,  1.1071])
    >>> x.atan()
    tensor([-0.7854,  0.4636,  1.1071])"""
    ...
def atan2(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input), in radians from -π to π, by the signs of both.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.atan2(x, y)
    tensor([-0.4636,  0.1651,  1.1071])
    >>> x.atan2(y)
    tensor([-0.4636,  0.1651,  1.1071])"""
    ...
def atan2_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The angle of the point (other, input), in radians from -π to π, by the signs of both. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> x.atan2_(y)
    tensor([-0.4636,  0.1651,  1.1071])"""
    ...
def atan_(input: Tensor) -> Tensor:
    """The inverse tangent of each element, in radians from -π/2 to π/2. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.atan_()
    tensor([-0.7854,  0.4636,  1.1071])"""
    ...
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.atanh(x)
    tensor([0.2027, 0.5493, 1.4722])
    >>> x.atanh()
    tensor([0.2027, 0.5493, 1.4722])"""
    ...
def atanh_(input: Tensor) -> Tensor:
    """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> x.atanh_()
    tensor([0.2027, 0.5493, 1.4722])"""
    ...
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> _tuple[Tensor, ...]: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *more: Tensor) -> _tuple[Tensor, ...]:
    """A tensor with a dimension at least, or a tuple of such for several tensors.

    Examples
    --------
    >>> opweave.atleast_1d(opweave.tensor(1.0))
    tensor([1.])"""
    ...
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> _tuple[Tensor, ...]: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *more: Tensor) -> _tuple[Tensor, ...]:
    """A tensor as a row where it has fewer than two dimensions, or a tuple of such for several tensors.

    Examples
    --------
    >>> opweave.atleast_2d(opweave.tensor([1.0, 2.0]))
    tensor([[1., 2.]])"""
    ...
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> _tuple[Tensor, ...]: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *more: Tensor) -> _tuple[Tensor, ...]:
    """A tensor with three dimensions at least, or a tuple of such for several tensors.

    Examples
    --------
    >>> opweave.atleast_3d(opweave.tensor([1.0, 2.0])).shape
    opweave.Size([1, 2, 1])"""
    ...
def avg_pool1d(input: Tensor, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., ceil_mode: Bool = False, count_include_pad: Bool = True, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window of a line.

    Parameters
    ----------
    input : Tensor
        The tensor.
    kernel_size : int or sequence of int
        The size of a window.
    stride : int or sequence of int, default ()
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int, default (0,)
        How many elements are added at each side.
    ceil_mode : bool, default False
        Whether a last window may stick out.
    count_include_pad : bool, default True
        Whether padding counts in the means.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> opweave.avg_pool1d(x, 2)
    tensor([[[1.5000, 3.5000]]])
    >>> x.avg_pool1d(2)
    tensor([[[1.5000, 3.5000]]])"""
    ...
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for each matrix of a batch.

    Parameters
    ----------
    input : Tensor
        The tensor.
    batch1 : Tensor
        The first batch of matrices.
    batch2 : Tensor
        The second batch of matrices.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.zeros(2, 2, 2)
    >>> y = opweave.ones(2, 2, 3)
    >>> z = opweave.ones(2, 3, 2)
    >>> opweave.baddbmm(x, y, z)
    tensor([[[3., 3.],
             [3., 3.]],
    <BLANKLINE>
            [[3., 3.],
             [3., 3.]]])
    >>> x.baddbmm(y, z)
    tensor([[[3., 3.],
             [3., 3.]],
    <BLANKLINE>
            [[3., 3.],
             [3., 3.]]])"""
    ...
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for each matrix of a batch. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    batch1 : Tensor
        The first batch of matrices.
    batch2 : Tensor
        The second batch of matrices.
    beta : number, default 1
        A factor of `input`.
    alpha : number, default 1
        A factor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.zeros(2, 2, 2)
    >>> y = opweave.ones(2, 2, 3)
    >>> z = opweave.ones(2, 3, 2)
    >>> x.baddbmm_(y, z)
    tensor([[[3., 3.],
             [3., 3.]],
    <BLANKLINE>
            [[3., 3.],
             [3., 3.]]])"""
    ...
@overload
def bartlett_window(window_length: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def bartlett_window(window_length: Int, periodic: Bool, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A window that rises to 1 and falls in straight lines.

    Parameters
    ----------
    window_length : int
        How many points.
    periodic : bool, optional
        Whether the window is one of a periodic signal.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])"""
    ...
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: Bool, momentum: Float, eps: Float, cudnn_enabled: Bool) -> Tensor:
    """Each channel brought to mean 0 and variance 1 over the batch, or by running statistics, then scaled.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor, optional
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    running_mean : Tensor, optional
        The running means.
    running_var : Tensor, optional
        The running variances.
    training : bool
        Whether statistics are those of the batch.
    momentum : float
        How fast running statistics change.
    eps : float
        A small number that keeps divisors off 0.
    cudnn_enabled : bool
        For the signature's sake.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 4.0], [3.0, 8.0]])
    >>> opweave.batch_norm(x, None, None, None, None, True, 0.1, 1e-05, False)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])"""
    ...
@overload
def bernoulli(input: Tensor, p: Float, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def bernoulli(input: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def bernoulli(input: Tensor, p: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with a probability, else 0: the probability that each element is, or that `p` gives.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float or Tensor, optional
        The probabilities.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.0, 1.0, 1.0])
    >>> opweave.bernoulli(x).shape
    opweave.Size([3])
    >>> x.bernoulli().shape
    opweave.Size([3])"""
    ...
@overload
def bernoulli_(input: Tensor, p: Float = 0.5, *, generator: Generator | None = None) -> Tensor: ...
@overload
def bernoulli_(input: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with a probability, else 0: the probability that each element is, or that `p` gives. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float or Tensor, default 0.5
        The probabilities.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.bernoulli_().shape
    opweave.Size([3])"""
    ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[i] @ input2 + bias[i]` for each matrix i of the weight (out, in1, in2).

    Parameters
    ----------
    input1 : Tensor
        The first tensor.
    input2 : Tensor
        The second tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.ones(1, 2)
    >>> y = opweave.ones(1, 3)
    >>> z = opweave.ones(4, 2, 3)
    >>> opweave.bilinear(x, y, z)
    tensor([[6., 6., 6., 6.]])"""
    ...
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: Int = 1, *, out: Tensor | None = None) -> Tensor:
    """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` counts targets of 1 so often.

    Parameters
    ----------
    input : Tensor
        The tensor.
    target : Tensor
        What it should be.
    weight : Tensor, optional
        The weights.
    pos_weight : Tensor, optional
        Weights of positive examples.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-2.0, 3.0])
    >>> y = opweave.tensor([0.0, 1.0])
    >>> opweave.binary_cross_entropy_with_logits(x, y)
    tensor(0.0878)
    >>> x.binary_cross_entropy_with_logits(y)
    tensor(0.0878)"""
    ...
def bincount(input: Tensor, weights: Tensor | None = None, minlength: Int = 0) -> Tensor:
    """How often each number from 0 up is there, or the sum of its weights.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weights : Tensor, optional
        The weights.
    minlength : int, default 0
        How many numbers at least.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0, 1, 1, 3])
    >>> opweave.bincount(x)
    tensor([1, 2, 0, 1])
    >>> x.bincount()
    tensor([1, 2, 0, 1])"""
    ...
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Numbers of successes in `count` trials, each of chance `prob`.

    Parameters
    ----------
    count : Tensor
        How many trials.
    prob : Tensor
        The probability of success of each.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0], [4.0], [9.0]])
    >>> y = opweave.tensor([1.0, 0.7, 0.3, 0.0])
    >>> opweave.binomial(x, y).shape
    opweave.Size([3, 4])"""
    ...
def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that both have, of whole numbers; of truth values, whether both are true.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([10, 3])
    >>> opweave.bitwise_and(x, y)
    tensor([8, 3])
    >>> x.bitwise_and(y)
    tensor([8, 3])"""
    ...
def bitwise_and_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The bits that both have, of whole numbers; of truth values, whether both are true. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([10, 3])
    >>> x.bitwise_and_(y)
    tensor([8, 3])"""
    ...
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits moved to the left, so many places as `other` says.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([1, 3])
    >>> y = opweave.tensor([2, 1])
    >>> opweave.bitwise_left_shift(x, y)
    tensor([4, 6])
    >>> x.bitwise_left_shift(y)
    tensor([4, 6])"""
    ...
def bitwise_left_shift_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The bits moved to the left, so many places as `other` says. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1, 3])
    >>> y = opweave.tensor([2, 1])
    >>> x.bitwise_left_shift_(y)
    tensor([4, 6])"""
    ...
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The other bits of whole numbers; the opposite of truth values.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([0, 5])
    >>> opweave.bitwise_not(x)
    tensor([-1, -6])
    >>> x.bitwise_not()
    tensor([-1, -6])"""
    ...
def bitwise_not_(input: Tensor) -> Tensor:
    """The other bits of whole numbers; the opposite of truth values. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0, 5])
    >>> x.bitwise_not_()
    tensor([-1, -6])"""
    ...
def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that either has, of whole numbers; of truth values, whether either is true.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([10, 3])
    >>> opweave.bitwise_or(x, y)
    tensor([14,  7])
    >>> x.bitwise_or(y)
    tensor([14,  7])"""
    ...
def bitwise_or_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The bits that either has, of whole numbers; of truth values, whether either is true. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([10, 3])
    >>> x.bitwise_or_(y)
    tensor([14,  7])"""
    ...
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits moved to the right, so many places as `other` says; the sign stays.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([8, 7])
    >>> y = opweave.tensor([2, 1])
    >>> opweave.bitwise_right_shift(x, y)
    tensor([2, 3])
    >>> x.bitwise_right_shift(y)
    tensor([2, 3])"""
    ...
def bitwise_right_shift_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The bits moved to the right, so many places as `other` says; the sign stays. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([8, 7])
    >>> y = opweave.tensor([2, 1])
    >>> x.bitwise_right_shift_(y)
    tensor([2, 3])"""
    ...
def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that one of both has, of whole numbers; of truth values, whether they differ.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([10, 3])
    >>> opweave.bitwise_xor(x, y)
    tensor([6, 4])
    >>> x.bitwise_xor(y)
    tensor([6, 4])"""
    ...
def bitwise_xor_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The bits that one of both has, of whole numbers; of truth values, whether they differ. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([10, 3])
    >>> x.bitwise_xor_(y)
    tensor([6, 4])"""
    ...
@overload
def blackman_window(window_length: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def blackman_window(window_length: Int, periodic: Bool, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A window of a constant and two cosines that is nearly 0 at its ends.

    Parameters
    ----------
    window_length : int
        How many points.
    periodic : bool, optional
        Whether the window is one of a periodic signal.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.blackman_window(4)
    tensor([-2.9802e-08,  3.4000e-01,  1.0000e+00,  3.4000e-01])"""
    ...
@overload
def block_diag(tensors: Sequence[Tensor], /) -> Tensor: ...
@overload
def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices, given one by one, along the diagonal of a larger one that is 0 elsewhere.

    Examples
    --------
    >>> opweave.block_diag(opweave.tensor([[1, 2]]), opweave.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])"""
    ...
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product for each pair of matrices of two batches.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mat2 : Tensor
        The second matrix.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.ones(2, 2, 3)
    >>> y = opweave.ones(2, 3, 1)
    >>> opweave.bmm(x, y)
    tensor([[[3.],
             [3.]],
    <BLANKLINE>
            [[3.],
             [3.]]])
    >>> x.bmm(y)
    tensor([[[3.],
             [3.]],
    <BLANKLINE>
            [[3.],
             [3.]]])"""
    ...
def broadcast_shapes(*shapes: Int | Sequence[Int]) -> _tuple[_int, ...]:
    """The shape that tensors of these shapes have together; an int is a shape of one size.

    Examples
    --------
    >>> opweave.broadcast_shapes((2, 1), (3,))
    opweave.Size([2, 3])"""
    ...
@overload
def broadcast_tensors(tensors: Sequence[Tensor], /) -> _tuple[Tensor, ...]: ...
@overload
def broadcast_tensors(*tensors: Tensor) -> _tuple[Tensor, ...]:
    """The tensors as views of their common shape.

    Examples
    --------
    >>> opweave.broadcast_tensors(opweave.tensor([[1], [2]]), opweave.tensor([3]))
    (tensor([[1],
            [2]]), tensor([[3],
            [3]]))"""
    ...
def broadcast_to(input: Tensor, size: Sequence[Int]) -> Tensor:
    """A view with larger sizes, in which dimensions of size 1 repeat.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.broadcast_to(x, [2, 3])
    tensor([[1., 2., 3.],
            [1., 2., 3.]])
    >>> x.broadcast_to([2, 3])
    tensor([[1., 2., 3.],
            [1., 2., 3.]])"""
    ...
@overload
def bucketize(input: Number, boundaries: Tensor, *, out_int32: Bool = False, right: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: Bool = False, right: Bool = False, out: Tensor | None = None) -> Tensor:
    """The number of boundaries below each element; with `right`, of those that it equals too.

    Parameters
    ----------
    input : number or Tensor
        The tensor.
    boundaries : Tensor
        The boundaries, in order.
    out_int32 : bool, default False
        Whether to give int32.
    right : bool, default False
        Whether boundaries that are equal count.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 4.5, 9.0])
    >>> y = opweave.tensor([2.0, 4.0, 6.0])
    >>> opweave.bucketize(x, y)
    tensor([0, 2, 3])"""
    ...
def can_cast(from_: DType, to: DType) -> _bool:
    """Whether a result of a type may be written to a tensor of another one.

    Parameters
    ----------
    from_, to : DType
        Complex numbers do not become real, floating ones no integers, and nothing else becomes bool.

    Examples
    --------
    >>> opweave.can_cast(opweave.float32, opweave.int64)
    False"""
    ...
@overload
def cartesian_prod(tensors: Sequence[Tensor], /) -> Tensor: ...
@overload
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All choices of an element from each of the vectors, a row for each.

    Examples
    --------
    >>> opweave.cartesian_prod(opweave.tensor([1, 2]), opweave.tensor([3]))
    tensor([[1, 3],
            [2, 3]])"""
    ...
@overload
def cat(tensors: Sequence[Tensor], dim: Int = 0, *, out: Tensor | None = None) -> Tensor: ...
@overload
def cat(tensors: Sequence[Tensor], axis: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along a dimension.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    dim : int, default 0
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> opweave.cat([x, y], 1)
    tensor([[1., 2., 0., 1.],
            [3., 4., 1., 0.]])"""
    ...
def cauchy_(input: Tensor, median: Float = 0.0, sigma: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Numbers drawn from a Cauchy distribution, in the shape of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    median : float, default 0.0
        Where the middle is.
    sigma : float, default 1.0
        The scale.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.cauchy_().shape
    opweave.Size([3])"""
    ...
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: _str | _int | None = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The distance of each row of one matrix from each of the other.

    Parameters
    ----------
    x1, x2 : Tensor
        (..., rows, n) and (..., others, n)
    p : float
        Of the norm.
    compute_mode : str, int or None
        How PyTorch may compute it, or the number that its op has for that; here there is one way.

    Examples
    --------
    >>> opweave.cdist(opweave.tensor([[0.0, 0.0]]), opweave.tensor([[3.0, 4.0]]))
    tensor([[5.]])"""
    ...
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least whole number that is no less, for each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.ceil(x)
    tensor([-1.,  1.,  2.])
    >>> x.ceil()
    tensor([-1.,  1.,  2.])"""
    ...
def ceil_(input: Tensor) -> Tensor:
    """The least whole number that is no less, for each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.ceil_()
    tensor([-1.,  1.,  2.])"""
    ...
def celu(input: Tensor, alpha: Number = 1.0, *, out: Tensor | None = None) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)) (Barron 2017).

    Parameters
    ----------
    input : Tensor
        The tensor.
    alpha : number, default 1.0
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
    >>> opweave.celu(x)
    tensor([[-0.9727,  6.5000, -0.5034, -0.9997],
            [ 2.2000, -0.9939,  5.1000, -0.8892],
            [ 8.0000,  0.7000, -0.9985,  3.6000]])
    >>> x.celu()
    tensor([[-0.9727,  6.5000, -0.5034, -0.9997],
            [ 2.2000, -0.9939,  5.1000, -0.8892],
            [ 8.0000,  0.7000, -0.9985,  3.6000]])"""
    ...
def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order of the fewest multiplications, as `linalg.multi_dot`.

    Examples
    --------
    >>> opweave.chain_matmul(opweave.eye(2), opweave.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])"""
    ...
def channel_shuffle(input: Tensor, groups: Int, *, out: Tensor | None = None) -> Tensor:
    """The channels of (N, C, ...) dealt out in turn to the groups that they came in.

    Parameters
    ----------
    input : Tensor
        The tensor.
    groups : int
        How many groups the channels are divided in.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(4.0).view(1, 4, 1)
    >>> opweave.channel_shuffle(x, 2)
    tensor([[[0.],
             [2.],
             [1.],
             [3.]]])
    >>> x.channel_shuffle(2)
    tensor([[[0.],
             [2.],
             [1.],
             [3.]]])"""
    ...
def cholesky(input: Tensor, upper: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """As `linalg.cholesky`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    upper : bool, default False
        Whether the upper triangle is meant.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> opweave.cholesky(x).shape
    opweave.Size([2, 2])
    >>> x.cholesky().shape
    opweave.Size([2, 2])"""
    ...
def cholesky_inverse(input: Tensor, upper: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A from its Cholesky factor.

    Parameters
    ----------
    input : Tensor
        The tensor.
    upper : bool, default False
        Whether the upper triangle is meant.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.5, 1.0]])
    >>> opweave.cholesky_inverse(x)
    tensor([[ 0.3125, -0.2500],
            [-0.2500,  1.0000]])
    >>> x.cholesky_inverse()
    tensor([[ 0.3125, -0.2500],
            [-0.2500,  1.0000]])"""
    ...
def cholesky_solve(input: Tensor, input2: Tensor, upper: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """X with A X = B, from the Cholesky factor of A.

    Parameters
    ----------
    input : Tensor
        The tensor.
    input2 : Tensor
        The second tensor.
    upper : bool, default False
        Whether the upper triangle is meant.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[4.0], [2.0]])
    >>> y = opweave.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> opweave.cholesky_solve(x, y)
    tensor([[1.],
            [2.]])
    >>> x.cholesky_solve(y)
    tensor([[1.],
            [2.]])"""
    ...
@overload
def chunk(input: Tensor, chunks: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def chunk(input: Tensor, chunks: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
    """At most so many parts of a dimension, as views; the last may be smaller.

    Parameters
    ----------
    input : Tensor
        The tensor.
    chunks : int
        How many parts.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.chunk(x, 2)
    (tensor([1., 2.]), tensor([3.]))
    >>> x.chunk(2)
    (tensor([1., 2.]), tensor([3.]))"""
    ...
def clamp(input: Tensor | Number, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each element brought between `min` and `max`; a bound that is None is none.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    min : Tensor or number, optional
        The lower bound: a number, or a tensor that broadcasts.
    max : Tensor or number, optional
        The upper bound: a number, or a tensor that broadcasts.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([-3.0, 0.5, 4.0])
    >>> opweave.clamp(x, -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    >>> x.clamp(-1, 1)
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
@overload
def clamp_(input: Tensor, min: Number | None = None, max: Number | None = None) -> Tensor: ...
@overload
def clamp_(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Each element brought between `min` and `max`; a bound that is None is none. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    min : number or Tensor, optional
        The lower bound: a number, or a tensor that broadcasts.
    max : number or Tensor, optional
        The upper bound: a number, or a tensor that broadcasts.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-3.0, 0.5, 4.0])
    >>> x.clamp_(-1, 1)
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
@overload
def clamp_max(input: Tensor, max: Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def clamp_max(input: Tensor, max: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element, or the bound where it is larger.

    Parameters
    ----------
    input : Tensor
        The tensor.
    max : number or Tensor
        The upper bound.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.clamp_max(x, 2)
    tensor([1., 2., 2.])
    >>> x.clamp_max(2)
    tensor([1., 2., 2.])"""
    ...
@overload
def clamp_max_(input: Tensor, max: Number) -> Tensor: ...
@overload
def clamp_max_(input: Tensor, max: Tensor) -> Tensor:
    """Each element, or the bound where it is larger. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    max : number or Tensor
        The upper bound.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.clamp_max_(2)
    tensor([1., 2., 2.])"""
    ...
@overload
def clamp_min(input: Tensor, min: Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def clamp_min(input: Tensor, min: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element, or the bound where it is less.

    Parameters
    ----------
    input : Tensor
        The tensor.
    min : number or Tensor
        The lower bound.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.clamp_min(x, 2)
    tensor([2., 2., 3.])
    >>> x.clamp_min(2)
    tensor([2., 2., 3.])"""
    ...
@overload
def clamp_min_(input: Tensor, min: Number) -> Tensor: ...
@overload
def clamp_min_(input: Tensor, min: Tensor) -> Tensor:
    """Each element, or the bound where it is less. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    min : number or Tensor
        The lower bound.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.clamp_min_(2)
    tensor([2., 2., 3.])"""
    ...
def clip(input: Tensor | Number, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each element brought between `min` and `max`; a bound that is None is none.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    min : Tensor or number, optional
        The lower bound: a number, or a tensor that broadcasts.
    max : Tensor or number, optional
        The upper bound: a number, or a tensor that broadcasts.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([-3.0, 0.5, 4.0])
    >>> opweave.clamp(x, -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    >>> x.clamp(-1, 1)
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
@overload
def clip_(input: Tensor, min: Number | None = None, max: Number | None = None) -> Tensor: ...
@overload
def clip_(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Each element brought between `min` and `max`; a bound that is None is none. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    min : number or Tensor, optional
        The lower bound: a number, or a tensor that broadcasts.
    max : number or Tensor, optional
        The upper bound: a number, or a tensor that broadcasts.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-3.0, 0.5, 4.0])
    >>> x.clamp_(-1, 1)
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
def clone(input: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor | None = None) -> Tensor:
    """A copy in memory of its own, through which gradients flow.

    Parameters
    ----------
    input : Tensor
        The tensor.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.clone(x)
    tensor([1., 2., 3.])
    >>> x.clone()
    tensor([1., 2., 3.])"""
    ...
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Side by side, vectors as columns.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.column_stack([x, y])
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def combinations(input: Tensor, r: Int = 2, with_replacement: Bool = False) -> Tensor:
    """All choices of r elements, in their order, a row for each.

    Parameters
    ----------
    input : Tensor
        The tensor.
    r : int, default 2
        How many.
    with_replacement : bool, default False
        Whether an element may be there twice.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1, 2, 3])
    >>> opweave.combinations(x)
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    >>> x.combinations()
    tensor([[1, 2],
            [1, 3],
            [2, 3]])"""
    ...
def complex(real: Tensor | Number, imag: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of their parts.

    Parameters
    ----------
    real : Tensor or number
        The real parts.
    imag : Tensor or number
        The imaginary parts.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([0.5, -1.0])
    >>> opweave.complex(x, y)
    tensor([1.+0.5000j, 2.-1.0000j])"""
    ...
@overload
def concat(tensors: Sequence[Tensor], dim: Int = 0, *, out: Tensor | None = None) -> Tensor: ...
@overload
def concat(tensors: Sequence[Tensor], axis: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along a dimension; another name of `cat`.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    dim : int, default 0
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.concat([x, y])
    tensor([1., 2., 3., 4., 5., 6.])"""
    ...
@overload
def concatenate(tensors: Sequence[Tensor], dim: Int = 0, *, out: Tensor | None = None) -> Tensor: ...
@overload
def concatenate(tensors: Sequence[Tensor], axis: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along a dimension; another name of `cat`.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    dim : int, default 0
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.concat([x, y])
    tensor([1., 2., 3., 4., 5., 6.])"""
    ...
def conj(input: Tensor) -> Tensor:
    """The conjugate: a copy of complex numbers, and what is real itself.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> opweave.conj(x)
    tensor([1.-2.j])
    >>> x.conj()
    tensor([1.-2.j])"""
    ...
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, as a new tensor.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> opweave.conj_physical(x)
    tensor([1.-2.j])
    >>> x.conj_physical()
    tensor([1.-2.j])"""
    ...
def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate, as a new tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> x.conj_physical_()
    tensor([1.-2.j])"""
    ...
def constant_pad_nd(input: Tensor, pad: Sequence[Int], value: Number = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensor with a constant around it; negative numbers cut elements off.

    Parameters
    ----------
    input : Tensor
        The tensor.
    pad : sequence of int
        Numbers for the sides of the last dimension, then of the one before, ...
    value : number, default 0
        The number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.constant_pad_nd(x, [1, 2], 0.5)
    tensor([0.5000, 1.0000, 2.0000, 3.0000, 0.5000, 0.5000])
    >>> x.constant_pad_nd([1, 2], 0.5)
    tensor([0.5000, 1.0000, 2.0000, 3.0000, 0.5000, 0.5000])"""
    ...
def contiguous(input: Tensor, *, memory_format: MemoryFormat = ...) -> Tensor:
    """The tensor with its elements in row-major order; itself where they are.

    Parameters
    ----------
    input : Tensor
        The tensor.
    memory_format : memory_format, default opweave.contiguous_format
        How the result lies in memory.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.contiguous(x)
    tensor([[1., 2.],
            [3., 4.]])
    >>> x.contiguous()
    tensor([[1., 2.],
            [3., 4.]])"""
    ...
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., dilation: Int | Sequence[Int] = ..., groups: Int = 1) -> Tensor: ...
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Literal['valid', 'same'] = 'valid', dilation: Int | Sequence[Int] = ..., groups: Int = 1) -> Tensor:
    """A line of several channels correlated with filters (shape: batch, channels, length).

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : int or sequence of int, default (1,)
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int or {'valid', 'same'}, default (0,)
        How many elements are added at each side.
    dilation : int or sequence of int, default (1,)
        How far apart the elements of a window are.
    groups : int, default 1
        How many groups the channels are divided in.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> y = opweave.tensor([[[1.0, -1.0]]])
    >>> opweave.conv1d(x, y)
    tensor([[[-1., -1., -1.]]])"""
    ...
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., dilation: Int | Sequence[Int] = ..., groups: Int = 1) -> Tensor: ...
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Literal['valid', 'same'] = 'valid', dilation: Int | Sequence[Int] = ..., groups: Int = 1) -> Tensor:
    """An image of several channels correlated with filters (shape: batch, channels, height, width).

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : int or sequence of int, default (1, 1)
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int or {'valid', 'same'}, default (0, 0)
        How many elements are added at each side.
    dilation : int or sequence of int, default (1, 1)
        How far apart the elements of a window are.
    groups : int, default 1
        How many groups the channels are divided in.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
    >>> y = opweave.ones(1, 1, 2, 2)
    >>> opweave.conv2d(x, y, stride=2)
    tensor([[[[10., 18.],
              [42., 50.]]]])"""
    ...
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., dilation: Int | Sequence[Int] = ..., groups: Int = 1) -> Tensor: ...
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Literal['valid', 'same'] = 'valid', dilation: Int | Sequence[Int] = ..., groups: Int = 1) -> Tensor:
    """A volume of several channels correlated with filters (shape: batch, channels, depth, height, width).

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : int or sequence of int, default (1, 1, 1)
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int or {'valid', 'same'}, default (0, 0, 0)
        How many elements are added at each side.
    dilation : int or sequence of int, default (1, 1, 1)
        How far apart the elements of a window are.
    groups : int, default 1
        How many groups the channels are divided in.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
    >>> y = opweave.ones(1, 1, 2, 2, 2)
    >>> opweave.conv3d(x, y)
    tensor([[[[[28.]]]]])"""
    ...
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., output_padding: Int | Sequence[Int] = ..., groups: Int = 1, dilation: Int | Sequence[Int] = ...) -> Tensor:
    """The adjoint of `conv1d`: each element of the input adds a filter to a longer line.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : int or sequence of int, default (1,)
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int, default (0,)
        How many elements are added at each side.
    output_padding : int or sequence of int, default (0,)
        What is added to the size at one side.
    groups : int, default 1
        How many groups the channels are divided in.
    dilation : int or sequence of int, default (1,)
        How far apart the elements of a window are.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> y = opweave.tensor([[[1.0, -1.0]]])
    >>> opweave.conv_transpose1d(x, y)
    tensor([[[ 1.,  1.,  1.,  1., -4.]]])"""
    ...
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., output_padding: Int | Sequence[Int] = ..., groups: Int = 1, dilation: Int | Sequence[Int] = ...) -> Tensor:
    """The adjoint of `conv2d`: each element of the input adds a filter to a larger image.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : int or sequence of int, default (1, 1)
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int, default (0, 0)
        How many elements are added at each side.
    output_padding : int or sequence of int, default (0, 0)
        What is added to the size at one side.
    groups : int, default 1
        How many groups the channels are divided in.
    dilation : int or sequence of int, default (1, 1)
        How far apart the elements of a window are.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[[1.0, 2.0]]]])
    >>> y = opweave.ones(1, 1, 2, 2)
    >>> opweave.conv_transpose2d(x, y)
    tensor([[[[1., 3., 2.],
              [1., 3., 2.]]]])"""
    ...
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., output_padding: Int | Sequence[Int] = ..., groups: Int = 1, dilation: Int | Sequence[Int] = ...) -> Tensor:
    """The adjoint of `conv3d`: each element of the input adds a filter to a larger volume.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : int or sequence of int, default (1, 1, 1)
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int, default (0, 0, 0)
        How many elements are added at each side.
    output_padding : int or sequence of int, default (0, 0, 0)
        What is added to the size at one side.
    groups : int, default 1
        How many groups the channels are divided in.
    dilation : int or sequence of int, default (1, 1, 1)
        How far apart the elements of a window are.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.ones(1, 1, 1, 1, 1)
    >>> y = opweave.ones(1, 1, 1, 2, 2)
    >>> opweave.conv_transpose3d(x, y)
    tensor([[[[[1., 1.],
               [1., 1.]]]]])"""
    ...
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[Int], padding: Sequence[Int], dilation: Sequence[Int], transposed: Bool, output_padding: Sequence[Int], groups: Int, *, out: Tensor | None = None) -> Tensor:
    """Cross-correlation of (n, channels, *sizes) with filters; transposed: its adjoint.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    stride : sequence of int
        How far apart windows are; as large as they are by default.
    padding : sequence of int
        How many elements are added at each side.
    dilation : sequence of int
        How far apart the elements of a window are.
    transposed : bool
        Whether to compute the adjoint.
    output_padding : sequence of int
        What is added to the size at one side.
    groups : int
        How many groups the channels are divided in.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> y = opweave.tensor([[[1.0, -1.0]]])
    >>> opweave.convolution(x, y, None, [1], [0], [1], False, [0], 1)
    tensor([[[-1., -1., -1.]]])"""
    ...
def copy_(input: Tensor, src: Tensor, non_blocking: Bool = False) -> Tensor:
    """The elements of `src`, broadcast and converted, in the shape and type of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    src : Tensor
        What is written.
    non_blocking : bool, default False
        For the signature's sake.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.copy_(y)
    tensor([4., 5., 6.])"""
    ...
def copysign(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of each element with the sign of the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([-1.0, 1.0, -0.0])
    >>> opweave.copysign(x, y)
    tensor([-1.,  2., -3.])
    >>> x.copysign(y)
    tensor([-1.,  2., -3.])"""
    ...
def copysign_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The magnitude of each element with the sign of the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([-1.0, 1.0, -0.0])
    >>> x.copysign_(y)
    tensor([-1.,  2., -3.])"""
    ...
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of rows, whose columns are observations.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    >>> opweave.corrcoef(x)
    tensor([[ 1., -1.],
            [-1.,  1.]])
    >>> x.corrcoef()
    tensor([[ 1., -1.],
            [-1.,  1.]])"""
    ...
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of each element, in radians.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.cos(x)
    tensor([ 0.5403,  0.8776, -0.4161])
    >>> x.cos()
    tensor([ 0.5403,  0.8776, -0.4161])"""
    ...
def cos_(input: Tensor) -> Tensor:
    """The cosine of each element, in radians. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.cos_()
    tensor([ 0.5403,  0.8776, -0.4161])"""
    ...
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.cosh(x)
    tensor([1.5431, 1.1276, 3.7622])
    >>> x.cosh()
    tensor([1.5431, 1.1276, 3.7622])"""
    ...
def cosh_(input: Tensor) -> Tensor:
    """The hyperbolic cosine of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.cosh_()
    tensor([1.5431, 1.1276, 3.7622])"""
    ...
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: Float = 0.0, reduction: Int = 1) -> Tensor:
    """1 - cos(x1, x2) where t is 1, max(0, cos(x1, x2) - margin) where it is -1.

    Parameters
    ----------
    input1 : Tensor
        The first tensor.
    input2 : Tensor
        The second tensor.
    target : Tensor
        What it should be.
    margin : float, default 0.0
        The margin.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 0.0]])
    >>> y = opweave.tensor([[0.0, 1.0]])
    >>> z = opweave.tensor([1.0])
    >>> opweave.cosine_embedding_loss(x, y, z)
    tensor(1.)"""
    ...
@overload
def cosine_similarity(x1: Tensor, x2: Tensor | Number, dim: Int = 1, eps: Float = 1e-08) -> Tensor: ...
@overload
def cosine_similarity(x1: Tensor, x2: Tensor | Number, axis: Int = 1, eps: Float = 1e-08) -> Tensor:
    """x1 · x2 / (|x1| |x2|) over a dimension; a norm below eps counts as eps, and is differentiated as it is.

    Parameters
    ----------
    x1 : Tensor
        The first tensor.
    x2 : Tensor or number
        The second tensor.
    dim : int, default 1
        The dimension, counted from the end where negative.
    eps : float, default 1e-08
        A small number that keeps divisors off 0.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 0.0]])
    >>> y = opweave.tensor([[1.0, 1.0]])
    >>> opweave.cosine_similarity(x, y)
    tensor([0.7071])"""
    ...
@overload
def count_nonzero(input: Tensor, dim: Sequence[Int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def count_nonzero(input: Tensor, axis: Sequence[Int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def count_nonzero(input: Tensor, dim: Int | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def count_nonzero(input: Tensor, axis: Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """How many elements are other than 0, of the whole tensor or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : sequence of int or int, optional
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 2.0], [3.0, 4.0]])
    >>> opweave.count_nonzero(x, 1)
    tensor([1, 2])
    >>> x.count_nonzero(1)
    tensor([1, 2])"""
    ...
def cov(input: Tensor, *, correction: Int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of rows, whose columns are observations.

    Parameters
    ----------
    input : Tensor
        The tensor.
    correction : int, default 1
        What is subtracted from the number of elements before dividing by it; 1 by default.
    fweights : Tensor, optional
        How often each observation counts, in whole numbers.
    aweights : Tensor, optional
        How much each observation counts.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    >>> opweave.cov(x)
    tensor([[ 1., -1.],
            [-1.,  1.]])
    >>> x.cov()
    tensor([[ 1., -1.],
            [-1.,  1.]])"""
    ...
@overload
def cross(input: Tensor, other: Tensor | Number, dim: Int | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def cross(input: Tensor, other: Tensor | Number, axis: Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The product of vectors in space, in the first dimension of 3 elements if none is named.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    dim : int, optional
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 0.0, 0.0])
    >>> y = opweave.tensor([0.0, 1.0, 0.0])
    >>> opweave.cross(x, y)
    tensor([0., 0., 1.])
    >>> x.cross(y)
    tensor([0., 0., 1.])"""
    ...
@overload
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[Int], target_lengths: Sequence[Int], blank: Int = 0, reduction: Int = 1, zero_infinity: Bool = False) -> Tensor: ...
@overload
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: Int = 0, reduction: Int = 1, zero_infinity: Bool = False) -> Tensor:
    """The negative log-likelihood of targets, by all ways to lay them in time.

    Parameters
    ----------
    log_probs : Tensor
        Logarithms of probabilities (time, batch, classes).
    targets : Tensor
        The targets.
    input_lengths : sequence of int or Tensor
        The lengths of the inputs.
    target_lengths : sequence of int or Tensor
        The lengths of the targets.
    blank : int, default 0
        The number of the class that stands for nothing.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.
    zero_infinity : bool, default False
        Whether losses that are infinite count as 0.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.zeros(3, 1, 2).log_softmax(2)
    >>> y = opweave.tensor([[1]])
    >>> z = opweave.tensor([3])
    >>> w = opweave.tensor([1])
    >>> opweave.ctc_loss(x, y, z, w)
    tensor(0.2877)"""
    ...
@overload
def cummax(input: Tensor, dim: Int, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.cummax: ...
@overload
def cummax(input: Tensor, axis: Int, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.cummax:
    """The largest element so far along a dimension, and where it was.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.cummax
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.cummax(x, 0)
    opweave.return_types.cummax(
    values=tensor([3., 3., 3.]),
    indices=tensor([0, 0, 0]))
    >>> x.cummax(0)
    opweave.return_types.cummax(
    values=tensor([3., 3., 3.]),
    indices=tensor([0, 0, 0]))"""
    ...
@overload
def cummin(input: Tensor, dim: Int, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.cummin: ...
@overload
def cummin(input: Tensor, axis: Int, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.cummin:
    """The least element so far along a dimension, and where it was.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.cummin
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.cummin(x, 0)
    opweave.return_types.cummin(
    values=tensor([3., 1., 1.]),
    indices=tensor([0, 1, 1]))
    >>> x.cummin(0)
    opweave.return_types.cummin(
    values=tensor([3., 1., 1.]),
    indices=tensor([0, 1, 1]))"""
    ...
@overload
def cumprod(input: Tensor, dim: Int, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def cumprod(input: Tensor, axis: Int, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor:
    """The product of the elements so far along a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.cumprod(x, 0)
    tensor([1., 2., 6.])
    >>> x.cumprod(0)
    tensor([1., 2., 6.])"""
    ...
@overload
def cumprod_(input: Tensor, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def cumprod_(input: Tensor, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
    """The product of the elements so far along a dimension. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.cumprod_(0)
    tensor([1., 2., 6.])"""
    ...
@overload
def cumsum(input: Tensor, dim: Int, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def cumsum(input: Tensor, axis: Int, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements so far along a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.cumsum(x, 0)
    tensor([1., 3., 6.])
    >>> x.cumsum(0)
    tensor([1., 3., 6.])"""
    ...
@overload
def cumsum_(input: Tensor, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def cumsum_(input: Tensor, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of the elements so far along a dimension. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.cumsum_(0)
    tensor([1., 3., 6.])"""
    ...
@overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: Int = -1) -> Tensor: ...
@overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, axis: Int = -1) -> Tensor: ...
@overload
def cumulative_trapezoid(y: Tensor, *, dx: Number = 1, dim: Int = -1) -> Tensor: ...
@overload
def cumulative_trapezoid(y: Tensor, *, dx: Number = 1, axis: Int = -1) -> Tensor:
    """The area under straight lines from element to element, up to each.

    Parameters
    ----------
    y : Tensor
        The values.
    x : Tensor, optional
        The tensor.
    dx : number, default 1
        How far apart the points are.
    dim : int, default -1
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.cumulative_trapezoid(x)
    tensor([1.5000, 4.0000])"""
    ...
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees in radians.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.deg2rad(x)
    tensor([-0.0175,  0.0087,  0.0349])
    >>> x.deg2rad()
    tensor([-0.0175,  0.0087,  0.0349])"""
    ...
def deg2rad_(input: Tensor) -> Tensor:
    """Degrees in radians. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.deg2rad_()
    tensor([-0.0175,  0.0087,  0.0349])"""
    ...
def det(input: Tensor) -> Tensor:
    """As `linalg.det`.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.det(x)
    tensor(-2.)
    >>> x.det()
    tensor(-2.)"""
    ...
def detach(input: Tensor) -> Tensor:
    """The same memory as a tensor without history: gradients do not flow through it.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.detach(x)
    tensor([1., 2., 3.])
    >>> x.detach()
    tensor([1., 2., 3.])"""
    ...
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same memory as a tensor without history: gradients do not flow through it. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.detach_copy(x)
    tensor([1., 2., 3.])
    >>> x.detach_copy()
    tensor([1., 2., 3.])"""
    ...
def diag(input: Tensor, diagonal: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix, or a matrix of zeros with a vector as its diagonal.

    Parameters
    ----------
    input : Tensor
        The tensor.
    diagonal : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.diag(x)
    tensor([1., 4.])
    >>> x.diag()
    tensor([1., 4.])"""
    ...
def diag_embed(input: Tensor, offset: Int = 0, dim1: Int = -2, dim2: Int = -1) -> Tensor:
    """The last dimension as a diagonal of matrices of zeros in two new ones.

    Parameters
    ----------
    input : Tensor
        The tensor.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dim1 : int, default -2
        Another dimension.
    dim2 : int, default -1
        The second of the matrix's dimensions.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> opweave.diag_embed(x)
    tensor([[1., 0.],
            [0., 2.]])
    >>> x.diag_embed()
    tensor([[1., 0.],
            [0., 2.]])"""
    ...
def diagflat(input: Tensor, offset: Int = 0) -> Tensor:
    """A matrix of zeros with all elements on a diagonal.

    Parameters
    ----------
    input : Tensor
        The tensor.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> opweave.diagflat(x)
    tensor([[1., 0.],
            [0., 2.]])
    >>> x.diagflat()
    tensor([[1., 0.],
            [0., 2.]])"""
    ...
def diagonal(input: Tensor, offset: Int = 0, dim1: Int = 0, dim2: Int = 1) -> Tensor:
    """A view of the diagonal of two dimensions, as a new last one.

    Parameters
    ----------
    input : Tensor
        The tensor.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dim1 : int, default 0
        Another dimension.
    dim2 : int, default 1
        The second of the matrix's dimensions.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.diagonal(x)
    tensor([1., 4.])
    >>> x.diagonal()
    tensor([1., 4.])"""
    ...
def diagonal_copy(input: Tensor, offset: Int = 0, dim1: Int = 0, dim2: Int = 1, *, out: Tensor | None = None) -> Tensor:
    """A view of the diagonal of two dimensions, as a new last one. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dim1 : int, default 0
        Another dimension.
    dim2 : int, default 1
        The second of the matrix's dimensions.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.diagonal_copy(x)
    tensor([1., 4.])
    >>> x.diagonal_copy()
    tensor([1., 4.])"""
    ...
def diagonal_scatter(input: Tensor, src: Tensor, offset: Int = 0, dim1: Int = 0, dim2: Int = 1) -> Tensor:
    """A copy with another diagonal.

    Parameters
    ----------
    input : Tensor
        The tensor.
    src : Tensor
        What is written.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dim1 : int, default 0
        Another dimension.
    dim2 : int, default 1
        The second of the matrix's dimensions.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([8.0, 9.0])
    >>> opweave.diagonal_scatter(x, y)
    tensor([[8., 2.],
            [3., 9.]])
    >>> x.diagonal_scatter(y)
    tensor([[8., 2.],
            [3., 9.]])"""
    ...
@overload
def diff(input: Tensor, n: Int = 1, dim: Int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def diff(input: Tensor, n: Int = 1, axis: Int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The n-th differences of neighbours along a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    n : int, default 1
        How often.
    dim : int, default -1
        The dimension, counted from the end where negative.
    prepend : Tensor, optional
        What stands before the elements.
    append : Tensor, optional
        What stands after the elements.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 4.0, 9.0])
    >>> opweave.diff(x)
    tensor([3., 5.])
    >>> x.diff()
    tensor([3., 5.])"""
    ...
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of log Γ(x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.digamma(x)
    tensor([-4.2275, -1.9635, -0.5772])
    >>> x.digamma()
    tensor([-4.2275, -1.9635, -0.5772])"""
    ...
def digamma_(input: Tensor) -> Tensor:
    """The derivative of log Γ(x). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.digamma_()
    tensor([-4.2275, -1.9635, -0.5772])"""
    ...
def dist(input: Tensor, other: Tensor | Number, p: Number = 2) -> Tensor:
    """The p-norm of the difference.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    p : number, default 2
        The p of the norm.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.dist(x, y)
    tensor(5.1962)
    >>> x.dist(y)
    tensor(5.1962)"""
    ...
@overload
def div(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None, out: Tensor | None = None) -> Tensor:
    """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    rounding_mode : {'trunc', 'floor'}, optional
        Towards 0 or down; by default the quotient stays as it is.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([7.0, -7.0])
    >>> opweave.div(x, 2, rounding_mode='floor')
    tensor([ 3., -4.])
    >>> x.div(2, rounding_mode='floor')
    tensor([ 3., -4.])"""
    ...
@overload
def div_(input: Tensor, other: Tensor | Number) -> Tensor: ...
@overload
def div_(input: Tensor, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
    """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    rounding_mode : {'trunc', 'floor'}, optional
        Towards 0 or down; by default the quotient stays as it is.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([7.0, -7.0])
    >>> x.div_(2, rounding_mode='floor')
    tensor([ 3., -4.])"""
    ...
@overload
def divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None, out: Tensor | None = None) -> Tensor:
    """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    rounding_mode : {'trunc', 'floor'}, optional
        Towards 0 or down; by default the quotient stays as it is.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([7.0, -7.0])
    >>> opweave.div(x, 2, rounding_mode='floor')
    tensor([ 3., -4.])
    >>> x.div(2, rounding_mode='floor')
    tensor([ 3., -4.])"""
    ...
@overload
def divide_(input: Tensor, other: Tensor | Number) -> Tensor: ...
@overload
def divide_(input: Tensor, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
    """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    rounding_mode : {'trunc', 'floor'}, optional
        Towards 0 or down; by default the quotient stays as it is.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([7.0, -7.0])
    >>> x.div_(2, rounding_mode='floor')
    tensor([ 3., -4.])"""
    ...
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products of two vectors.

    Parameters
    ----------
    input : Tensor
        The tensor.
    tensor : Tensor
        A vector of the same size.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.dot(x, y)
    tensor(32.)
    >>> x.dot(y)
    tensor(32.)"""
    ...
def dropout(input: Tensor, p: Float, train: Bool) -> Tensor:
    """Each element set to 0 with probability p, the others scaled by 1 / (1 - p); without `train` the input.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The probability that an element is dropped.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.dropout(x, 0.5, False).shape
    opweave.Size([3])"""
    ...
def dropout_(input: Tensor, p: Float, train: Bool) -> Tensor:
    """Each element set to 0 with probability p, the others scaled by 1 / (1 - p); without `train` the input. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The probability that an element is dropped.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.dropout_(x, 0.5, False).shape
    opweave.Size([3])"""
    ...
@overload
def dsplit(input: Tensor, sections: Int) -> _tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, indices: Sequence[Int]) -> _tuple[Tensor, ...]:
    """Parts of the third dimension, as views.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : sequence of int, optional
        Which places, as whole numbers.
    sections : int, optional
        How many parts, or where to cut.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0, 2.0]]])
    >>> opweave.dsplit(x, 2)
    (tensor([[[1.]]]), tensor([[[2.]]]))
    >>> x.dsplit(2)
    (tensor([[[1.]]]), tensor([[[2.]]]))"""
    ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the third dimension, which those with fewer get.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([3.0, 4.0])
    >>> opweave.dstack([x, y])
    tensor([[[1., 3.],
             [2., 4.]]])"""
    ...
@overload
def einsum(equation: _str, *operands: Tensor | Sequence[Tensor]) -> Tensor: ...
@overload
def einsum(operand: Tensor, sublist: Sequence[Any], /, *more: Any) -> Tensor:
    """The sum of products that subscripts describe.

    Parameters
    ----------
    *args
        `"ij,jk->ik", x, y`: the subscripts, then tensors (or one list of them); without `->` the result has what stands
        once, in the order of the alphabet, after the dimensions of `...`. Or tensors and lists of numbers in turn:
        `x, [0, 1], y, [1, 2], [0, 2]`.

    Examples
    --------
    >>> opweave.einsum("i,i->", opweave.tensor([1.0, 2.0]), opweave.tensor([3.0, 4.0]))
    tensor(11.)"""
    ...
def elu_(input: Tensor, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Tensor:
    """x where positive, alpha (exp(x) - 1) elsewhere. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    alpha : number, default 1
        A factor.
    scale : number, default 1
        A factor of the scores; 1 / √width by default.
    input_scale : number, default 1
        A factor of x in the exponential.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.elu_()
    tensor([-0.6321,  0.5000,  2.0000])"""
    ...
def embedding(weight: Tensor, indices: Tensor, padding_idx: Int = -1, scale_grad_by_freq: Bool = False, sparse: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """The rows of a matrix that an index tensor of any shape names.

    Parameters
    ----------
    weight : Tensor
        The weights.
    indices : Tensor
        Which places, as whole numbers.
    padding_idx : int, default -1
        A row whose gradient is 0.
    scale_grad_by_freq : bool, default False
        Whether gradients are divided by how often a row was read.
    sparse : bool, default False
        For the signature's sake: there are no sparse gradients.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1, 0, 1])
    >>> opweave.embedding(x, y)
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])"""
    ...
@overload
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: Bool = False, mode: Int = 0, sparse: Bool = False, per_sample_weights: Tensor | None = None, include_last_offset: Bool = False) -> _tuple[Tensor, Tensor, Tensor, Tensor]: ...
@overload
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: Bool, mode: Int, sparse: Bool, per_sample_weights: Tensor | None, include_last_offset: Bool, padding_idx: Int | None) -> _tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums, means or maxima of rows of a matrix, of which bags of indices name the rows.

    Parameters
    ----------
    weight : Tensor
        The weights.
    indices : Tensor
        Which places, as whole numbers.
    offsets : Tensor
        Where each bag begins.
    scale_grad_by_freq : bool, default False
        Whether gradients are divided by how often a row was read.
    mode : int, default 0
        How it is done.
    sparse : bool, default False
        For the signature's sake: there are no sparse gradients.
    per_sample_weights : Tensor, optional
        A factor for each row that is read.
    include_last_offset : bool, default False
        Whether the last offset is an end.
    padding_idx : int, optional
        A row whose gradient is 0.

    Returns
    -------
    tuple[Tensor, Tensor, Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1, 0, 1])
    >>> z = opweave.tensor([0, 2])
    >>> [t.shape for t in opweave.embedding_bag(x, y, z)]
    [opweave.Size([2, 2]), opweave.Size([0]), opweave.Size([2]), opweave.Size([2])]"""
    ...
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: Float, norm_type: Float) -> Tensor:
    """The rows at the indices made smaller in place, where their norm is above the limit.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : Tensor
        Which places, as whole numbers.
    max_norm : float
        The limit.
    norm_type : float
        The p of the norm.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1])
    >>> x.embedding_renorm_(y, 1.0, 2.0)
    tensor([[1.0000, 2.0000],
            [0.6000, 0.8000]])"""
    ...
@overload
def empty(size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def empty(*size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes with nothing in particular in it.

    Parameters
    ----------
    *size : sequence of int or int
        The sizes.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.empty(2, 3).shape
    opweave.Size([2, 3])"""
    ...
def empty_like(input: Tensor, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor like another, with nothing in particular in it.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.empty_like(x).shape
    opweave.Size([2, 3])
    >>> x.empty_like().shape
    opweave.Size([2, 3])"""
    ...
def empty_permuted(size: Sequence[Int], physical_layout: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
    """An uninitialised tensor whose dimensions lie in memory in an order, the outermost first.

    Parameters
    ----------
    size : sequence of int
        The sizes.
    physical_layout : sequence of int
        The order of the dimensions in memory, the outermost first.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.empty_permuted([2, 3], [1, 0]).shape
    opweave.Size([2, 3])"""
    ...
def empty_strided(size: Sequence[Int], stride: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes and strides, with nothing in particular in it.

    Parameters
    ----------
    size : sequence of int
        The sizes.
    stride : sequence of int
        How far apart windows are; as large as they are by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.empty_strided([2, 3], [1, 2]).shape
    opweave.Size([2, 3])"""
    ...
def eq(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element equals the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1.0, 0.0, 3.0])
    >>> opweave.eq(x, y)
    tensor([ True, False,  True])
    >>> x.eq(y)
    tensor([ True, False,  True])"""
    ...
def eq_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element equals the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1.0, 0.0, 3.0])
    >>> x.eq_(y)
    tensor([1., 0., 1.])"""
    ...
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether both have the same sizes and elements; NaN equals nothing.

    Parameters
    ----------
    input, other : Tensor

    Examples
    --------
    >>> opweave.equal(opweave.tensor([1, 2]), opweave.tensor([1, 2]))
    True"""
    ...
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.erf(x)
    tensor([-0.8427,  0.5205,  0.9953])
    >>> x.erf()
    tensor([-0.8427,  0.5205,  0.9953])"""
    ...
def erf_(input: Tensor) -> Tensor:
    """The error function of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.erf_()
    tensor([-0.8427,  0.5205,  0.9953])"""
    ...
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x), of which nothing is lost where erf is near 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.erfc(x)
    tensor([1.8427, 0.4795, 0.0047])
    >>> x.erfc()
    tensor([1.8427, 0.4795, 0.0047])"""
    ...
def erfc_(input: Tensor) -> Tensor:
    """1 - erf(x), of which nothing is lost where erf is near 1. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.erfc_()
    tensor([1.8427, 0.4795, 0.0047])"""
    ...
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The y with erf(y) = x: polynomials in log(1 - x²) (Giles 2010), whose digits are those of float32.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.erfinv(x)
    tensor([0.1791, 0.4769, 1.1631])
    >>> x.erfinv()
    tensor([0.1791, 0.4769, 1.1631])"""
    ...
def erfinv_(input: Tensor) -> Tensor:
    """The y with erf(y) = x: polynomials in log(1 - x²) (Giles 2010), whose digits are those of float32. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> x.erfinv_()
    tensor([0.1791, 0.4769, 1.1631])"""
    ...
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.exp(x)
    tensor([0.3679, 1.6487, 7.3891])
    >>> x.exp()
    tensor([0.3679, 1.6487, 7.3891])"""
    ...
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.exp2(x)
    tensor([0.5000, 1.4142, 4.0000])
    >>> x.exp2()
    tensor([0.5000, 1.4142, 4.0000])"""
    ...
def exp2_(input: Tensor) -> Tensor:
    """2 to the power of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.exp2_()
    tensor([0.5000, 1.4142, 4.0000])"""
    ...
def exp_(input: Tensor) -> Tensor:
    """e to the power of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.exp_()
    tensor([0.3679, 1.6487, 7.3891])"""
    ...
def expand(input: Tensor, size: Sequence[Int], *, implicit: Bool = False) -> Tensor:
    """A view with larger sizes, in which dimensions of size 1 repeat; -1 keeps a size.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    implicit : bool, default False
        For the signature's sake.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [2.0]])
    >>> opweave.expand(x, [2, 3])
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    >>> x.expand([2, 3])
    tensor([[1., 1., 1.],
            [2., 2., 2.]])"""
    ...
def expand_as(input: Tensor, other: Tensor | Number) -> Tensor:
    """A view with the sizes of another tensor, in which dimensions of size 1 repeat.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [2.0]])
    >>> y = opweave.zeros(2, 3)
    >>> opweave.expand_as(x, y)
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    >>> x.expand_as(y)
    tensor([[1., 1., 1.],
            [2., 2., 2.]])"""
    ...
def expand_copy(input: Tensor, size: Sequence[Int], *, implicit: Bool = False, out: Tensor | None = None) -> Tensor:
    """A view with larger sizes, in which dimensions of size 1 repeat; -1 keeps a size. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    implicit : bool, default False
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [2.0]])
    >>> opweave.expand_copy(x, [2, 3])
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    >>> x.expand_copy([2, 3])
    tensor([[1., 1., 1.],
            [2., 2., 2.]])"""
    ...
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, of which nothing is lost where x is small.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.expm1(x)
    tensor([-0.6321,  0.6487,  6.3891])
    >>> x.expm1()
    tensor([-0.6321,  0.6487,  6.3891])"""
    ...
def expm1_(input: Tensor) -> Tensor:
    """exp(x) - 1, of which nothing is lost where x is small. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.expm1_()
    tensor([-0.6321,  0.6487,  6.3891])"""
    ...
def exponential_(input: Tensor, lambd: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Numbers drawn from an exponential distribution, in the shape of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    lambd : float, default 1.0
        The rate.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.exponential_().shape
    opweave.Size([3])"""
    ...
@overload
def eye(n: Int, m: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def eye(n: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A matrix with 1 on its diagonal and 0 elsewhere.

    Parameters
    ----------
    n : int
        A whole number.
    m : int, optional
        How many columns; as many as rows by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.eye(2)
    tensor([[1., 0.],
            [0., 1.]])"""
    ...
def feature_alpha_dropout(input: Tensor, p: Float, train: Bool) -> Tensor:
    """`alpha_dropout` of whole channels.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The p of the norm.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0]]])
    >>> opweave.feature_alpha_dropout(x, 0.5, False).shape
    opweave.Size([1, 1, 1])"""
    ...
def feature_alpha_dropout_(input: Tensor, p: Float, train: Bool) -> Tensor:
    """`alpha_dropout` of whole channels. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The p of the norm.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0]]])
    >>> opweave.feature_alpha_dropout_(x, 0.5, False).shape
    opweave.Size([1, 1, 1])"""
    ...
def feature_dropout(input: Tensor, p: Float, train: Bool) -> Tensor:
    """`dropout` of whole channels.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The p of the norm.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0]]])
    >>> opweave.feature_dropout(x, 0.5, False).shape
    opweave.Size([1, 1, 1])"""
    ...
def feature_dropout_(input: Tensor, p: Float, train: Bool) -> Tensor:
    """`dropout` of whole channels. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The p of the norm.
    train : bool
        Whether anything is dropped.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[[1.0]]])
    >>> opweave.feature_dropout_(x, 0.5, False).shape
    opweave.Size([1, 1, 1])"""
    ...
def fill(input: Tensor | Number, value: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """A tensor like this one with one number everywhere.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    value : Tensor or number
        The number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.fill(x, 7)
    tensor([7., 7., 7.])
    >>> x.fill(7)
    tensor([7., 7., 7.])"""
    ...
@overload
def fill_(input: Tensor, value: Number) -> Tensor: ...
@overload
def fill_(input: Tensor, value: Tensor) -> Tensor:
    """A tensor like this one with one number everywhere. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    value : number or Tensor
        The number.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.fill_(7)
    tensor([7., 7., 7.])"""
    ...
def fill_diagonal_(input: Tensor, fill_value: Number, wrap: Bool = False) -> Tensor:
    """Write a number to the elements whose indices are all equal; with `wrap`, begin again below a tall matrix.

    Parameters
    ----------
    input : Tensor
        The tensor.
    fill_value : number
        The number.
    wrap : bool, default False
        Whether to begin again below a tall matrix.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.fill_diagonal_(0)
    tensor([[0., 2.],
            [3., 0.]])"""
    ...
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.trunc(x)
    tensor([-1.,  0.,  2.])
    >>> x.trunc()
    tensor([-1.,  0.,  2.])"""
    ...
def fix_(input: Tensor) -> Tensor:
    """Each element without its fraction. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.trunc_()
    tensor([-1.,  0.,  2.])"""
    ...
def flatten(input: Tensor, start_dim: Int = 0, end_dim: Int = -1) -> Tensor:
    """Dimensions from one to another as a single one; a view where strides allow it.

    Parameters
    ----------
    input : Tensor
        The tensor.
    start_dim : int, default 0
        The first of the dimensions.
    end_dim : int, default -1
        The last of the dimensions.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.ones(2, 2, 3)
    >>> opweave.flatten(x, 1)
    tensor([[1., 1., 1., 1., 1., 1.],
            [1., 1., 1., 1., 1., 1.]])
    >>> x.flatten(1)
    tensor([[1., 1., 1., 1., 1., 1.],
            [1., 1., 1., 1., 1., 1.]])"""
    ...
@overload
def flip(input: Tensor, dims: Sequence[Int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def flip(input: Tensor, axis: Sequence[Int], *, out: Tensor | None = None) -> Tensor:
    """Reverse the order along dimensions (a copy: strides are never negative).

    Parameters
    ----------
    input : Tensor
        The tensor.
    dims : sequence of int
        The dimensions, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.flip(x, [0])
    tensor([3., 2., 1.])
    >>> x.flip([0])
    tensor([3., 2., 1.])"""
    ...
def fliplr(input: Tensor) -> Tensor:
    """The columns backwards.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.fliplr(x)
    tensor([[2., 1.],
            [4., 3.]])
    >>> x.fliplr()
    tensor([[2., 1.],
            [4., 3.]])"""
    ...
def flipud(input: Tensor) -> Tensor:
    """The rows backwards.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.flipud(x)
    tensor([[3., 4.],
            [1., 2.]])
    >>> x.flipud()
    tensor([[3., 4.],
            [1., 2.]])"""
    ...
@overload
def float_power(input: Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def float_power(input: Tensor, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The power in double precision.

    Parameters
    ----------
    input : number or Tensor
        The tensor.
    exponent : Tensor or number
        The exponents.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.float_power(x, 2)
    tensor([1., 4., 9.], dtype=opweave.float64)
    >>> x.float_power(2)
    tensor([1., 4., 9.], dtype=opweave.float64)"""
    ...
def float_power_(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """The power in double precision. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    exponent : Tensor or number
        The exponents.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.float_power_(2)
    tensor([1., 4., 9.])"""
    ...
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is no larger, for each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.floor(x)
    tensor([-1.,  0.,  2.])
    >>> x.floor()
    tensor([-1.,  0.,  2.])"""
    ...
def floor_(input: Tensor) -> Tensor:
    """The largest whole number that is no larger, for each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.floor_()
    tensor([-1.,  0.,  2.])"""
    ...
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient, rounded down to a whole number.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([7, -7])
    >>> opweave.floor_divide(x, 2)
    tensor([ 3, -4])
    >>> x.floor_divide(2)
    tensor([ 3, -4])"""
    ...
def floor_divide_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The quotient, rounded down to a whole number. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([7, -7])
    >>> x.floor_divide_(2)
    tensor([ 3, -4])"""
    ...
def fmax(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger, or the one that is a number.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.fmax(x, y)
    tensor([2., 3., 2.])
    >>> x.fmax(y)
    tensor([2., 3., 2.])"""
    ...
def fmin(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller, or the one that is a number.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.fmin(x, y)
    tensor([-1.0000,  0.5000,  1.0000])
    >>> x.fmin(y)
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
def fmod(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """What is left of a division that is cut towards 0; it has the sign of the dividend.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([7, -7])
    >>> opweave.fmod(x, 3)
    tensor([ 1, -1])
    >>> x.fmod(3)
    tensor([ 1, -1])"""
    ...
def fmod_(input: Tensor, other: Tensor | Number) -> Tensor:
    """What is left of a division that is cut towards 0; it has the sign of the dividend. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([7, -7])
    >>> x.fmod_(3)
    tensor([ 1, -1])"""
    ...
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What is left of each element without its whole part; it has the element's sign.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.frac(x)
    tensor([0.0000, 0.5000, 0.0000])
    >>> x.frac()
    tensor([0.0000, 0.5000, 0.0000])"""
    ...
def frac_(input: Tensor) -> Tensor:
    """What is left of each element without its whole part; it has the element's sign. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.frac_()
    tensor([0.0000, 0.5000, 0.0000])"""
    ...
def frexp(input: Tensor, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.frexp:
    """(m, e) with x = m 2^e and m between 1/2 and 1 in size; zeros, infinities and NaN go with an exponent of 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.frexp
        A named tuple of tensors: mantissa, exponent.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.frexp(x)
    opweave.return_types.frexp(
    mantissa=tensor([0.5000, 0.5000, 0.7500]),
    exponent=tensor([1, 2, 2], dtype=opweave.int32))
    >>> x.frexp()
    opweave.return_types.frexp(
    mantissa=tensor([0.5000, 0.5000, 0.7500]),
    exponent=tensor([1, 2, 2], dtype=opweave.int32))"""
    ...
@overload
def frobenius_norm(input: Tensor, dim: Int | Sequence[Int], keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def frobenius_norm(input: Tensor, axis: Int | Sequence[Int], keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The root of the sum of squares over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.frobenius_norm(x, [0, 1])
    tensor(5.4772)
    >>> x.frobenius_norm([0, 1])
    tensor(5.4772)"""
    ...
def full(size: Sequence[Int], fill_value: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes with one number everywhere.

    Parameters
    ----------
    size : sequence of int
        The sizes.
    fill_value : number
        The number.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.full([2, 2], 7.0)
    tensor([[7., 7.],
            [7., 7.]])"""
    ...
def full_like(input: Tensor, fill_value: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor like another with one number everywhere.

    Parameters
    ----------
    input : Tensor
        The tensor.
    fill_value : number
        The number.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.full_like(x, 7)
    tensor([7., 7., 7.])
    >>> x.full_like(7)
    tensor([7., 7., 7.])"""
    ...
@overload
def gather(input: Tensor, dim: Int, index: Tensor, *, sparse_grad: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def gather(input: Tensor, axis: Int, index: Tensor, *, sparse_grad: Bool = False, out: Tensor | None = None) -> Tensor:
    """`out[i][j] = self[index[i][j]][j]` for dimension 0, and so on.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    sparse_grad : bool, default False
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0, 0], [1, 0]])
    >>> opweave.gather(x, 1, y)
    tensor([[1., 1.],
            [4., 3.]])
    >>> x.gather(1, y)
    tensor([[1., 1.],
            [4., 3.]])"""
    ...
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of whole numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([18, 21])
    >>> opweave.gcd(x, y)
    tensor([6, 7])
    >>> x.gcd(y)
    tensor([6, 7])"""
    ...
def gcd_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The greatest common divisor of whole numbers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([12, 7])
    >>> y = opweave.tensor([18, 21])
    >>> x.gcd_(y)
    tensor([6, 7])"""
    ...
def ge(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is no less than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.ge(x, 2)
    tensor([False,  True,  True])
    >>> x.ge(2)
    tensor([False,  True,  True])"""
    ...
def ge_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is no less than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.ge_(2)
    tensor([0., 1., 1.])"""
    ...
def gelu(input: Tensor, *, approximate: Literal['none', 'tanh'] = 'none', out: Tensor | None = None) -> Tensor:
    """Hendrycks & Gimpel 2016: x Φ(x); "tanh" is the paper's approximation of Φ.

    Parameters
    ----------
    input : Tensor
        The tensor.
    approximate : {'none', 'tanh'}, default 'none'
        Whether to use the paper's approximation by `tanh`.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.gelu(x)
    tensor([-0.1587,  0.3457,  1.9545])
    >>> x.gelu()
    tensor([-0.1587,  0.3457,  1.9545])"""
    ...
def gelu_(input: Tensor, *, approximate: Literal['none', 'tanh'] = 'none') -> Tensor:
    """Hendrycks & Gimpel 2016: x Φ(x); "tanh" is the paper's approximation of Φ. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    approximate : {'none', 'tanh'}, default 'none'
        Whether to use the paper's approximation by `tanh`.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.gelu_()
    tensor([-0.1587,  0.3457,  1.9545])"""
    ...
def geometric_(input: Tensor, p: Float, *, generator: Generator | None = None) -> Tensor:
    """How many draws it takes until one with probability p succeeds, in the shape of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The probability of success.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.geometric_(0.5).shape
    opweave.Size([3])"""
    ...
def geqrf(input: Tensor, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.geqrf:
    """LAPACK's QR: R above the diagonal, below it the vectors of the reflections whose factors are tau.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.geqrf
        A named tuple of tensors: a, tau.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.geqrf(x)]
    [opweave.Size([2, 2]), opweave.Size([2])]
    >>> [t.shape for t in x.geqrf()]
    [opweave.Size([2, 2]), opweave.Size([2])]"""
    ...
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of two vectors' elements.

    Parameters
    ----------
    input : Tensor
        The tensor.
    vec2 : Tensor
        Another vector.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([3.0, 4.0])
    >>> opweave.ger(x, y)
    tensor([[3., 4.],
            [6., 8.]])
    >>> x.ger(y)
    tensor([[3., 4.],
            [6., 8.]])"""
    ...
@overload
def gradient(input: Tensor, *, spacing: Any = 1, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> _tuple[Tensor, ...]: ...
@overload
def gradient(input: Tensor, *, spacing: Any = 1, axis: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> _tuple[Tensor, ...]:
    """The slope along dimensions, by central differences; at the edges from one side.

    Parameters
    ----------
    input : Tensor
        Values on a grid.
    spacing : number, or sequence of number or Tensor
        How far apart the points are: a number for all dimensions or one for each, or the coordinates along each.
    dim : int or sequence of int, optional
        By default all.
    edge_order : 1 or 2
        How exact the differences at the edges are.

    Returns
    -------
    tuple of Tensor
        One for each dimension.

    Examples
    --------
    >>> opweave.gradient(opweave.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)"""
    ...
def greater(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is larger than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.gt(x, 2)
    tensor([False, False,  True])
    >>> x.gt(2)
    tensor([False, False,  True])"""
    ...
def greater_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is larger than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.gt_(2)
    tensor([0., 0., 1.])"""
    ...
def greater_equal(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is no less than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.ge(x, 2)
    tensor([False,  True,  True])
    >>> x.ge(2)
    tensor([False,  True,  True])"""
    ...
def greater_equal_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is no less than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.ge_(2)
    tensor([0., 1., 1.])"""
    ...
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: Int, padding_mode: Int, align_corners: Bool) -> Tensor:
    """An image or a volume at the places of a grid, -1 and 1 being its borders.

    Parameters
    ----------
    input : Tensor
        The tensor.
    grid : Tensor
        Places (x, y) in the last dimension.
    interpolation_mode : int
        0 linear, 1 nearest, 2 cubic.
    padding_mode : int
        0 zeros, 1 border, 2 reflection.
    align_corners : bool
        Whether the corners of both images are at the same places.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
    >>> y = opweave.tensor([[[[0.0, 0.0]]]])
    >>> opweave.grid_sampler(x, y, 0, 0, False)
    tensor([[[[7.5000]]]])"""
    ...
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: Int, padding_mode: Int, align_corners: Bool, *, out: Tensor | None = None) -> Tensor:
    """The image at the places (x, y) of a grid, -1 and 1 being its borders.

    Parameters
    ----------
    input : Tensor
        The tensor.
    grid : Tensor
        Places (x, y) in the last dimension.
    interpolation_mode : int
        0 linear, 1 nearest, 2 cubic.
    padding_mode : int
        0 zeros, 1 border, 2 reflection.
    align_corners : bool
        Whether the corners of both images are at the same places.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
    >>> y = opweave.tensor([[[[0.0, 0.0]]]])
    >>> opweave.grid_sampler_2d(x, y, 0, 0, False)
    tensor([[[[7.5000]]]])"""
    ...
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: Int, padding_mode: Int, align_corners: Bool, *, out: Tensor | None = None) -> Tensor:
    """The volume at the places (x, y, z) of a grid, -1 and 1 being its borders.

    Parameters
    ----------
    input : Tensor
        The tensor.
    grid : Tensor
        Places (x, y) in the last dimension.
    interpolation_mode : int
        0 linear, 1 nearest, 2 cubic.
    padding_mode : int
        0 zeros, 1 border, 2 reflection.
    align_corners : bool
        Whether the corners of both images are at the same places.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
    >>> y = opweave.tensor([[[[[0.0, 0.0, 0.0]]]]])
    >>> opweave.grid_sampler_3d(x, y, 0, 0, False)
    tensor([[[[[3.5000]]]]])"""
    ...
def group_norm(input: Tensor, num_groups: Int, weight: Tensor | None = None, bias: Tensor | None = None, eps: Float = 1e-05, cudnn_enabled: Bool = True) -> Tensor:
    """Groups of channels brought to mean 0 and variance 1, then scaled channel by channel.

    Parameters
    ----------
    input : Tensor
        The tensor.
    num_groups : int
        How many groups.
    weight : Tensor, optional
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    eps : float, default 1e-05
        A small number that keeps divisors off 0.
    cudnn_enabled : bool, default True
        For the signature's sake.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 3.0, 2.0, 6.0]])
    >>> opweave.group_norm(x, 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])"""
    ...
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """The state after one step of a GRU.

    Parameters
    ----------
    input : Tensor
        The tensor.
    hx : Tensor
        The state before.
    w_ih : Tensor
        The weights of the input, those of one gate below each other.
    w_hh : Tensor
        The weights of the state.
    b_ih : Tensor, optional
        What is added to the product with the input.
    b_hh : Tensor, optional
        What is added to the product with the state.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0]])
    >>> h = opweave.zeros(1, 1)
    >>> w = opweave.ones(3, 2)
    >>> u = w[:, :1]
    >>> opweave.gru_cell(x, h, w, u)
    tensor([[0.0472]])"""
    ...
def gt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is larger than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.gt(x, 2)
    tensor([False, False,  True])
    >>> x.gt(2)
    tensor([False, False,  True])"""
    ...
def gt_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is larger than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.gt_(2)
    tensor([0., 0., 1.])"""
    ...
@overload
def hamming_window(window_length: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def hamming_window(window_length: Int, periodic: Bool, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def hamming_window(window_length: Int, periodic: Bool, alpha: Float, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def hamming_window(window_length: Int, periodic: Bool, alpha: Float, beta: Float, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A cosine window that does not reach 0 at its ends.

    Parameters
    ----------
    window_length : int
        How many points.
    periodic : bool, optional
        Whether the window is one of a periodic signal.
    alpha : float, optional
        A factor.
    beta : float, optional
        A factor of `input`.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])"""
    ...
@overload
def hann_window(window_length: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def hann_window(window_length: Int, periodic: Bool, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A cosine window that is 0 at its ends.

    Parameters
    ----------
    window_length : int
        How many points.
    periodic : bool, optional
        Whether the window is one of a periodic signal.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])"""
    ...
def hardshrink(input: Tensor, lambd: Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """0 from -lambd to lambd, x elsewhere.

    Parameters
    ----------
    input : Tensor
        The tensor.
    lambd : number, default 0.5
        The limit.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.hardshrink(x)
    tensor([-1.,  0.,  2.])
    >>> x.hardshrink()
    tensor([-1.,  0.,  2.])"""
    ...
def hardsigmoid_(input: Tensor) -> Tensor:
    """The sigmoid in three straight pieces (Courbariaux et al. 2015). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.hardsigmoid_()
    tensor([0.3333, 0.5833, 0.8333])"""
    ...
def hardswish_(input: Tensor) -> Tensor:
    """x hardsigmoid(x) (Howard et al. 2019). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.hardswish_()
    tensor([-0.3333,  0.2917,  1.6667])"""
    ...
def hardtanh_(input: Tensor, min_val: Number = -1, max_val: Number = 1) -> Tensor:
    """x limited to [min_val, max_val]; an integer's limits are integers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    min_val : number, default -1
        The lower bound.
    max_val : number, default 1
        The upper bound.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.hardtanh_()
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
@overload
def hash_tensor(input: Tensor, dim: Int | Sequence[Int] = ..., *, keepdim: Bool = False, mode: Int = 0, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def hash_tensor(input: Tensor, axis: Int | Sequence[Int] = ..., *, keepdim: Bool = False, mode: Int = 0, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The exclusive or of the 64 bits of elements, as float64 or int64, along dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, default ()
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    mode : int, default 0
        How it is done.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.hash_tensor(x)
    tensor(4609434218613702656, dtype=opweave.uint64)
    >>> x.hash_tensor()
    tensor(4609434218613702656, dtype=opweave.uint64)"""
    ...
def heaviside(input: Tensor | Number, values: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """0 below 0, 1 above, and the value given at 0; 0 for NaN.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    values : Tensor or number
        The values.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.0, 2.0])
    >>> y = opweave.tensor([0.5])
    >>> opweave.heaviside(x, y)
    tensor([0.0000, 0.5000, 1.0000])
    >>> x.heaviside(y)
    tensor([0.0000, 0.5000, 1.0000])"""
    ...
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, and the value given at 0; 0 for NaN. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    values : Tensor
        The values.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.0, 2.0])
    >>> y = opweave.tensor([0.5])
    >>> x.heaviside_(y)
    tensor([0.0000, 0.5000, 1.0000])"""
    ...
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: Float = 1.0, reduction: Int = 1) -> Tensor:
    """x where t is 1, max(0, margin - x) where it is -1, and the sum of both where it is neither.

    Parameters
    ----------
    input : Tensor
        The tensor.
    target : Tensor
        What it should be.
    margin : float, default 1.0
        The margin.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.5, 0.5])
    >>> y = opweave.tensor([1.0, -1.0])
    >>> opweave.hinge_embedding_loss(x, y)
    tensor(0.5000)
    >>> x.hinge_embedding_loss(y)
    tensor(0.5000)"""
    ...
def histc(input: Tensor, bins: Int = 100, min: Number = 0, max: Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements are in each of equal bins from min to max; of those found, where these are equal.

    Parameters
    ----------
    input : Tensor
        The tensor.
    bins : int, default 100
        How many bins, or their edges.
    min : number, default 0
        The lower bound.
    max : number, default 0
        The upper bound.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 2.0, 4.0])
    >>> opweave.histc(x, 3, 1, 4)
    tensor([1., 2., 1.])
    >>> x.histc(3, 1, 4)
    tensor([1., 2., 1.])"""
    ...
@overload
def histogram(input: Tensor, bins: Int = 100, *, range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.histogram: ...
@overload
def histogram(input: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.histogram:
    """How many elements, or what weight of them, lie between edges, and the edges.

    Parameters
    ----------
    input : Tensor
        The tensor.
    bins : int or Tensor, default 100
        How many bins, or their edges.
    range : sequence of float, optional
        The least and the largest edge.
    weight : Tensor, optional
        The weights.
    density : bool, default False
        Whether the sum over the bins is 1.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.histogram
        A named tuple of tensors: hist, bin_edges.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 2.0, 4.0])
    >>> opweave.histogram(x, 3)
    opweave.return_types.histogram(
    hist=tensor([1., 2., 1.]),
    bin_edges=tensor([1., 2., 3., 4.]))
    >>> x.histogram(3)
    opweave.return_types.histogram(
    hist=tensor([1., 2., 1.]),
    bin_edges=tensor([1., 2., 3., 4.]))"""
    ...
@overload
def histogramdd(input: Tensor, bins: Sequence[Int], range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogramdd: ...
@overload
def histogramdd(input: Tensor, bins: Int, range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogramdd: ...
@overload
def histogramdd(input: Tensor, bins: Sequence[Tensor], range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogramdd:
    """How many points, or what weight of them, lie in as many bins of each dimension, and the edges of bins.

    Parameters
    ----------
    input : Tensor
        The tensor.
    bins : sequence of int or int or sequence of Tensor
        How many bins, or their edges.
    range : sequence of float, optional
        The least and the largest edge.
    weight : Tensor, optional
        The weights.
    density : bool, default False
        Whether the sum over the bins is 1.

    Returns
    -------
    return_types.histogramdd
        A named tuple of tensors: hist, bin_edges.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]])
    >>> opweave.histogramdd(x, [2, 2])
    opweave.return_types.histogramdd(
    hist=tensor([[1., 0.],
            [0., 2.]]),
    bin_edges=(tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 2.])))
    >>> x.histogramdd([2, 2])
    opweave.return_types.histogramdd(
    hist=tensor([[1., 0.],
            [0., 2.]]),
    bin_edges=(tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 2.])))"""
    ...
@overload
def hsplit(input: Tensor, sections: Int) -> _tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, indices: Sequence[Int]) -> _tuple[Tensor, ...]:
    """Parts of the second dimension (of a vector, the first), as views.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : sequence of int, optional
        Which places, as whole numbers.
    sections : int, optional
        How many parts, or where to cut.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.hsplit(x, 2)
    (tensor([[1.],
            [3.]]), tensor([[2.],
            [4.]]))
    >>> x.hsplit(2)
    (tensor([[1.],
            [3.]]), tensor([[2.],
            [4.]]))"""
    ...
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the second dimension; vectors along the first.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.hstack([x, y])
    tensor([1., 2., 3., 4., 5., 6.])"""
    ...
def hypot(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """√(x² + y²), which overflows only where the result does.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([3.0])
    >>> y = opweave.tensor([4.0])
    >>> opweave.hypot(x, y)
    tensor([5.])
    >>> x.hypot(y)
    tensor([5.])"""
    ...
def hypot_(input: Tensor, other: Tensor | Number) -> Tensor:
    """√(x² + y²), which overflows only where the result does. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([3.0])
    >>> y = opweave.tensor([4.0])
    >>> x.hypot_(y)
    tensor([5.])"""
    ...
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.i0(x)
    tensor([1.2661, 1.0635, 2.2796])
    >>> x.i0()
    tensor([1.2661, 1.0635, 2.2796])"""
    ...
def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind and order 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.i0_()
    tensor([1.2661, 1.0635, 2.2796])"""
    ...
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> opweave.igamma(x, y)
    tensor([0.6321, 0.2642])
    >>> x.igamma(y)
    tensor([0.6321, 0.2642])"""
    ...
def igamma_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> x.igamma_(y)
    tensor([0.6321, 0.2642])"""
    ...
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> opweave.igammac(x, y)
    tensor([0.3679, 0.7358])
    >>> x.igammac(y)
    tensor([0.3679, 0.7358])"""
    ...
def igammac_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> x.igammac_(y)
    tensor([0.3679, 0.7358])"""
    ...
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of complex numbers, as a view.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> opweave.imag(x)
    tensor([2.])"""
    ...
@overload
def index_add(input: Tensor, dim: Int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def index_add(input: Tensor, axis: Int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """A copy with slices of the source, times alpha, added to those of these numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([10.0, 20.0])
    >>> opweave.index_add(x, 0, y, z)
    tensor([31.,  2.,  3.])
    >>> x.index_add(0, y, z)
    tensor([31.,  2.,  3.])"""
    ...
@overload
def index_add_(input: Tensor, dim: Int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor: ...
@overload
def index_add_(input: Tensor, axis: Int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """A copy with slices of the source, times alpha, added to those of these numbers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    alpha : number, default 1
        A factor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([10.0, 20.0])
    >>> x.index_add_(0, y, z)
    tensor([31.,  2.,  3.])"""
    ...
@overload
def index_copy(input: Tensor, dim: Int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def index_copy(input: Tensor, axis: Int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with slices of the source in the places of a dimension that `index` names.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([2, 0])
    >>> z = opweave.tensor([10.0, 20.0])
    >>> opweave.index_copy(x, 0, y, z)
    tensor([20.,  2., 10.])
    >>> x.index_copy(0, y, z)
    tensor([20.,  2., 10.])"""
    ...
@overload
def index_copy_(input: Tensor, dim: Int, index: Tensor, source: Tensor) -> Tensor: ...
@overload
def index_copy_(input: Tensor, axis: Int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices of the source in the places of a dimension that `index` names. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([2, 0])
    >>> z = opweave.tensor([10.0, 20.0])
    >>> x.index_copy_(0, y, z)
    tensor([20.,  2., 10.])"""
    ...
@overload
def index_fill(input: Tensor, dim: Int, index: Tensor, value: Number) -> Tensor: ...
@overload
def index_fill(input: Tensor, axis: Int, index: Tensor, value: Number) -> Tensor: ...
@overload
def index_fill(input: Tensor, dim: Int, index: Tensor, value: Tensor) -> Tensor: ...
@overload
def index_fill(input: Tensor, axis: Int, index: Tensor, value: Tensor) -> Tensor:
    """A copy with a number in the slices of these numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    value : number or Tensor
        The number.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 2])
    >>> opweave.index_fill(x, 0, y, 9)
    tensor([9., 2., 9.])
    >>> x.index_fill(0, y, 9)
    tensor([9., 2., 9.])"""
    ...
@overload
def index_fill_(input: Tensor, dim: Int, index: Tensor, value: Number) -> Tensor: ...
@overload
def index_fill_(input: Tensor, axis: Int, index: Tensor, value: Number) -> Tensor: ...
@overload
def index_fill_(input: Tensor, dim: Int, index: Tensor, value: Tensor) -> Tensor: ...
@overload
def index_fill_(input: Tensor, axis: Int, index: Tensor, value: Tensor) -> Tensor:
    """A copy with a number in the slices of these numbers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    value : number or Tensor
        The number.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 2])
    >>> x.index_fill_(0, y, 9)
    tensor([9., 2., 9.])"""
    ...
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """A copy with values at index tensors; with `accumulate` they are added to what is there.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : sequence of Tensor
        Which places, as whole numbers.
    values : Tensor
        The values.
    accumulate : bool, default False
        Whether values are added to what is there.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 2])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> opweave.index_put(x, [y], z)
    tensor([8., 2., 9.])
    >>> x.index_put([y], z)
    tensor([8., 2., 9.])"""
    ...
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: Bool = False) -> Tensor:
    """A copy with values at index tensors; with `accumulate` they are added to what is there. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : sequence of Tensor
        Which places, as whole numbers.
    values : Tensor
        The values.
    accumulate : bool, default False
        Whether values are added to what is there.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 2])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> x.index_put_([y], z)
    tensor([8., 2., 9.])"""
    ...
@overload
def index_reduce(input: Tensor, dim: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True, out: Tensor | None = None) -> Tensor: ...
@overload
def index_reduce(input: Tensor, axis: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True, out: Tensor | None = None) -> Tensor:
    """A copy with the products, means or extremes of slices of the source that have one number.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    reduce : {'prod', 'mean', 'amax', 'amin'}
        How elements for one place are combined.
    include_self : bool, default True
        Whether what is there counts, too.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([10.0, 20.0])
    >>> opweave.index_reduce(x, 0, y, z, 'amax')
    tensor([20.,  2.,  3.])
    >>> x.index_reduce(0, y, z, 'amax')
    tensor([20.,  2.,  3.])"""
    ...
@overload
def index_reduce_(input: Tensor, dim: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor: ...
@overload
def index_reduce_(input: Tensor, axis: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor:
    """A copy with the products, means or extremes of slices of the source that have one number. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    reduce : {'prod', 'mean', 'amax', 'amin'}
        How elements for one place are combined.
    include_self : bool, default True
        Whether what is there counts, too.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([10.0, 20.0])
    >>> x.index_reduce_(0, y, z, 'amax')
    tensor([20.,  2.,  3.])"""
    ...
@overload
def index_select(input: Tensor, dim: Int, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def index_select(input: Tensor, axis: Int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of a dimension that a vector of indices names.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1, 1, 0])
    >>> opweave.index_select(x, 0, y)
    tensor([[3., 4.],
            [3., 4.],
            [1., 2.]])
    >>> x.index_select(0, y)
    tensor([[3., 4.],
            [3., 4.],
            [1., 2.]])"""
    ...
def inner(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The sums of products over the last dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.inner(x, y)
    tensor(32.)
    >>> x.inner(y)
    tensor(32.)"""
    ...
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `linalg.inv`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.inverse(x)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    >>> x.inverse()
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])"""
    ...
def is_complex(input: Tensor) -> _bool:
    """Whether elements are complex numbers.

    Examples
    --------
    >>> opweave.is_complex(opweave.tensor([1j]))
    True"""
    ...
def is_conj(input: Tensor) -> _bool:
    """Whether the elements in memory are the conjugates: never, here.

    Examples
    --------
    >>> opweave.is_conj(opweave.tensor([1j]).conj())
    False"""
    ...
def is_floating_point(input: Tensor) -> _bool:
    """Whether elements are real floating numbers.

    Examples
    --------
    >>> opweave.is_floating_point(opweave.tensor([1.0]))
    True"""
    ...
def is_neg(input: Tensor) -> _bool:
    """Whether the elements in memory have the other sign: never, here.

    Examples
    --------
    >>> opweave.is_neg(opweave.tensor([1.0]))
    False"""
    ...
def is_nonzero(input: Tensor) -> _bool:
    """Whether the single element is other than 0.

    Examples
    --------
    >>> opweave.is_nonzero(opweave.tensor([2.0]))
    True"""
    ...
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same sizes.

    Examples
    --------
    >>> opweave.is_same_size(opweave.zeros(2, 3), opweave.zeros(3, 2))
    False"""
    ...
def is_signed(input: Tensor) -> _bool:
    """Whether elements may be negative.

    Examples
    --------
    >>> opweave.is_signed(opweave.tensor([1], dtype=opweave.uint8))
    False"""
    ...
def is_tensor(value: Any) -> _bool:
    """Whether the value is a Tensor.

    Examples
    --------
    >>> opweave.is_tensor(3)
    False"""
    ...
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`, or both are equal.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Examples
    --------
    >>> opweave.isclose(opweave.tensor([1.0, 2.0]), opweave.tensor([1.0, 2.1]))
    tensor([ True, False])"""
    ...
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is a finite number.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
    >>> opweave.isfinite(x)
    tensor([ True, False, False])
    >>> x.isfinite()
    tensor([ True, False, False])"""
    ...
@overload
def isin(elements: Tensor, test_element: Number, *, assume_unique: Bool = False, invert: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: Bool = False, invert: Bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is among others.

    Parameters
    ----------
    elements : Tensor
        What is looked for.
    test_elements : Tensor, optional
        The others.
    test_element : number, optional
        The others.
    assume_unique : bool, default False
        For the signature's sake.
    invert : bool, default False
        Whether to say the opposite.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1, 2, 3])
    >>> y = opweave.tensor([2, 5])
    >>> opweave.isin(x, y)
    tensor([False,  True, False])"""
    ...
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is infinite.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
    >>> opweave.isinf(x)
    tensor([False,  True, False])
    >>> x.isinf()
    tensor([False,  True, False])"""
    ...
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is NaN.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
    >>> opweave.isnan(x)
    tensor([False, False,  True])
    >>> x.isnan()
    tensor([False, False,  True])"""
    ...
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is -inf.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("-inf"), float("nan")])
    >>> opweave.isneginf(x)
    tensor([False,  True, False])
    >>> x.isneginf()
    tensor([False,  True, False])"""
    ...
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is +inf.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
    >>> opweave.isposinf(x)
    tensor([False,  True, False])
    >>> x.isposinf()
    tensor([False,  True, False])"""
    ...
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1 + 0j, 1j])
    >>> opweave.isreal(x)
    tensor([ True, False])
    >>> x.isreal()
    tensor([ True, False])"""
    ...
def istft(input: Tensor, n_fft: Int, hop_length: Int | None = None, win_length: Int | None = None, window: Tensor | None = None, center: Bool = True, normalized: Bool = False, onesided: Bool | None = None, length: Int | None = None, return_complex: Bool = False) -> Tensor:
    """The signal of which `stft` gives these transforms: the least squares (Griffin and Lim 1984).

    Parameters
    ----------
    input : Tensor
        The tensor.
    n_fft : int
        The size of the transforms.
    hop_length : int, optional
        How far apart the windows are.
    win_length : int, optional
        The size of the windows.
    window : Tensor, optional
        The window.
    center : bool, default True
        Whether the windows are centred, so that the signal is continued at its ends.
    normalized : bool, default False
        Whether to divide by the root of the size.
    onesided : bool, optional
        Whether to give only what the rest follows from.
    length : int, optional
        How many places.
    return_complex : bool, default False
        Whether to give complex numbers.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> w = opweave.ones(8)
    >>> x = opweave.stft(opweave.ones(16), 8, window=w, return_complex=True)
    >>> opweave.istft(x, 8, window=w).shape
    opweave.Size([16])
    >>> x.istft(8, window=w).shape
    opweave.Size([16])"""
    ...
@overload
def kaiser_window(window_length: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def kaiser_window(window_length: Int, periodic: Bool, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def kaiser_window(window_length: Int, periodic: Bool, beta: Float, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A window by Bessel functions, which `beta` makes narrower.

    Parameters
    ----------
    window_length : int
        How many points.
    periodic : bool, optional
        Whether the window is one of a periodic signal.
    beta : float, optional
        How narrow the window is.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.kaiser_window(4)
    tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01])"""
    ...
def kl_div(input: Tensor, target: Tensor, reduction: Int = 1, *, log_target: Bool = False) -> Tensor:
    """t (log(t) - x), of log-probabilities x; of t = 0 it is 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    target : Tensor
        What it should be.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.
    log_target : bool, default False
        Whether the target is the logarithm.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.5, 0.5]).log()
    >>> y = opweave.tensor([0.25, 0.75])
    >>> opweave.kl_div(x, y)
    tensor(0.0654)
    >>> x.kl_div(y)
    tensor(0.0654)"""
    ...
def kron(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """A block for each element of the first: its product with the second.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 10.0])
    >>> y = opweave.tensor([1.0, 2.0])
    >>> opweave.kron(x, y)
    tensor([ 1.,  2., 10., 20.])
    >>> x.kron(y)
    tensor([ 1.,  2., 10., 20.])"""
    ...
@overload
def kthvalue(input: Tensor, k: Int, dim: Int = -1, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.kthvalue: ...
@overload
def kthvalue(input: Tensor, k: Int, axis: Int = -1, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.kthvalue:
    """The k-th smallest element along a dimension, counted from 1, and where it was: of equals, in their order.

    Parameters
    ----------
    input : Tensor
        The tensor.
    k : int
        How many, or which.
    dim : int, default -1
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.kthvalue
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.kthvalue(x, 2)
    opweave.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(2))
    >>> x.kthvalue(2)
    opweave.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(2))"""
    ...
def layer_norm(input: Tensor, normalized_shape: Sequence[Int], weight: Tensor | None = None, bias: Tensor | None = None, eps: Float = 1e-05, cudnn_enable: Bool = True) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted.

    Parameters
    ----------
    input : Tensor
        The tensor.
    normalized_shape : sequence of int
        The sizes of the last dimensions.
    weight : Tensor, optional
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    eps : float, default 1e-05
        A small number that keeps divisors off 0.
    cudnn_enable : bool, default True
        For the signature's sake.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 3.0], [2.0, 6.0]])
    >>> opweave.layer_norm(x, [2])
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])"""
    ...
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of whole numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([4, 6])
    >>> y = opweave.tensor([6, 8])
    >>> opweave.lcm(x, y)
    tensor([12, 24])
    >>> x.lcm(y)
    tensor([12, 24])"""
    ...
def lcm_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The least common multiple of whole numbers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([4, 6])
    >>> y = opweave.tensor([6, 8])
    >>> x.lcm_(y)
    tensor([12, 24])"""
    ...
def ldexp(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """x 2^y; of a whole y rounded once, and no larger a type than that of x, whatever 2^y is by itself.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 3.0])
    >>> y = opweave.tensor([2, 3])
    >>> opweave.ldexp(x, y)
    tensor([ 4., 24.])
    >>> x.ldexp(y)
    tensor([ 4., 24.])"""
    ...
def ldexp_(input: Tensor, other: Tensor | Number) -> Tensor:
    """x 2^y; of a whole y rounded once, and no larger a type than that of x, whatever 2^y is by itself. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 3.0])
    >>> y = opweave.tensor([2, 3])
    >>> x.ldexp_(y)
    tensor([ 4., 24.])"""
    ...
def le(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is no larger than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.le(x, 2)
    tensor([ True,  True, False])
    >>> x.le(2)
    tensor([ True,  True, False])"""
    ...
def le_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is no larger than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.le_(2)
    tensor([1., 1., 0.])"""
    ...
def leaky_relu_(input: Tensor, negative_slope: Number = 0.01) -> Tensor:
    """x where positive, negative_slope times x elsewhere. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    negative_slope : number, default 0.01
        The slope where x is negative.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.leaky_relu_()
    tensor([-0.0100,  0.5000,  2.0000])"""
    ...
def lerp(input: Tensor | Number, end: Tensor | Number, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The point between `input` and `end` that `weight` says: 0 is the first, 1 the second.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    end : Tensor or number
        The other end.
    weight : Tensor or number
        How far from `input` to `end`.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.lerp(x, y, 0.5)
    tensor([2.5000, 3.5000, 4.5000])
    >>> x.lerp(y, 0.5)
    tensor([2.5000, 3.5000, 4.5000])"""
    ...
@overload
def lerp_(input: Tensor, end: Tensor, weight: Tensor) -> Tensor: ...
@overload
def lerp_(input: Tensor, end: Tensor, weight: Number) -> Tensor:
    """The point between `input` and `end` that `weight` says: 0 is the first, 1 the second. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    end : Tensor
        The other end.
    weight : Tensor or number
        How far from `input` to `end`.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.lerp_(y, 0.5)
    tensor([2.5000, 3.5000, 4.5000])"""
    ...
def less(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is less than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.lt(x, 2)
    tensor([ True, False, False])
    >>> x.lt(2)
    tensor([ True, False, False])"""
    ...
def less_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is less than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.lt_(2)
    tensor([1., 0., 0.])"""
    ...
def less_equal(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is no larger than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.le(x, 2)
    tensor([ True,  True, False])
    >>> x.le(2)
    tensor([ True,  True, False])"""
    ...
def less_equal_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is no larger than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.le_(2)
    tensor([1., 1., 0.])"""
    ...
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log |Γ(x)|, by Stirling's series, near 1 and 2 by a polynomial; of numbers below 1/2 by reflection.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.lgamma(x)
    tensor([1.2880, 0.5724, 0.0000])
    >>> x.lgamma()
    tensor([1.2880, 0.5724, 0.0000])"""
    ...
def lgamma_(input: Tensor) -> Tensor:
    """log |Γ(x)|, by Stirling's series, near 1 and 2 by a polynomial; of numbers below 1/2 by reflection. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.lgamma_()
    tensor([1.2880, 0.5724, 0.0000])"""
    ...
def lift_fresh_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of data that came from Python while tracing: each run of the trace starts from its own.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.lift_fresh_copy(x)
    tensor([1., 2., 3.])
    >>> x.lift_fresh_copy()
    tensor([1., 2., 3.])"""
    ...
def linspace(start: Number, end: Number, steps: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Evenly spaced numbers; integers between bounds that are cut to integers first.

    Parameters
    ----------
    start : number
        Where it begins.
    end : number
        Where it ends.
    steps : int
        How many.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])"""
    ...
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of each element; NaN for negative numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.log(x)
    tensor([-1.3863, -0.6931,  0.0000])
    >>> x.log()
    tensor([-1.3863, -0.6931,  0.0000])"""
    ...
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10 of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.log10(x)
    tensor([-0.6021, -0.3010,  0.0000])
    >>> x.log10()
    tensor([-0.6021, -0.3010,  0.0000])"""
    ...
def log10_(input: Tensor) -> Tensor:
    """The logarithm to base 10 of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.log10_()
    tensor([-0.6021, -0.3010,  0.0000])"""
    ...
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), of which nothing is lost where x is small.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.log1p(x)
    tensor([0.2231, 0.4055, 0.6931])
    >>> x.log1p()
    tensor([0.2231, 0.4055, 0.6931])"""
    ...
def log1p_(input: Tensor) -> Tensor:
    """log(1 + x), of which nothing is lost where x is small. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.log1p_()
    tensor([0.2231, 0.4055, 0.6931])"""
    ...
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2 of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.log2(x)
    tensor([-2., -1.,  0.])
    >>> x.log2()
    tensor([-2., -1.,  0.])"""
    ...
def log2_(input: Tensor) -> Tensor:
    """The logarithm to base 2 of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.log2_()
    tensor([-2., -1.,  0.])"""
    ...
def log_(input: Tensor) -> Tensor:
    """The natural logarithm of each element; NaN for negative numbers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.log_()
    tensor([-1.3863, -0.6931,  0.0000])"""
    ...
def log_normal_(input: Tensor, mean: Float = 1.0, std: Float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Numbers whose logarithm is normal, in the shape of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mean : float, default 1.0
        The means.
    std : float, default 2.0
        The standard deviations.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.log_normal_().shape
    opweave.Size([3])"""
    ...
@overload
def log_softmax(input: Tensor, dim: Int, dtype: DTypeLike | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def log_softmax(input: Tensor, axis: Int, dtype: DTypeLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax` along a dimension, without overflow.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.log_softmax(x, 0)
    tensor([-2.4076, -1.4076, -0.4076])
    >>> x.log_softmax(0)
    tensor([-2.4076, -1.4076, -0.4076])"""
    ...
def logaddexp(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """log(exp(x) + exp(y)), without overflow.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.logaddexp(x, y)
    tensor([2.0486, 3.0789, 2.3133])
    >>> x.logaddexp(y)
    tensor([2.0486, 3.0789, 2.3133])"""
    ...
def logaddexp2(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """log2(2^x + 2^y).

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.logaddexp2(x, y)
    tensor([2.1699, 3.2348, 2.5850])
    >>> x.logaddexp2(y)
    tensor([2.1699, 3.2348, 2.5850])"""
    ...
@overload
def logcumsumexp(input: Tensor, dim: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def logcumsumexp(input: Tensor, axis: Int, *, out: Tensor | None = None) -> Tensor:
    """log(cumsum(exp(x))), without overflow.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.logcumsumexp(x, 0)
    tensor([1.0000, 2.3133, 3.4076])
    >>> x.logcumsumexp(0)
    tensor([1.0000, 2.3133, 3.4076])"""
    ...
def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants; NaN where one is negative.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.logdet(x)
    tensor(2.0794)
    >>> x.logdet()
    tensor(2.0794)"""
    ...
def logical_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are other than 0.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> y = opweave.tensor([1, 1])
    >>> opweave.logical_and(x, y)
    tensor([False,  True])
    >>> x.logical_and(y)
    tensor([False,  True])"""
    ...
def logical_and_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether both elements are other than 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> y = opweave.tensor([1, 1])
    >>> x.logical_and_(y)
    tensor([0, 1])"""
    ...
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> opweave.logical_not(x)
    tensor([ True, False])
    >>> x.logical_not()
    tensor([ True, False])"""
    ...
def logical_not_(input: Tensor) -> Tensor:
    """Whether each element is 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> x.logical_not_()
    tensor([1, 0])"""
    ...
def logical_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether either element is other than 0.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> y = opweave.tensor([0, 0])
    >>> opweave.logical_or(x, y)
    tensor([False,  True])
    >>> x.logical_or(y)
    tensor([False,  True])"""
    ...
def logical_or_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether either element is other than 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> y = opweave.tensor([0, 0])
    >>> x.logical_or_(y)
    tensor([0, 1])"""
    ...
def logical_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether one of both elements is other than 0.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> y = opweave.tensor([1, 1])
    >>> opweave.logical_xor(x, y)
    tensor([ True, False])
    >>> x.logical_xor(y)
    tensor([ True, False])"""
    ...
def logical_xor_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether one of both elements is other than 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0, 1])
    >>> y = opweave.tensor([1, 1])
    >>> x.logical_xor_(y)
    tensor([1, 0])"""
    ...
def logit(input: Tensor, eps: Float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first.

    Parameters
    ----------
    input : Tensor
        The tensor.
    eps : float, optional
        How far from 0 and 1 the elements are kept.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 0.75])
    >>> opweave.logit(x)
    tensor([-1.0986,  0.0000,  1.0986])
    >>> x.logit()
    tensor([-1.0986,  0.0000,  1.0986])"""
    ...
def logit_(input: Tensor, eps: Float | None = None) -> Tensor:
    """log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    eps : float, optional
        How far from 0 and 1 the elements are kept.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 0.75])
    >>> x.logit_()
    tensor([-1.0986,  0.0000,  1.0986])"""
    ...
def logspace(start: Number, end: Number, steps: Int, base: Float = 10.0, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Base to the powers from `start` to `end`, evenly spaced.

    Parameters
    ----------
    start : number
        Where it begins.
    end : number
        Where it ends.
    steps : int
        How many.
    base : float, default 10.0
        Whose powers they are.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])"""
    ...
@overload
def logsumexp(input: Tensor, dim: Int | Sequence[Int], keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def logsumexp(input: Tensor, axis: Int | Sequence[Int], keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """log(Σ exp(x)) over dimensions, without overflow.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.logsumexp(x, 0)
    tensor(3.4076)
    >>> x.logsumexp(0)
    tensor(3.4076)"""
    ...
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> _tuple[Tensor, Tensor]:
    """The state after one step of an LSTM: what it shows, and its cell.

    Parameters
    ----------
    input : Tensor
        The tensor.
    hx : sequence of Tensor
        The state before.
    w_ih : Tensor
        The weights of the input, those of one gate below each other.
    w_hh : Tensor
        The weights of the state.
    b_ih : Tensor, optional
        What is added to the product with the input.
    b_hh : Tensor, optional
        What is added to the product with the state.

    Returns
    -------
    tuple[Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0]])
    >>> h = opweave.zeros(1, 1)
    >>> w = opweave.ones(4, 2)
    >>> u = w[:, :1]
    >>> opweave.lstm_cell(x, [h, h], w, u)
    (tensor([[0.7038]]), tensor([[0.9479]]))"""
    ...
def lt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is less than the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.lt(x, 2)
    tensor([ True, False, False])
    >>> x.lt(2)
    tensor([ True, False, False])"""
    ...
def lt_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is less than the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.lt_(2)
    tensor([1., 0., 0.])"""
    ...
@overload
def lu(A: Tensor, pivot: _bool = True, get_infos: Literal[False] = False, out: _tuple[Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor]: ...
@overload
def lu(A: Tensor, pivot: _bool = True, *, get_infos: Literal[True], out: _tuple[Tensor, Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor, Tensor]: ...
@overload
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> _tuple[Tensor, ...]:
    """The factorization of A as `linalg.lu_factor` gives it, with the infos if they are asked for.

    Parameters
    ----------
    A : Tensor
        (..., m, n)
    pivot : bool
        Whether to swap rows.
    get_infos : bool
        Whether to give the infos, too.
    out : sequence of Tensor, optional
        Where to write the results.

    Examples
    --------
    >>> [t.shape for t in opweave.lu(opweave.eye(3))]
    [opweave.Size([3, 3]), opweave.Size([3])]"""
    ...
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `linalg.lu_solve`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    LU_data : Tensor
        The factorization, as `linalg.lu_factor` gives it.
    LU_pivots : Tensor
        The rows that were swapped.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[3.0], [2.0]])
    >>> y = opweave.tensor([[3.0, 4.0], [0.5, 2.0]])
    >>> z = opweave.tensor([1, 2], dtype=opweave.int32)
    >>> opweave.lu_solve(x, y, z)
    tensor([[0.6667],
            [0.2500]])
    >>> x.lu_solve(y, z)
    tensor([[0.6667],
            [0.2500]])"""
    ...
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: Bool = True, unpack_pivots: Bool = True, *, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> return_types.lu_unpack:
    """P, L and U of a factorization as `linalg_lu_factor` gives it.

    Parameters
    ----------
    LU_data : Tensor
        The factorization, as `linalg.lu_factor` gives it.
    LU_pivots : Tensor
        The rows that were swapped.
    unpack_data : bool, default True
        Whether to give L and U.
    unpack_pivots : bool, default True
        Whether to give P.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.lu_unpack
        A named tuple of tensors: P, L, U.

    Examples
    --------
    >>> x = opweave.tensor([[3.0, 4.0], [0.5, 2.0]])
    >>> y = opweave.tensor([1, 2], dtype=opweave.int32)
    >>> [t.shape for t in opweave.lu_unpack(x, y)]
    [opweave.Size([2, 2]), opweave.Size([2, 2]), opweave.Size([2, 2])]"""
    ...
def manual_seed(seed: _int) -> Generator:
    """Seed the calling thread's generators of all devices.

    Returns
    -------
    Generator
    Examples
    --------
    >>> _ = opweave.manual_seed(3)
    >>> first = opweave.rand(2)
    >>> _ = opweave.manual_seed(3)
    >>> opweave.equal(first, opweave.rand(2))
    True"""
    ...
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: Float = 0.0, reduction: Int = 1) -> Tensor:
    """max(0, -t (x1 - x2) + margin).

    Parameters
    ----------
    input1 : Tensor
        The first tensor.
    input2 : Tensor
        The second tensor.
    target : Tensor
        What it should be.
    margin : float, default 0.0
        The margin.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0])
    >>> y = opweave.tensor([2.0])
    >>> z = opweave.tensor([1.0])
    >>> opweave.margin_ranking_loss(x, y, z)
    tensor(1.)"""
    ...
@overload
def masked_fill(input: Tensor | Number, mask: Tensor | Number, value: Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def masked_fill(input: Tensor, mask: Tensor, value: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with a number where a mask is true.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    mask : Tensor or number
        Truth values, which broadcast.
    value : number or Tensor
        The number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([True, False, True])
    >>> opweave.masked_fill(x, y, 0)
    tensor([0., 2., 0.])
    >>> x.masked_fill(y, 0)
    tensor([0., 2., 0.])"""
    ...
@overload
def masked_fill_(input: Tensor, mask: Tensor, value: Number) -> Tensor: ...
@overload
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """A copy with a number where a mask is true. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mask : Tensor
        Truth values, which broadcast.
    value : number or Tensor
        The number.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([True, False, True])
    >>> x.masked_fill_(y, 0)
    tensor([0., 2., 0.])"""
    ...
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy in which the places where a mask is true hold the first elements of the source, in order.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mask : Tensor
        Truth values, which broadcast.
    source : Tensor
        What is written.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([True, False, True])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> opweave.masked_scatter(x, y, z)
    tensor([8., 2., 9.])
    >>> x.masked_scatter(y, z)
    tensor([8., 2., 9.])"""
    ...
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the places where a mask is true hold the first elements of the source, in order. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mask : Tensor
        Truth values, which broadcast.
    source : Tensor
        What is written.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([True, False, True])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> x.masked_scatter_(y, z)
    tensor([8., 2., 9.])"""
    ...
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask is true, as a vector.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mask : Tensor
        Truth values, which broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([True, False, True])
    >>> opweave.masked_select(x, y)
    tensor([1., 3.])
    >>> x.masked_select(y)
    tensor([1., 3.])"""
    ...
def matmul(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Matrix product: 1-d operands are row and column vectors, leading dimensions are batches that broadcast.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> opweave.matmul(x, y)
    tensor([[2., 1.],
            [4., 3.]])
    >>> x.matmul(y)
    tensor([[2., 1.],
            [4., 3.]])"""
    ...
def matrix_exp(input: Tensor) -> Tensor:
    """As `linalg.matrix_exp`.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 1.0], [0.0, 0.0]])
    >>> opweave.matrix_exp(x)
    tensor([[1., 1.],
            [0., 1.]])
    >>> x.matrix_exp()
    tensor([[1., 1.],
            [0., 1.]])"""
    ...
def matrix_power(input: Tensor, n: Int, *, out: Tensor | None = None) -> Tensor:
    """As `linalg.matrix_power`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    n : int
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.matrix_power(x, 2)
    tensor([[ 7., 10.],
            [15., 22.]])
    >>> x.matrix_power(2)
    tensor([[ 7., 10.],
            [15., 22.]])"""
    ...
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, dim: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.max: ...
@overload
def max(input: Tensor, axis: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The largest element; along a dimension, with its place; of two tensors, as `maximum`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number, optional
        The other tensor; shapes broadcast.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor or tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.
    return_types.max
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.max(x, 1)
    opweave.return_types.max(
    values=tensor([3., 6.]),
    indices=tensor([2, 2]))
    >>> x.max(1)
    opweave.return_types.max(
    values=tensor([3., 6.]),
    indices=tensor([2, 2]))"""
    ...
def max_pool2d(input: Tensor, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, dilation: Int | Sequence[Int] = 1, ceil_mode: Bool = False) -> Tensor:
    """The largest element of each window of an image.

    Parameters
    ----------
    input : Tensor
        The tensor.
    kernel_size : int or sequence of int
        The size of a window.
    stride : int or sequence of int, default ()
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int, default 0
        How many elements are added at each side.
    dilation : int or sequence of int, default 1
        How far apart the elements of a window are.
    ceil_mode : bool, default False
        Whether a last window may stick out.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
    >>> opweave.max_pool2d(x, 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    >>> x.max_pool2d(2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])"""
    ...
def max_pool3d(input: Tensor, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, dilation: Int | Sequence[Int] = 1, ceil_mode: Bool = False) -> Tensor:
    """The largest element of each window of a volume.

    Parameters
    ----------
    input : Tensor
        The tensor.
    kernel_size : int or sequence of int
        The size of a window.
    stride : int or sequence of int, default ()
        How far apart windows are; as large as they are by default.
    padding : int or sequence of int, default 0
        How many elements are added at each side.
    dilation : int or sequence of int, default 1
        How far apart the elements of a window are.
    ceil_mode : bool, default False
        Whether a last window may stick out.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
    >>> opweave.max_pool3d(x, 2)
    tensor([[[[[7.]]]]])
    >>> x.max_pool3d(2)
    tensor([[[[[7.]]]]])"""
    ...
def maximum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; NaN where either is.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.maximum(x, y)
    tensor([2., 3., 2.])
    >>> x.maximum(y)
    tensor([2., 3., 2.])"""
    ...
@overload
def mean(input: Tensor, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def mean(input: Tensor, dim: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def mean(input: Tensor, axis: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The mean of all elements, or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.mean(x, 1)
    tensor([2., 5.])
    >>> x.mean(1)
    tensor([2., 5.])"""
    ...
@overload
def median(input: Tensor, dim: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.median: ...
@overload
def median(input: Tensor, axis: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.median: ...
@overload
def median(input: Tensor) -> Tensor:
    """The middle element in order, of an even number the lower; along a dimension, with its place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.median
        A named tuple of tensors: values, indices.
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.median(x, 0)
    opweave.return_types.median(
    values=tensor(2.),
    indices=tensor(2))
    >>> x.median(0)
    opweave.return_types.median(
    values=tensor(2.),
    indices=tensor(2))"""
    ...
@overload
def meshgrid(tensors: Sequence[Tensor], /, *, indexing: Literal['ij', 'xy'] = 'ij') -> _tuple[Tensor, ...]: ...
@overload
def meshgrid(*tensors: Tensor, indexing: Literal['ij', 'xy'] = 'ij') -> _tuple[Tensor, ...]:
    """Views of each vector over the grid of all; `"xy"` swaps the first two dimensions.

    Examples
    --------
    >>> opweave.meshgrid(opweave.tensor([1, 2]), opweave.tensor([3, 4]))
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))"""
    ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, dim: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.min: ...
@overload
def min(input: Tensor, axis: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The least element; along a dimension, with its place; of two tensors, as `minimum`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number, optional
        The other tensor; shapes broadcast.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor or tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.
    return_types.min
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.min(x, 1)
    opweave.return_types.min(
    values=tensor([1., 4.]),
    indices=tensor([0, 0]))
    >>> x.min(1)
    opweave.return_types.min(
    values=tensor([1., 4.]),
    indices=tensor([0, 0]))"""
    ...
def minimum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; NaN where either is.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.minimum(x, y)
    tensor([-1.0000,  0.5000,  1.0000])
    >>> x.minimum(y)
    tensor([-1.0000,  0.5000,  1.0000])"""
    ...
def mish_(input: Tensor) -> Tensor:
    """x tanh(log(1 + exp(x))) (Misra 2019). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.mish_()
    tensor([-0.3034,  0.3752,  1.9440])"""
    ...
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mat2 : Tensor
        The second matrix.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> opweave.mm(x, y)
    tensor([[2., 1.],
            [4., 3.]])
    >>> x.mm(y)
    tensor([[2., 1.],
            [4., 3.]])"""
    ...
@overload
def mode(input: Tensor, dim: Int = -1, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.mode: ...
@overload
def mode(input: Tensor, axis: Int = -1, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.mode:
    """The most frequent element, of several the least, and the place of its last.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default -1
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.mode
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([1, 2, 2, 3])
    >>> opweave.mode(x)
    opweave.return_types.mode(
    values=tensor(2),
    indices=tensor(2))
    >>> x.mode()
    opweave.return_types.mode(
    values=tensor(2),
    indices=tensor(2))"""
    ...
@overload
def moveaxis(input: Tensor, source: Sequence[Int], destination: Sequence[Int]) -> Tensor: ...
@overload
def moveaxis(input: Tensor, source: Int, destination: Int) -> Tensor:
    """A view with dimensions at other places, the others in their order.

    Parameters
    ----------
    input : Tensor
        The tensor.
    source : sequence of int or int
        The dimensions that move.
    destination : sequence of int or int
        Where these dimensions stand in the result.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.ones(2, 2, 3)
    >>> opweave.movedim(x, 0, 2).shape
    opweave.Size([2, 3, 2])
    >>> x.movedim(0, 2).shape
    opweave.Size([2, 3, 2])"""
    ...
@overload
def movedim(input: Tensor, source: Sequence[Int], destination: Sequence[Int]) -> Tensor: ...
@overload
def movedim(input: Tensor, source: Int, destination: Int) -> Tensor:
    """A view with dimensions at other places, the others in their order.

    Parameters
    ----------
    input : Tensor
        The tensor.
    source : sequence of int or int
        The dimensions that move.
    destination : sequence of int or int
        Where these dimensions stand in the result.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.ones(2, 2, 3)
    >>> opweave.movedim(x, 0, 2).shape
    opweave.Size([2, 3, 2])
    >>> x.movedim(0, 2).shape
    opweave.Size([2, 3, 2])"""
    ...
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.msort(x)
    tensor([1., 2., 3.])
    >>> x.msort()
    tensor([1., 2., 3.])"""
    ...
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The product `input * other`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.mul(x, y)
    tensor([ 4., 10., 18.])
    >>> x.mul(y)
    tensor([ 4., 10., 18.])"""
    ...
def mul_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The product `input * other`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.mul_(y)
    tensor([ 4., 10., 18.])"""
    ...
def multinomial(input: Tensor, num_samples: Int, replacement: Bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Places drawn with the probabilities that the weights of a row are in proportion to.

    Parameters
    ----------
    input : Tensor
        The tensor.
    num_samples : int
        How many to draw.
    replacement : bool, default False
        Whether a place may be drawn again.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.multinomial(x, 2).shape
    opweave.Size([2])
    >>> x.multinomial(2).shape
    opweave.Size([2])"""
    ...
def multiply(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The product `input * other`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.mul(x, y)
    tensor([ 4., 10., 18.])
    >>> x.mul(y)
    tensor([ 4., 10., 18.])"""
    ...
def multiply_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The product `input * other`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.mul_(y)
    tensor([ 4., 10., 18.])"""
    ...
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector.

    Parameters
    ----------
    input : Tensor
        The tensor.
    vec : Tensor
        A vector.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> opweave.mv(x, y)
    tensor([3., 7.])
    >>> x.mv(y)
    tensor([3., 7.])"""
    ...
def mvlgamma(input: Tensor, p: Int, *, out: Tensor | None = None) -> Tensor:
    """log Γ_p(x) = p (p - 1) / 4 log π + Σ log Γ(x - j / 2) for j = 0 ... p - 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : int
        The number of dimensions.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0])
    >>> opweave.mvlgamma(x, 2)
    tensor([0.4516, 1.5502])
    >>> x.mvlgamma(2)
    tensor([0.4516, 1.5502])"""
    ...
def mvlgamma_(input: Tensor, p: Int) -> Tensor:
    """log Γ_p(x) = p (p - 1) / 4 log π + Σ log Γ(x - j / 2) for j = 0 ... p - 1. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : int
        The number of dimensions.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0])
    >>> x.mvlgamma_(2)
    tensor([0.4516, 1.5502])"""
    ...
def nan_to_num(input: Tensor, nan: Float | None = None, posinf: Float | None = None, neginf: Float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Numbers in place of NaN and infinities: 0, the largest and the least of the type by default.

    Parameters
    ----------
    input : Tensor
        The tensor.
    nan : float, optional
        What stands for NaN.
    posinf : float, optional
        What stands for +inf.
    neginf : float, optional
        What stands for -inf.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("nan")])
    >>> opweave.nan_to_num(x)
    tensor([1., 0.])
    >>> x.nan_to_num()
    tensor([1., 0.])"""
    ...
def nan_to_num_(input: Tensor, nan: Float | None = None, posinf: Float | None = None, neginf: Float | None = None) -> Tensor:
    """Numbers in place of NaN and infinities: 0, the largest and the least of the type by default. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    nan : float, optional
        What stands for NaN.
    posinf : float, optional
        What stands for +inf.
    neginf : float, optional
        What stands for -inf.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("nan")])
    >>> x.nan_to_num_()
    tensor([1., 0.])"""
    ...
@overload
def nanmean(input: Tensor, dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def nanmean(input: Tensor, axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The mean of what is a number.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("nan"), 3.0])
    >>> opweave.nanmean(x)
    tensor(2.)
    >>> x.nanmean()
    tensor(2.)"""
    ...
@overload
def nanmedian(input: Tensor, dim: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.nanmedian: ...
@overload
def nanmedian(input: Tensor, axis: Int, keepdim: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> return_types.nanmedian: ...
@overload
def nanmedian(input: Tensor) -> Tensor:
    """`median` of what is a number.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.nanmedian
        A named tuple of tensors: values, indices.
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("nan"), 3.0])
    >>> opweave.nanmedian(x)
    tensor(1.)
    >>> x.nanmedian()
    tensor(1.)"""
    ...
@overload
def nanquantile(input: Tensor, q: Float, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def nanquantile(input: Tensor, q: Float, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def nanquantile(input: Tensor, q: Tensor, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def nanquantile(input: Tensor, q: Tensor, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """`quantile` of what is a number.

    Parameters
    ----------
    input : Tensor
        The tensor.
    q : float or Tensor
        Shares between 0 and 1.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    interpolation : {'linear', 'lower', 'higher', 'midpoint', 'nearest'}, default 'linear'
        What stands between two elements.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("nan"), 3.0])
    >>> opweave.nanquantile(x, 0.5)
    tensor(2.)
    >>> x.nanquantile(0.5)
    tensor(2.)"""
    ...
@overload
def nansum(input: Tensor, dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def nansum(input: Tensor, axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The sum of what is a number.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, float("nan"), 3.0])
    >>> opweave.nansum(x)
    tensor(4.)
    >>> x.nansum()
    tensor(4.)"""
    ...
@overload
def narrow(input: Tensor, dim: Int, start: Int, length: Int) -> Tensor: ...
@overload
def narrow(input: Tensor, axis: Int, start: Int, length: Int) -> Tensor:
    """A view of so many places of a dimension from one on.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    start : int
        Where it begins.
    length : int
        How many places.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.narrow(x, 0, 1, 2)
    tensor([2., 3.])
    >>> x.narrow(0, 1, 2)
    tensor([2., 3.])"""
    ...
@overload
def narrow_copy(input: Tensor, dim: Int, start: Int, length: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def narrow_copy(input: Tensor, axis: Int, start: Int, length: Int, *, out: Tensor | None = None) -> Tensor:
    """A view of so many places of a dimension from one on. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    start : int
        Where it begins.
    length : int
        How many places.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.narrow_copy(x, 0, 1, 2)
    tensor([2., 3.])
    >>> x.narrow_copy(0, 1, 2)
    tensor([2., 3.])"""
    ...
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: Bool, momentum: Float, eps: Float, *, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor, Tensor]:
    """(result, mean, 1 / standard deviation), the last two without elements where training is false.

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor, optional
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    running_mean : Tensor, optional
        The running means.
    running_var : Tensor, optional
        The running variances.
    training : bool
        Whether statistics are those of the batch.
    momentum : float
        How fast running statistics change.
    eps : float
        A small number that keeps divisors off 0.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    tuple[Tensor, Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[-0.9, 1.6, -0.2], [-2.0, 0.5, -1.3], [1.3, -0.5, 2.0], [0.2, -1.6, 0.9]])
    >>> y = opweave.tensor([-2.0, 0.0, 2.0])
    >>> z = opweave.tensor([-2.0, 0.0, 2.0])
    >>> w = opweave.tensor([0.5, 1.0, 1.5])
    >>> opweave.native_batch_norm(x, y, None, z, w, False, 0.1, 0.001)
    (tensor([[-3.1082,  0.0000, -3.5914],
            [-0.0000,  0.0000, -5.3871],
            [-9.3245, -0.0000,  0.0000],
            [-6.2163, -0.0000, -1.7957]]), tensor([]), tensor([]))"""
    ...
def native_dropout(input: Tensor, p: Float, train: Bool | None, *, out: _tuple[Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor]:
    """(input with elements dropped and the others scaled, which are kept).

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float
        The probability that an element is dropped.
    train : bool, optional
        Whether anything is dropped.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    tuple[Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> [t.shape for t in opweave.native_dropout(x, 0.5, False)]
    [opweave.Size([3]), opweave.Size([3])]"""
    ...
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: Int, C: Int, HxW: Int, group: Int, eps: Float, *, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor, Tensor]:
    """(result, mean, 1 / standard deviation), the last two of shape (N, group).

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor, optional
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    N : int
        How many powers.
    C : int
        How many channels.
    HxW : int
        How many places.
    group : int
        How many groups.
    eps : float
        A small number that keeps divisors off 0.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    tuple[Tensor, Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 3.0, 2.0, 6.0]])
    >>> [t.shape for t in opweave.native_group_norm(x, None, None, 1, 4, 1, 2, 1e-05)]
    [opweave.Size([1, 4]), opweave.Size([1, 2]), opweave.Size([1, 2])]"""
    ...
def native_layer_norm(input: Tensor, normalized_shape: Sequence[Int], weight: Tensor | None, bias: Tensor | None, eps: Float, *, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor, Tensor]:
    """`layer_norm` with the means and the inverse standard deviations that it found.

    Parameters
    ----------
    input : Tensor
        The tensor.
    normalized_shape : sequence of int
        The sizes of the last dimensions.
    weight : Tensor, optional
        The weights.
    bias : Tensor, optional
        What is added, one number for each channel.
    eps : float
        A small number that keeps divisors off 0.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    tuple[Tensor, Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 3.0], [2.0, 6.0]])
    >>> [t.shape for t in opweave.native_layer_norm(x, [2], None, None, 1e-05)]
    [opweave.Size([2, 2]), opweave.Size([2, 1]), opweave.Size([2, 1])]"""
    ...
def ne(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element differs from the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1.0, 0.0, 3.0])
    >>> opweave.ne(x, y)
    tensor([False,  True, False])
    >>> x.ne(y)
    tensor([False,  True, False])"""
    ...
def ne_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element differs from the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1.0, 0.0, 3.0])
    >>> x.ne_(y)
    tensor([0., 1., 0.])"""
    ...
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element with the other sign.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.neg(x)
    tensor([ 1.0000, -0.5000, -2.0000])
    >>> x.neg()
    tensor([ 1.0000, -0.5000, -2.0000])"""
    ...
def neg_(input: Tensor) -> Tensor:
    """Each element with the other sign. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.neg_()
    tensor([ 1.0000, -0.5000, -2.0000])"""
    ...
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element with the other sign.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.neg(x)
    tensor([ 1.0000, -0.5000, -2.0000])
    >>> x.neg()
    tensor([ 1.0000, -0.5000, -2.0000])"""
    ...
def negative_(input: Tensor) -> Tensor:
    """Each element with the other sign. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.neg_()
    tensor([ 1.0000, -0.5000, -2.0000])"""
    ...
def new_empty(input: Tensor, size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes, of this one's type and device, with nothing in particular in it.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.new_empty(x, [2]).shape
    opweave.Size([2])
    >>> x.new_empty([2]).shape
    opweave.Size([2])"""
    ...
def new_empty_strided(input: Tensor, size: Sequence[Int], stride: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes and strides, of this one's type and device, with nothing in particular in it.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    stride : sequence of int
        How far apart windows are; as large as they are by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.new_empty_strided(x, [2, 3], [1, 2]).shape
    opweave.Size([2, 3])
    >>> x.new_empty_strided([2, 3], [1, 2]).shape
    opweave.Size([2, 3])"""
    ...
def new_full(input: Tensor, size: Sequence[Int], fill_value: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes, of this one's type and device, with one number everywhere.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    fill_value : number
        The number.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.new_full(x, [2], 7)
    tensor([7., 7.])
    >>> x.new_full([2], 7)
    tensor([7., 7.])"""
    ...
def new_ones(input: Tensor, size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of ones, of this one's type and device.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.new_ones(x, [2])
    tensor([1., 1.])
    >>> x.new_ones([2])
    tensor([1., 1.])"""
    ...
def new_zeros(input: Tensor, size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of zeros, of this one's type and device.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.new_zeros(x, [2])
    tensor([0., 0.])
    >>> x.new_zeros([2])
    tensor([0., 0.])"""
    ...
def nextafter(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The next number of the type in the direction of the other (after Rump, Zimmermann, Boldo and Melquiond 2009).

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.nextafter(x, y)
    tensor([-1.0000,  0.5000,  2.0000])
    >>> x.nextafter(y)
    tensor([-1.0000,  0.5000,  2.0000])"""
    ...
def nextafter_(input: Tensor, other: Tensor | Number) -> Tensor:
    """The next number of the type in the direction of the other (after Rump, Zimmermann, Boldo and Melquiond 2009). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> x.nextafter_(y)
    tensor([-1.0000,  0.5000,  2.0000])"""
    ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> _tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: _bool) -> Any:
    """The indices of all elements other than 0.

    Parameters
    ----------
    input : Tensor
    out : Tensor, optional
        Where to write them, if they are one tensor.
    as_tuple : bool
        Whether to give a tensor for each dimension, so that `input[input.nonzero(as_tuple=True)]` are these elements.

    Returns
    -------
    Tensor or tuple of Tensor
        int64; a row for each element, or a tensor for each dimension.

    Examples
    --------
    >>> opweave.nonzero(opweave.tensor([0.0, 2.0, 3.0]))
    tensor([[1],
            [2]])"""
    ...
def nonzero_numpy(input: Tensor) -> _tuple[Tensor, ...]:
    """The indices of all elements other than 0, a tensor for each dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([0.0, 2.0, 3.0])
    >>> opweave.nonzero_numpy(x)
    (tensor([1, 2]),)
    >>> x.nonzero_numpy()
    (tensor([1, 2]),)"""
    ...
def nonzero_static(input: Tensor, *, size: Int, fill_value: Int = -1, out: Tensor | None = None) -> Tensor:
    """The first `size` indices of elements other than 0, a row for each, and rows of a number where there are fewer.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : int
        The sizes.
    fill_value : int, default -1
        The number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.0, 2.0, 3.0])
    >>> opweave.nonzero_static(x, size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    >>> x.nonzero_static(size=3)
    tensor([[ 1],
            [ 2],
            [-1]])"""
    ...
@overload
def norm(input: Tensor, p: _float | _str | None = 'fro', dim: Any = None, keepdim: _bool = False, out: Tensor | None = None, dtype: DType | None = None, *, keepdims: _bool = False) -> Tensor: ...
@overload
def norm(input: Tensor, p: _float | _str | None = 'fro', axis: Any = None, keepdim: _bool = False, out: Tensor | None = None, dtype: DType | None = None, *, keepdims: _bool = False) -> Tensor:
    """The p-norm of all elements, or of those in some dimensions.

    Parameters
    ----------
    input : Tensor
    p : float or str, optional
        A number, `"fro"`, which is 2, or `"nuc"`, the sum of the singular values of the matrices in two dimensions.
    dim : int or sequence of int, optional
        All by default.
    keepdim : bool
        Keep these dimensions, of size 1.
    out : Tensor, optional
        Where to write the result.
    dtype : DType, optional
        The type to convert to first.

    Examples
    --------
    >>> opweave.norm(opweave.tensor([3.0, 4.0]))
    tensor(5.)"""
    ...
@overload
def normal(mean: Float, std: Float, size: Sequence[Int], *, generator: Generator | None = None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def normal(mean: Tensor, std: Float = 1.0, *, generator: Generator | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def normal(mean: Float, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def normal(mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Numbers drawn from normal distributions with these means and standard deviations.

    Parameters
    ----------
    mean : float or Tensor
        The means.
    std : float or Tensor, default 1.0
        The standard deviations.
    size : sequence of int, optional
        The sizes.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.normal(0.0, 1.0, [2]).shape
    opweave.Size([2])"""
    ...
def normal_(input: Tensor, mean: Float = 0.0, std: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Numbers drawn from normal distributions with these means and standard deviations. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    mean : float, default 0.0
        The means.
    std : float, default 1.0
        The standard deviations.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.normal_().shape
    opweave.Size([3])"""
    ...
def not_equal(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether each element differs from the other.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1.0, 0.0, 3.0])
    >>> opweave.ne(x, y)
    tensor([False,  True, False])
    >>> x.ne(y)
    tensor([False,  True, False])"""
    ...
def not_equal_(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element differs from the other. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1.0, 0.0, 3.0])
    >>> x.ne_(y)
    tensor([0., 1., 0.])"""
    ...
def nuclear_norm(input: Tensor, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The sum of the singular values of a matrix.

    Parameters
    ----------
    input : Tensor
        The tensor.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> opweave.nuclear_norm(x)
    tensor(3.)
    >>> x.nuclear_norm()
    tensor(3.)"""
    ...
def numel(input: Tensor) -> _int:
    """Number of elements.

    Examples
    --------
    >>> opweave.numel(opweave.zeros(2, 3))
    6"""
    ...
@overload
def ones(size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def ones(*size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes with 1 everywhere.

    Parameters
    ----------
    *size : sequence of int or int
        The sizes.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.ones(2, 3)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])"""
    ...
def ones_like(input: Tensor, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor like another with 1 everywhere.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.ones_like(x)
    tensor([1., 1., 1.])
    >>> x.ones_like()
    tensor([1., 1., 1.])"""
    ...
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `linalg.householder_product`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    input2 : Tensor
        The second tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [0.5]])
    >>> y = opweave.tensor([1.0])
    >>> opweave.orgqr(x, y).shape
    opweave.Size([2, 1])
    >>> x.orgqr(y).shape
    opweave.Size([2, 1])"""
    ...
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: Bool = True, transpose: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """Q C, or C Q, with all columns of the Q that reflections are; or with its conjugate transpose.

    Parameters
    ----------
    input : Tensor
        The tensor.
    input2 : Tensor
        The second tensor.
    input3 : Tensor
        The third tensor.
    left : bool, default True
        Whether the matrix stands on the left of the unknown.
    transpose : bool, default False
        Whether to use the transposed matrix.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [0.5]])
    >>> y = opweave.tensor([1.0])
    >>> z = opweave.tensor([[1.0], [1.0]])
    >>> opweave.ormqr(x, y, z).shape
    opweave.Size([2, 1])
    >>> x.ormqr(y, z).shape
    opweave.Size([2, 1])"""
    ...
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of each element of a vector with each of another.

    Parameters
    ----------
    input : Tensor
        The tensor.
    vec2 : Tensor
        Another vector.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.outer(x, y)
    tensor([[ 4.,  5.,  6.],
            [ 8., 10., 12.],
            [12., 15., 18.]])
    >>> x.outer(y)
    tensor([[ 4.,  5.,  6.],
            [ 8., 10., 12.],
            [12., 15., 18.]])"""
    ...
def pairwise_distance(x1: Tensor, x2: Tensor | Number, p: Float = 2.0, eps: Float = 1e-06, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension.

    Parameters
    ----------
    x1 : Tensor
        The first tensor.
    x2 : Tensor or number
        The second tensor.
    p : float, default 2.0
        The p of the norm.
    eps : float, default 1e-06
        A small number that keeps divisors off 0.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 0.0]])
    >>> y = opweave.tensor([[3.0, 4.0]])
    >>> opweave.pairwise_distance(x, y)
    tensor([5.0000])"""
    ...
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> _tuple[Any, Any, Any]:
    """Principal components: `svd_lowrank` of A without the means of its columns.

    Parameters
    ----------
    A : Tensor
        (..., m, n): m observations of n variables.
    q : int, optional
        How many components, by default 6 or all.
    center : bool
        Whether to subtract the means.
    niter : int
        How often the projection is made better.

    Examples
    --------
    >>> [t.shape for t in opweave.pca_lowrank(opweave.ones(5, 4), q=2)]
    [opweave.Size([5, 2]), opweave.Size([2]), opweave.Size([4, 2])]"""
    ...
def pdist(input: Tensor, p: Float = 2.0) -> Tensor:
    """The distances between all pairs of rows, as a vector.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : float, default 2.0
        The p of the norm.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> opweave.pdist(x)
    tensor([5.0000, 1.0000, 4.2426])
    >>> x.pdist()
    tensor([5.0000, 1.0000, 4.2426])"""
    ...
@overload
def permute(input: Tensor, dims: Sequence[Int]) -> Tensor: ...
@overload
def permute(input: Tensor, axis: Sequence[Int]) -> Tensor:
    """A view with the dimensions in another order.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dims : sequence of int
        The dimensions, counted from the end where negative.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.permute(x, [1, 0])
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.permute([1, 0])
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
@overload
def permute_copy(input: Tensor, dims: Sequence[Int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def permute_copy(input: Tensor, axis: Sequence[Int], *, out: Tensor | None = None) -> Tensor:
    """A view with the dimensions in another order. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dims : sequence of int
        The dimensions, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.permute_copy(x, [1, 0])
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.permute_copy([1, 0])
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def pinverse(input: Tensor, rcond: Float = 1e-15) -> Tensor:
    """As `linalg.pinv`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    rcond : float, default 1e-15
        The relative tolerance.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.pinverse(x)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    >>> x.pinverse()
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])"""
    ...
def pixel_shuffle(input: Tensor, upscale_factor: Int, *, out: Tensor | None = None) -> Tensor:
    """(..., C r², H, W) as (..., C, H r, W r): the channels of a pixel become a square of pixels.

    Parameters
    ----------
    input : Tensor
        The tensor.
    upscale_factor : int
        How much larger the image becomes.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(4.0).view(1, 4, 1, 1)
    >>> opweave.pixel_shuffle(x, 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    >>> x.pixel_shuffle(2)
    tensor([[[[0., 1.],
              [2., 3.]]]])"""
    ...
def pixel_unshuffle(input: Tensor, downscale_factor: Int, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `pixel_shuffle`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    downscale_factor : int
        How much smaller the image becomes.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.arange(4.0).view(1, 1, 2, 2)
    >>> opweave.pixel_unshuffle(x, 2)
    tensor([[[[0.]],
    <BLANKLINE>
             [[1.]],
    <BLANKLINE>
             [[2.]],
    <BLANKLINE>
             [[3.]]]])
    >>> x.pixel_unshuffle(2)
    tensor([[[[0.]],
    <BLANKLINE>
             [[1.]],
    <BLANKLINE>
             [[2.]],
    <BLANKLINE>
             [[3.]]]])"""
    ...
def poisson(input: Tensor, generator: Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Numbers of events at rates that the elements are.

    Parameters
    ----------
    input : Tensor
        The tensor.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.7, 4.6, 2.5, 0.5], [3.4, 1.3, 4.2, 2.1], [5.0, 3.0, 0.9, 3.8]])
    >>> opweave.poisson(x).shape
    opweave.Size([3, 4])
    >>> x.poisson().shape
    opweave.Size([3, 4])"""
    ...
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: Bool, full: Bool, eps: Float, reduction: Int) -> Tensor:
    """exp(x) - t x (or x - t log(x + eps)); `full` adds Stirling's approximation of log(t!) where t exceeds 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    target : Tensor
        What it should be.
    log_input : bool
        Whether the input is the logarithm.
    full : bool
        Whether to add Stirling's approximation.
    eps : float
        A small number that keeps divisors off 0.
    reduction : int
        0 none, 1 mean, 2 sum.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.poisson_nll_loss(x, y, True, False, 1e-08, 1)
    tensor(-0.6024)"""
    ...
def polar(abs: Tensor | Number, angle: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of their absolute values and angles.

    Parameters
    ----------
    abs : Tensor or number
        Absolute values.
    angle : Tensor or number
        Angles in radians.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([0.0, 0.5])
    >>> opweave.polar(x, y)
    tensor([1.0000+0.0000j, 1.7552+0.9589j])"""
    ...
def polygamma(n: Int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of the digamma function; NaN below -1e6, if n is 2 or more.

    Parameters
    ----------
    n : int
        A whole number.
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> opweave.polygamma(1, x)
    tensor([1.6449, 0.6449])"""
    ...
def polygamma_(input: Tensor, n: Int) -> Tensor:
    """The n-th derivative of `digamma` at each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    n : int
        A whole number.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> x.polygamma_(1)
    tensor([1.6449, 0.6449])"""
    ...
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.positive(x)
    tensor([1., 2., 3.])
    >>> x.positive()
    tensor([1., 2., 3.])"""
    ...
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    exponent : Tensor or number
        The exponents.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.pow(x, y)
    tensor([1.0000, 0.1250, 2.0000])
    >>> x.pow(y)
    tensor([1.0000, 0.1250, 2.0000])"""
    ...
def pow_(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """`input` to the power of `exponent`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    exponent : Tensor or number
        The exponents.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> x.pow_(y)
    tensor([1.0000, 0.1250, 2.0000])"""
    ...
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else weight x, with one weight for all or one for each channel (He et al. 2015).

    Parameters
    ----------
    input : Tensor
        The tensor.
    weight : Tensor
        The weights.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, -2.0, 0.0, 2.0, -1.0])
    >>> y = opweave.tensor([1.0])
    >>> opweave.prelu(x, y)
    tensor([ 1., -2.,  0.,  2., -1.])
    >>> x.prelu(y)
    tensor([ 1., -2.,  0.,  2., -1.])"""
    ...
@overload
def prod(input: Tensor, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def prod(input: Tensor, dim: Int, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def prod(input: Tensor, axis: Int, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The product of all elements, or over a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.prod(x)
    tensor(6.)
    >>> x.prod()
    tensor(6.)"""
    ...
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: Bool = False) -> Tensor:
    """A copy with elements of the flattened tensor written, or added to.

    Parameters
    ----------
    input : Tensor
        The tensor.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    accumulate : bool, default False
        Whether values are added to what is there.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0])
    >>> z = opweave.tensor([9.0])
    >>> opweave.put(x, y, z)
    tensor([9., 2., 3.])
    >>> x.put(y, z)
    tensor([9., 2., 3.])"""
    ...
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: Bool = False) -> Tensor:
    """A copy with elements of the flattened tensor written, or added to. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    index : Tensor
        Which places, as whole numbers.
    source : Tensor
        What is written.
    accumulate : bool, default False
        Whether values are added to what is there.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0])
    >>> z = opweave.tensor([9.0])
    >>> x.put_(y, z)
    tensor([9., 2., 3.])"""
    ...
def qr(input: Tensor, some: Bool = True, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.qr:
    """As `linalg.qr`, `"reduced"` or `"complete"`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    some : bool, default True
        Whether the matrices of vectors are as small as can be.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.qr
        A named tuple of tensors: Q, R.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.qr(x)]
    [opweave.Size([2, 2]), opweave.Size([2, 2])]
    >>> [t.shape for t in x.qr()]
    [opweave.Size([2, 2]), opweave.Size([2, 2])]"""
    ...
@overload
def quantile(input: Tensor, q: Float, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def quantile(input: Tensor, q: Float, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def quantile(input: Tensor, q: Tensor, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def quantile(input: Tensor, q: Tensor, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The elements below which shares of all are, between two of them by interpolation.

    Parameters
    ----------
    input : Tensor
        The tensor.
    q : float or Tensor
        Shares between 0 and 1.
    dim : int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    interpolation : {'linear', 'lower', 'higher', 'midpoint', 'nearest'}, default 'linear'
        What stands between two elements.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.quantile(x, 0.25)
    tensor(1.5000)
    >>> x.quantile(0.25)
    tensor(1.5000)"""
    ...
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians in degrees.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.rad2deg(x)
    tensor([-57.2958,  28.6479, 114.5916])
    >>> x.rad2deg()
    tensor([-57.2958,  28.6479, 114.5916])"""
    ...
def rad2deg_(input: Tensor) -> Tensor:
    """Radians in degrees. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.rad2deg_()
    tensor([-57.2958,  28.6479, 114.5916])"""
    ...
@overload
def rand(size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def rand(*size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def rand(size: Sequence[Int], *, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def rand(*size: Int, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Numbers drawn evenly from 0 up to 1.

    Parameters
    ----------
    *size : sequence of int or int
        The sizes.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.rand(2, 3).shape
    opweave.Size([2, 3])"""
    ...
@overload
def rand_like(input: Tensor, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def rand_like(input: Tensor, *, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Numbers drawn evenly from 0 up to 1, in a tensor like another.

    Parameters
    ----------
    input : Tensor
        The tensor.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.rand_like(x).shape
    opweave.Size([3])
    >>> x.rand_like().shape
    opweave.Size([3])"""
    ...
@overload
def randint(low: Int, high: Int, size: Sequence[Int], *, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randint(low: Int, high: Int, size: Sequence[Int], *, generator: Generator | None, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randint(high: Int, size: Sequence[Int], *, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randint(high: Int, size: Sequence[Int], *, generator: Generator | None, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Whole numbers drawn evenly from `low` up to, and without, `high`.

    Parameters
    ----------
    low : int, optional
        Where they begin.
    high : int
        Where they end, itself not among them.
    size : sequence of int
        The sizes.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional, default opweave.int64
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.randint(0, 10, [2]).shape
    opweave.Size([2])"""
    ...
@overload
def randint_like(input: Tensor, low: Int, high: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randint_like(input: Tensor, high: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Whole numbers drawn evenly, in a tensor like another.

    Parameters
    ----------
    input : Tensor
        The tensor.
    low : int, optional
        Where they begin.
    high : int
        Where they end, itself not among them.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.randint_like(x, 0, 10).shape
    opweave.Size([3])
    >>> x.randint_like(0, 10).shape
    opweave.Size([3])"""
    ...
@overload
def randn(size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randn(*size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randn(size: Sequence[Int], *, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randn(*size: Int, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Numbers drawn from the normal distribution of mean 0 and variance 1.

    Parameters
    ----------
    *size : sequence of int or int
        The sizes.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.randn(2, 3).shape
    opweave.Size([2, 3])"""
    ...
@overload
def randn_like(input: Tensor, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randn_like(input: Tensor, *, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """Normal numbers in a tensor like another.

    Parameters
    ----------
    input : Tensor
        The tensor.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.randn_like(x).shape
    opweave.Size([3])
    >>> x.randn_like().shape
    opweave.Size([3])"""
    ...
@overload
def random_(input: Tensor, from_: Int, to: Int | None, *, generator: Generator | None = None) -> Tensor: ...
@overload
def random_(input: Tensor, to: Int, *, generator: Generator | None = None) -> Tensor: ...
@overload
def random_(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Whole numbers drawn evenly, in the shape of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    from_ : int, optional
        The least of the numbers.
    to : int, optional
        Where they end, itself not among them.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.random_().shape
    opweave.Size([3])"""
    ...
@overload
def randperm(n: Int, *, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def randperm(n: Int, *, generator: Generator | None, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """The numbers from 0 to n - 1 in a random order.

    Parameters
    ----------
    n : int
        A whole number.
    generator : Generator, optional
        The source of random numbers; the device's own by default.
    dtype : dtype, optional, default opweave.int64
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.randperm(4).shape
    opweave.Size([4])"""
    ...
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector; a view where they lie in order.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.ravel(x)
    tensor([1., 2., 3., 4.])
    >>> x.ravel()
    tensor([1., 2., 3., 4.])"""
    ...
def real(input: Tensor) -> Tensor:
    """The real parts of complex numbers, as a view; a real tensor itself.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> opweave.real(x)
    tensor([1.])"""
    ...
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / x for each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.reciprocal(x)
    tensor([-1.0000,  2.0000,  0.5000])
    >>> x.reciprocal()
    tensor([-1.0000,  2.0000,  0.5000])"""
    ...
def reciprocal_(input: Tensor) -> Tensor:
    """1 / x for each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.reciprocal_()
    tensor([-1.0000,  2.0000,  0.5000])"""
    ...
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """x where positive, 0 elsewhere.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.relu(x)
    tensor([0.0000, 0.5000, 2.0000])
    >>> x.relu()
    tensor([0.0000, 0.5000, 2.0000])"""
    ...
def relu6_(input: Tensor) -> Tensor:
    """x limited to [0, 6] (Howard et al. 2017). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
    >>> x.relu6_()
    tensor([[0.0000, 6.0000, 0.0000, 0.0000],
            [2.2000, 0.0000, 5.1000, 0.0000],
            [6.0000, 0.7000, 0.0000, 3.6000]])"""
    ...
def relu_(input: Tensor) -> Tensor:
    """x where positive, 0 elsewhere. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.relu_()
    tensor([0.0000, 0.5000, 2.0000])"""
    ...
def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """What is left of a division that is rounded down; it has the sign of the divisor.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([7, -7])
    >>> opweave.remainder(x, 3)
    tensor([1, 2])
    >>> x.remainder(3)
    tensor([1, 2])"""
    ...
def remainder_(input: Tensor, other: Tensor | Number) -> Tensor:
    """What is left of a division that is rounded down; it has the sign of the divisor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([7, -7])
    >>> x.remainder_(3)
    tensor([1, 2])"""
    ...
@overload
def renorm(input: Tensor, p: Number, dim: Int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def renorm(input: Tensor, p: Number, axis: Int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
    """The slices along a dimension, made smaller where their p-norm is above the limit.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : number
        The p of the norm.
    dim : int
        The dimension, counted from the end where negative.
    maxnorm : number
        The limit.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.renorm(x, 2, 0, 1.0)
    tensor([[0.4472, 0.8944],
            [0.6000, 0.8000]])
    >>> x.renorm(2, 0, 1.0)
    tensor([[0.4472, 0.8944],
            [0.6000, 0.8000]])"""
    ...
@overload
def renorm_(input: Tensor, p: Number, dim: Int, maxnorm: Number) -> Tensor: ...
@overload
def renorm_(input: Tensor, p: Number, axis: Int, maxnorm: Number) -> Tensor:
    """The slices along a dimension, made smaller where their p-norm is above the limit. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : number
        The p of the norm.
    dim : int
        The dimension, counted from the end where negative.
    maxnorm : number
        The limit.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.renorm_(2, 0, 1.0)
    tensor([[0.4472, 0.8944],
            [0.6000, 0.8000]])"""
    ...
def repeat(input: Tensor, repeats: Sequence[Int], *, out: Tensor | None = None) -> Tensor:
    """The tensor so many times along each dimension, as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    repeats : sequence of int
        How often.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1, 2])
    >>> opweave.repeat(x, [2, 2])
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    >>> x.repeat([2, 2])
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])"""
    ...
@overload
def repeat_interleave(input: Tensor, repeats: Int, dim: Int | None = None, *, output_size: Int | None = None) -> Tensor: ...
@overload
def repeat_interleave(input: Tensor, repeats: Int, axis: Int | None = None, *, output_size: Int | None = None) -> Tensor: ...
@overload
def repeat_interleave(repeats: Tensor, *, output_size: Int | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: Int | None = None, *, output_size: Int | None = None) -> Tensor: ...
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, axis: Int | None = None, *, output_size: Int | None = None) -> Tensor:
    """Each element of a dimension so often, one after the other.

    Parameters
    ----------
    input : Tensor, optional
        The tensor.
    repeats : int or Tensor
        How often.
    dim : int, optional
        The dimension, counted from the end where negative.
    output_size : int, optional
        The size of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1, 2])
    >>> opweave.repeat_interleave(x, 2)
    tensor([1, 1, 2, 2])
    >>> x.repeat_interleave(2)
    tensor([1, 1, 2, 2])"""
    ...
def reshape(input: Tensor, shape: Sequence[Int]) -> Tensor:
    """The same elements with other sizes; a view where strides allow it. One size may be -1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    shape : sequence of int
        The sizes; one of them may be -1, which follows from the others.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.reshape(x, [3, 2])
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])
    >>> x.reshape([3, 2])
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])"""
    ...
def reshape_as(input: Tensor, other: Tensor | Number) -> Tensor:
    """The same elements with the sizes of another tensor.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> y = opweave.zeros(3, 2)
    >>> opweave.reshape_as(x, y)
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])
    >>> x.reshape_as(y)
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])"""
    ...
def resize_(input: Tensor, size: Sequence[Int], *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Let a tensor have other sizes, row-major over its memory; it gets more memory where nothing else has a part in its own, and what is new there may be anything.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.
    memory_format : memory_format, optional
        How the result lies in memory.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.resize_([2])
    tensor([1., 2.])"""
    ...
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Let a tensor have the sizes of another; with `preserve_format` its memory format too.

    Parameters
    ----------
    input : Tensor
        The tensor.
    the_template : Tensor
        The tensor whose sizes are taken.
    memory_format : memory_format, optional
        How the result lies in memory.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([[1.0], [2.0]])
    >>> x.resize_as_(y)
    tensor([[1.],
            [2.]])"""
    ...
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor: it is as it says.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.resolve_conj(x)
    tensor([1., 2., 3.])
    >>> x.resolve_conj()
    tensor([1., 2., 3.])"""
    ...
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor: it is as it says.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.resolve_neg(x)
    tensor([1., 2., 3.])
    >>> x.resolve_neg()
    tensor([1., 2., 3.])"""
    ...
def rms_norm(input: Tensor, normalized_shape: Sequence[Int], weight: Tensor | None = None, eps: Float | None = None) -> Tensor:
    """The last dimensions divided by the root of their mean square, then scaled.

    Parameters
    ----------
    input : Tensor
        The tensor.
    normalized_shape : sequence of int
        The sizes of the last dimensions.
    weight : Tensor, optional
        The weights.
    eps : float, optional
        A small number that keeps divisors off 0.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 4.0])
    >>> opweave.rms_norm(x, [2])
    tensor([0.8485, 1.1314])"""
    ...
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """The state after one step of a network with ReLU, `relu(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    hx : Tensor
        The state before.
    w_ih : Tensor
        The weights of the input, those of one gate below each other.
    w_hh : Tensor
        The weights of the state.
    b_ih : Tensor, optional
        What is added to the product with the input.
    b_hh : Tensor, optional
        What is added to the product with the state.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0]])
    >>> h = opweave.zeros(1, 1)
    >>> w = opweave.ones(1, 2)
    >>> u = w[:, :1]
    >>> opweave.rnn_relu_cell(x, h, w, u)
    tensor([[3.]])"""
    ...
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """The state after one step of an Elman network, `tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    hx : Tensor
        The state before.
    w_ih : Tensor
        The weights of the input, those of one gate below each other.
    w_hh : Tensor
        The weights of the state.
    b_ih : Tensor, optional
        What is added to the product with the input.
    b_hh : Tensor, optional
        What is added to the product with the state.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0]])
    >>> h = opweave.zeros(1, 1)
    >>> w = opweave.ones(1, 2)
    >>> u = w[:, :1]
    >>> opweave.rnn_tanh_cell(x, h, w, u)
    tensor([[0.9951]])"""
    ...
@overload
def roll(input: Tensor, shifts: Int | Sequence[Int], dims: Int | Sequence[Int] = ..., *, out: Tensor | None = None) -> Tensor: ...
@overload
def roll(input: Tensor, shifts: Int | Sequence[Int], axis: Int | Sequence[Int] = ..., *, out: Tensor | None = None) -> Tensor:
    """Shift elements along dimensions, those beyond the end coming back at the start.

    Parameters
    ----------
    input : Tensor
        The tensor.
    shifts : int or sequence of int
        How far.
    dims : int or sequence of int, default ()
        The dimensions, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.roll(x, 1)
    tensor([3., 1., 2.])
    >>> x.roll(1)
    tensor([3., 1., 2.])"""
    ...
@overload
def rot90(input: Tensor, k: Int = 1, dims: Sequence[Int] = ...) -> Tensor: ...
@overload
def rot90(input: Tensor, k: Int = 1, axis: Sequence[Int] = ...) -> Tensor:
    """Turned by k quarters, from the first of two dimensions towards the second.

    Parameters
    ----------
    input : Tensor
        The tensor.
    k : int, default 1
        How many quarters.
    dims : sequence of int, default (0, 1)
        The dimensions, counted from the end where negative.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.rot90(x)
    tensor([[2., 4.],
            [1., 3.]])
    >>> x.rot90()
    tensor([[2., 4.],
            [1., 3.]])"""
    ...
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def round(input: Tensor, *, decimals: Int, out: Tensor | None = None) -> Tensor:
    """The nearest whole number, or number of so many decimals; half goes to even.

    Parameters
    ----------
    input : Tensor
        The tensor.
    decimals : int, optional
        How many decimals; negative numbers round before the point.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([0.5, 1.25, -1.5])
    >>> opweave.round(x)
    tensor([ 0.,  1., -2.])
    >>> x.round()
    tensor([ 0.,  1., -2.])"""
    ...
@overload
def round_(input: Tensor) -> Tensor: ...
@overload
def round_(input: Tensor, *, decimals: Int) -> Tensor:
    """The nearest whole number, or number of so many decimals; half goes to even.

    Parameters
    ----------
    input : Tensor
        The tensor.
    decimals : int, optional
        How many decimals; negative numbers round before the point.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.5, 1.25, -1.5])
    >>> x.round_()
    tensor([ 0.,  1., -2.])"""
    ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """One above the other, vectors as rows.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.row_stack([x, y])
    tensor([[1., 2., 3.],
            [4., 5., 6.]])"""
    ...
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / √x for each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.rsqrt(x)
    tensor([2.0000, 1.4142, 1.0000])
    >>> x.rsqrt()
    tensor([2.0000, 1.4142, 1.0000])"""
    ...
def rsqrt_(input: Tensor) -> Tensor:
    """1 / √x for each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.rsqrt_()
    tensor([2.0000, 1.4142, 1.0000])"""
    ...
@overload
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def rsub(input: Tensor, other: Number, alpha: Number = 1, *, out: Tensor | None = None) -> Tensor:
    """`other - alpha * input`, element by element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.rsub(x, y)
    tensor([3., 3., 3.])
    >>> x.rsub(y)
    tensor([3., 3., 3.])"""
    ...
def scalar_tensor(s: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A number as a tensor without dimensions.

    Parameters
    ----------
    s : number
        The number.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.scalar_tensor(2.5)
    tensor(2.5000)"""
    ...
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: Float = 0.0, is_causal: Bool = False, *, scale: Float | None = None, enable_gqa: Bool = False) -> Tensor:
    """`softmax(query @ key.T * scale + mask) @ value`; a row that the mask leaves empty gives zeros.

    Parameters
    ----------
    query : Tensor
        The queries.
    key : Tensor
        The keys.
    value : Tensor
        The values.
    attn_mask : Tensor, optional
        Truth values that say which keys count, or numbers that are added to the scores.
    dropout_p : float, default 0.0
        The probability that a weight is dropped.
    is_causal : bool, default False
        Whether a place sees only those before it.
    scale : float, optional
        A factor of the scores; 1 / √width by default.
    enable_gqa : bool, default False
        Whether several heads of queries share keys and values.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.ones(1, 2, 4)
    >>> y = opweave.ones(1, 3, 4)
    >>> opweave.scaled_dot_product_attention(x, y, y).shape
    opweave.Size([1, 2, 4])"""
    ...
@overload
def scatter(input: Tensor, dim: Int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, axis: Int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: Int, index: Tensor, value: Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, axis: Int, index: Tensor, value: Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply'], out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, axis: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply'], out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply'], out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, axis: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply'], out: Tensor | None = None) -> Tensor:
    """A copy with elements of `src`, or a number, at places along a dimension that `index` says.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    value : number, optional
        The number.
    src : Tensor, optional
        What is written.
    reduce : {'add', 'multiply'}, optional
        How elements for one place are combined.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([2, 0])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> opweave.scatter(x, 0, y, z)
    tensor([9., 2., 8.])
    >>> x.scatter(0, y, z)
    tensor([9., 2., 8.])"""
    ...
@overload
def scatter_(input: Tensor, dim: Int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_(input: Tensor, axis: Int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: Int, index: Tensor, value: Number) -> Tensor: ...
@overload
def scatter_(input: Tensor, axis: Int, index: Tensor, value: Number) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
@overload
def scatter_(input: Tensor, axis: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
@overload
def scatter_(input: Tensor, axis: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply']) -> Tensor:
    """A copy with elements of `src`, or a number, at places along a dimension that `index` says. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    value : number, optional
        The number.
    src : Tensor, optional
        What is written.
    reduce : {'add', 'multiply'}, optional
        How elements for one place are combined.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([2, 0])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> x.scatter_(0, y, z)
    tensor([9., 2., 8.])"""
    ...
@overload
def scatter_add(input: Tensor, dim: Int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter_add(input: Tensor, axis: Int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with `out[index[i][j]][j] += src[i][j]` for dimension 0, and so on.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    src : Tensor
        What is written.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> opweave.scatter_add(x, 0, y, z)
    tensor([18.,  2.,  3.])
    >>> x.scatter_add(0, y, z)
    tensor([18.,  2.,  3.])"""
    ...
@overload
def scatter_add_(input: Tensor, dim: Int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_add_(input: Tensor, axis: Int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i][j]][j] += src[i][j]` for dimension 0, and so on. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    src : Tensor
        What is written.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> x.scatter_add_(0, y, z)
    tensor([18.,  2.,  3.])"""
    ...
@overload
def scatter_reduce(input: Tensor, dim: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter_reduce(input: Tensor, axis: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True, out: Tensor | None = None) -> Tensor:
    """A copy in which each place is reduced with all elements of the source that `index` sends there.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    src : Tensor
        What is written.
    reduce : {'sum', 'prod', 'mean', 'amax', 'amin'}
        How elements for one place are combined.
    include_self : bool, default True
        Whether what is there counts, too.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> opweave.scatter_reduce(x, 0, y, z, 'amax')
    tensor([9., 2., 3.])
    >>> x.scatter_reduce(0, y, z, 'amax')
    tensor([9., 2., 3.])"""
    ...
@overload
def scatter_reduce_(input: Tensor, dim: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor: ...
@overload
def scatter_reduce_(input: Tensor, axis: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor:
    """A copy in which each place is reduced with all elements of the source that `index` sends there. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : Tensor
        Which places, as whole numbers.
    src : Tensor
        What is written.
    reduce : {'sum', 'prod', 'mean', 'amax', 'amin'}
        How elements for one place are combined.
    include_self : bool, default True
        Whether what is there counts, too.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([0, 0])
    >>> z = opweave.tensor([8.0, 9.0])
    >>> x.scatter_reduce_(0, y, z, 'amax')
    tensor([9., 2., 3.])"""
    ...
@overload
def searchsorted(sorted_sequence: Tensor, input: Number, *, out_int32: Bool = False, right: Bool = False, side: Literal['left', 'right'] | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: Bool = False, right: Bool = False, side: Literal['left', 'right'] | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The place in a sorted sequence where each value would be put for it to stay sorted.

    Parameters
    ----------
    sorted_sequence : Tensor
        The sequence, in order.
    input : number or Tensor
        The tensor.
    out_int32 : bool, default False
        Whether to give int32.
    right : bool, default False
        Whether boundaries that are equal count.
    side : {'left', 'right'}, optional
        `right` counts boundaries that are equal.
    sorter : Tensor, optional
        The order of the sequence.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 3.0, 5.0])
    >>> y = opweave.tensor([2.0, 5.0])
    >>> opweave.searchsorted(x, y)
    tensor([1, 2])"""
    ...
def segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: Int = 0, unsafe: Bool = False, initial: Number | None = None, out: Tensor | None = None) -> Tensor:
    """The sum, mean, largest, least or product of each segment of a dimension, and of an initial number.

    Parameters
    ----------
    data : Tensor
        The data.
    reduce : str
        How elements for one place are combined.
    lengths : Tensor, optional
        How long each segment is; or `offsets`.
    indices : Tensor, optional
        For the signature's sake.
    offsets : Tensor, optional
        Where each segment begins, and where the last one ends; or `lengths`.
    axis : int, default 0
        The dimension that is cut into segments.
    unsafe : bool, default False
        Whether what is behind the last segment is left out, and negative lengths are not looked for.
    initial : number, optional
        What each segment begins with.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([1, 2])
    >>> opweave.segment_reduce(x, 'sum', lengths=y)
    tensor([1., 5.])"""
    ...
@overload
def select(input: Tensor, dim: Int, index: Int) -> Tensor: ...
@overload
def select(input: Tensor, axis: Int, index: Int) -> Tensor:
    """A view of one place of a dimension, which is gone.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : int
        Which places, as whole numbers.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.select(x, 0, 1)
    tensor([3., 4.])
    >>> x.select(0, 1)
    tensor([3., 4.])"""
    ...
@overload
def select_copy(input: Tensor, dim: Int, index: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def select_copy(input: Tensor, axis: Int, index: Int, *, out: Tensor | None = None) -> Tensor:
    """A view of one place of a dimension, which is gone. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    index : int
        Which places, as whole numbers.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.select_copy(x, 0, 1)
    tensor([3., 4.])
    >>> x.select_copy(0, 1)
    tensor([3., 4.])"""
    ...
@overload
def select_scatter(input: Tensor, src: Tensor, dim: Int, index: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def select_scatter(input: Tensor, src: Tensor, axis: Int, index: Int, *, out: Tensor | None = None) -> Tensor:
    """A copy of a tensor in which another one stands at an index of a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    src : Tensor
        What is written.
    dim : int
        The dimension, counted from the end where negative.
    index : int
        Which places, as whole numbers.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([8.0, 9.0])
    >>> opweave.select_scatter(x, y, 0, 1)
    tensor([[1., 2.],
            [8., 9.]])
    >>> x.select_scatter(y, 0, 1)
    tensor([[1., 2.],
            [8., 9.]])"""
    ...
def selu(input: Tensor) -> Tensor:
    """Elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017).

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
    >>> opweave.selu(x)
    tensor([[-1.7101,  6.8296, -0.8851, -1.7575],
            [ 2.3115, -1.7474,  5.3586, -1.5633],
            [ 8.4056,  0.7355, -1.7555,  3.7825]])
    >>> x.selu()
    tensor([[-1.7101,  6.8296, -0.8851, -1.7575],
            [ 2.3115, -1.7474,  5.3586, -1.5633],
            [ 8.4056,  0.7355, -1.7555,  3.7825]])"""
    ...
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """x / |x|, 0 for 0: the sign of a real number, the direction of a complex one.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.sgn(x)
    tensor([-1.,  1.,  1.])
    >>> x.sgn()
    tensor([-1.,  1.,  1.])"""
    ...
def sgn_(input: Tensor) -> Tensor:
    """x / |x|, 0 for 0: the sign of a real number, the direction of a complex one. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.sgn_()
    tensor([-1.,  1.,  1.])"""
    ...
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)) for each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.sigmoid(x)
    tensor([0.2689, 0.6225, 0.8808])
    >>> x.sigmoid()
    tensor([0.2689, 0.6225, 0.8808])"""
    ...
def sigmoid_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) for each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.sigmoid_()
    tensor([0.2689, 0.6225, 0.8808])"""
    ...
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; 0 for NaN, as in PyTorch.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.sign(x)
    tensor([-1.,  1.,  1.])
    >>> x.sign()
    tensor([-1.,  1.,  1.])"""
    ...
def sign_(input: Tensor) -> Tensor:
    """-1, 0 or 1; 0 for NaN, as in PyTorch. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.sign_()
    tensor([-1.,  1.,  1.])"""
    ...
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign of each element is negative, of -0.0 too.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements are bool.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.signbit(x)
    tensor([ True, False, False])
    >>> x.signbit()
    tensor([ True, False, False])"""
    ...
def silu_(input: Tensor) -> Tensor:
    """x sigmoid(x) (Elfwing et al. 2017). In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.silu_()
    tensor([-0.2689,  0.3112,  1.7616])"""
    ...
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of each element, in radians.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.sin(x)
    tensor([-0.8415,  0.4794,  0.9093])
    >>> x.sin()
    tensor([-0.8415,  0.4794,  0.9093])"""
    ...
def sin_(input: Tensor) -> Tensor:
    """The sine of each element, in radians. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.sin_()
    tensor([-0.8415,  0.4794,  0.9093])"""
    ...
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(πx) / (πx), 1 at 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.sinc(x)
    tensor([0.9355, 0.6366, 0.1093])
    >>> x.sinc()
    tensor([0.9355, 0.6366, 0.1093])"""
    ...
def sinc_(input: Tensor) -> Tensor:
    """sin(πx) / (πx), 1 at 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> x.sinc_()
    tensor([0.9355, 0.6366, 0.1093])"""
    ...
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.sinh(x)
    tensor([-1.1752,  0.5211,  3.6269])
    >>> x.sinh()
    tensor([-1.1752,  0.5211,  3.6269])"""
    ...
def sinh_(input: Tensor) -> Tensor:
    """The hyperbolic sine of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.sinh_()
    tensor([-1.1752,  0.5211,  3.6269])"""
    ...
@overload
def slice(input: Tensor, dim: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor: ...
@overload
def slice(input: Tensor, axis: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor:
    """A view of places of a dimension from `start` up to `end`, `step` apart.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default 0
        The dimension, counted from the end where negative.
    start : int, optional
        Where it begins.
    end : int, optional
        Where it ends.
    step : int, default 1
        How far apart.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.slice(x, 0, 1, 3)
    tensor([2., 3.])
    >>> x.slice(0, 1, 3)
    tensor([2., 3.])"""
    ...
@overload
def slice_copy(input: Tensor, dim: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1, *, out: Tensor | None = None) -> Tensor: ...
@overload
def slice_copy(input: Tensor, axis: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1, *, out: Tensor | None = None) -> Tensor:
    """A view of places of a dimension from `start` up to `end`, `step` apart. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default 0
        The dimension, counted from the end where negative.
    start : int, optional
        Where it begins.
    end : int, optional
        Where it ends.
    step : int, default 1
        How far apart.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.slice_copy(x, 0, 1, 3)
    tensor([2., 3.])
    >>> x.slice_copy(0, 1, 3)
    tensor([2., 3.])"""
    ...
@overload
def slice_scatter(input: Tensor, src: Tensor, dim: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1, *, out: Tensor | None = None) -> Tensor: ...
@overload
def slice_scatter(input: Tensor, src: Tensor, axis: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of a tensor in which another one stands for a slice of a dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.
    src : Tensor
        What is written.
    dim : int, default 0
        The dimension, counted from the end where negative.
    start : int, optional
        Where it begins.
    end : int, optional
        Where it ends.
    step : int, default 1
        How far apart.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([8.0, 9.0])
    >>> opweave.slice_scatter(x, y, 0, 1, 3)
    tensor([1., 8., 9.])
    >>> x.slice_scatter(y, 0, 1, 3)
    tensor([1., 8., 9.])"""
    ...
def slogdet(input: Tensor, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.slogdet:
    """As `linalg.slogdet`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.slogdet
        A named tuple of tensors: sign, logabsdet.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.slogdet(x)
    opweave.return_types.slogdet(
    sign=tensor(1.),
    logabsdet=tensor(2.0794))
    >>> x.slogdet()
    opweave.return_types.slogdet(
    sign=tensor(1.),
    logabsdet=tensor(2.0794))"""
    ...
@overload
def softmax(input: Tensor, dim: Int, dtype: DTypeLike | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def softmax(input: Tensor, axis: Int, dtype: DTypeLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x) divided by its sum along a dimension, so that the results are positive and add up to 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.softmax(x, 0)
    tensor([0.0900, 0.2447, 0.6652])
    >>> x.softmax(0)
    tensor([0.0900, 0.2447, 0.6652])"""
    ...
def softplus(input: Tensor, beta: Number = 1, threshold: Number = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.

    Parameters
    ----------
    input : Tensor
        The tensor.
    beta : number, default 1
        How sharp the bend is.
    threshold : number, default 20
        The threshold.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.softplus(x)
    tensor([0.3133, 0.9741, 2.1269])
    >>> x.softplus()
    tensor([0.3133, 0.9741, 2.1269])"""
    ...
@overload
def sort(input: Tensor, dim: Int = -1, descending: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.sort: ...
@overload
def sort(input: Tensor, axis: Int = -1, descending: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.sort: ...
@overload
def sort(input: Tensor, *, stable: Bool | None, dim: Int = -1, descending: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.sort: ...
@overload
def sort(input: Tensor, *, stable: Bool | None, axis: Int = -1, descending: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.sort:
    """The elements along a dimension in order, and where each was.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default -1
        The dimension, counted from the end where negative.
    descending : bool, default False
        Whether the largest comes first.
    stable : bool, optional
        Whether equal elements keep their order.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.sort
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.sort(x)
    opweave.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))
    >>> x.sort()
    opweave.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))"""
    ...
@overload
def split(input: Tensor, split_size: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def split(input: Tensor, split_size: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def split(input: Tensor, split_size: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def split(input: Tensor, split_size: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
    """Parts of a dimension, so large as one number or a list of them says, as views.

    Parameters
    ----------
    input : Tensor
        The tensor.
    split_size : sequence of int or int
        How large the parts are.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.split(x, 2)
    (tensor([1., 2.]), tensor([3.]))
    >>> x.split(2)
    (tensor([1., 2.]), tensor([3.]))"""
    ...
@overload
def split_copy(input: Tensor, split_size: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def split_copy(input: Tensor, split_size: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
    """Parts of a dimension, so large as one number or a list of them says, as views. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    split_size : int
        How large the parts are.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.split_copy(x, 2)
    (tensor([1., 2.]), tensor([3.]))
    >>> x.split_copy(2)
    (tensor([1., 2.]), tensor([3.]))"""
    ...
@overload
def split_with_sizes(input: Tensor, split_sizes: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def split_with_sizes(input: Tensor, split_sizes: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]:
    """Parts of a dimension that are so large as a list says, as views.

    Parameters
    ----------
    input : Tensor
        The tensor.
    split_sizes : sequence of int
        How large each part is.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.split_with_sizes(x, [1, 2])
    (tensor([1.]), tensor([2., 3.]))
    >>> x.split_with_sizes([1, 2])
    (tensor([1.]), tensor([2., 3.]))"""
    ...
@overload
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]:
    """Parts of a dimension that are so large as a list says, as views. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    split_sizes : sequence of int
        How large each part is.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.split_with_sizes_copy(x, [1, 2])
    (tensor([1.]), tensor([2., 3.]))
    >>> x.split_with_sizes_copy([1, 2])
    (tensor([1.]), tensor([2., 3.]))"""
    ...
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of each element; NaN for negative numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.sqrt(x)
    tensor([0.5000, 0.7071, 1.0000])
    >>> x.sqrt()
    tensor([0.5000, 0.7071, 1.0000])"""
    ...
def sqrt_(input: Tensor) -> Tensor:
    """The square root of each element; NaN for negative numbers. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> x.sqrt_()
    tensor([0.5000, 0.7071, 1.0000])"""
    ...
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.square(x)
    tensor([1.0000, 0.2500, 4.0000])
    >>> x.square()
    tensor([1.0000, 0.2500, 4.0000])"""
    ...
def square_(input: Tensor) -> Tensor:
    """The square of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.square_()
    tensor([1.0000, 0.2500, 4.0000])"""
    ...
@overload
def squeeze(input: Tensor) -> Tensor: ...
@overload
def squeeze(input: Tensor, dim: Int) -> Tensor: ...
@overload
def squeeze(input: Tensor, axis: Int) -> Tensor: ...
@overload
def squeeze(input: Tensor, dim: Sequence[Int]) -> Tensor: ...
@overload
def squeeze(input: Tensor, axis: Sequence[Int]) -> Tensor:
    """A view without dimensions of size 1: all of them, or those that are named.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [2.0]])
    >>> opweave.squeeze(x, 1)
    tensor([1., 2.])
    >>> x.squeeze(1)
    tensor([1., 2.])"""
    ...
@overload
def squeeze_(input: Tensor) -> Tensor: ...
@overload
def squeeze_(input: Tensor, dim: Int) -> Tensor: ...
@overload
def squeeze_(input: Tensor, axis: Int) -> Tensor: ...
@overload
def squeeze_(input: Tensor, dim: Sequence[Int]) -> Tensor: ...
@overload
def squeeze_(input: Tensor, axis: Sequence[Int]) -> Tensor:
    """A view without dimensions of size 1: all of them, or those that are named. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [2.0]])
    >>> x.squeeze_(1)
    tensor([1., 2.])"""
    ...
@overload
def squeeze_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, dim: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, axis: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, dim: Sequence[Int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, axis: Sequence[Int], *, out: Tensor | None = None) -> Tensor:
    """A view without dimensions of size 1: all of them, or those that are named. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [2.0]])
    >>> opweave.squeeze_copy(x, 1)
    tensor([1., 2.])
    >>> x.squeeze_copy(1)
    tensor([1., 2.])"""
    ...
@overload
def stack(tensors: Sequence[Tensor], dim: Int = 0, *, out: Tensor | None = None) -> Tensor: ...
@overload
def stack(tensors: Sequence[Tensor], axis: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of the same sizes joined along a new dimension.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    dim : int, default 0
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.stack([x, y])
    tensor([[1., 2., 3.],
            [4., 5., 6.]])"""
    ...
@overload
def std(input: Tensor, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def std(input: Tensor, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def std(input: Tensor, unbiased: Bool = True) -> Tensor: ...
@overload
def std(input: Tensor, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def std(input: Tensor, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The standard deviation of all elements, or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    unbiased : bool, default True
        Whether to divide by the number of elements less 1.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    correction : number, optional
        What is subtracted from the number of elements before dividing by it; 1 by default.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.std(x, 1)
    tensor([1., 1.])
    >>> x.std(1)
    tensor([1., 1.])"""
    ...
@overload
def std_mean(input: Tensor, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, unbiased: Bool = True) -> _tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]:
    """The standard deviation and the mean of all elements, or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    unbiased : bool, default True
        Whether to divide by the number of elements less 1.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    correction : number, optional
        What is subtracted from the number of elements before dividing by it; 1 by default.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    tuple[Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.std_mean(x, 1)
    (tensor([1., 1.]), tensor([2., 5.]))
    >>> x.std_mean(1)
    (tensor([1., 1.]), tensor([2., 5.]))"""
    ...
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The Fourier transforms of windows of a signal (short-time Fourier transform), in columns.

    Parameters
    ----------
    input : Tensor
        A signal, or a batch of them.
    n_fft : int
        Points of each transform.
    hop_length : int, optional
        From window to window; a quarter of `n_fft` by default.
    win_length : int, optional
        Points of the window, which stands in the middle of `n_fft`; as many by default.
    window : Tensor, optional
        What the points are multiplied by; ones by default.
    center : bool
        Whether the signal is padded, so that the t-th window is centred at `t * hop_length`.
    pad_mode : str
        How it is padded, as in `nn.functional.pad`.
    normalized : bool
        Whether to divide by the root of `n_fft`.
    onesided : bool, optional
        Whether to give the half that tells the rest; the default for real numbers.
    return_complex : bool, optional
        False for the parts in a last dimension of size 2.
    align_to_window : bool, optional
        Without `center`, whether the first window, rather than its `n_fft` points, starts where the signal does.

    Examples
    --------
    >>> opweave.stft(opweave.ones(16), 8, window=opweave.ones(8), return_complex=True).shape
    opweave.Size([5, 9])"""
    ...
@overload
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def sub(input: Tensor, other: Number, alpha: Number = 1, *, out: Tensor | None = None) -> Tensor:
    """The difference `input - alpha * other`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor of `other`.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.sub(x, y)
    tensor([-3., -3., -3.])
    >>> x.sub(y)
    tensor([-3., -3., -3.])"""
    ...
@overload
def sub_(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
@overload
def sub_(input: Tensor, other: Number, alpha: Number = 1) -> Tensor:
    """The difference `input - alpha * other`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor of `other`.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.sub_(y)
    tensor([-3., -3., -3.])"""
    ...
@overload
def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def subtract(input: Tensor, other: Number, alpha: Number = 1, *, out: Tensor | None = None) -> Tensor:
    """The difference `input - alpha * other`, element by element.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor of `other`.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.sub(x, y)
    tensor([-3., -3., -3.])
    >>> x.sub(y)
    tensor([-3., -3., -3.])"""
    ...
@overload
def subtract_(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
@overload
def subtract_(input: Tensor, other: Number, alpha: Number = 1) -> Tensor:
    """The difference `input - alpha * other`, element by element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    alpha : number, default 1
        A factor of `other`.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> x.sub_(y)
    tensor([-3., -3., -3.])"""
    ...
@overload
def sum(input: Tensor, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def sum(input: Tensor, dim: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def sum(input: Tensor, axis: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The sum of all elements, or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.sum(x, 1)
    tensor([ 6., 15.])
    >>> x.sum(1)
    tensor([ 6., 15.])"""
    ...
def sum_to_size(input: Tensor, size: Sequence[Int]) -> Tensor:
    """The sums that broadcasting to the tensor's sizes would undo.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of int
        The sizes.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.sum_to_size(x, [1, 3])
    tensor([[5., 7., 9.]])
    >>> x.sum_to_size([1, 3])
    tensor([[5., 7., 9.]])"""
    ...
def svd(input: Tensor, some: Bool = True, compute_uv: Bool = True, *, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> return_types.svd:
    """U, S and V (not transposed); without vectors, zeros stand for U and V.

    Parameters
    ----------
    input : Tensor
        The tensor.
    some : bool, default True
        Whether the matrices of vectors are as small as can be.
    compute_uv : bool, default True
        Whether to compute the vectors.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.svd
        A named tuple of tensors: U, S, V.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> [t.shape for t in opweave.svd(x)]
    [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([3, 2])]
    >>> [t.shape for t in x.svd()]
    [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([3, 2])]"""
    ...
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> _tuple[Any, Any, Any]:
    """The q largest singular values of A, or of A - M, with their vectors, by a random projection.

    Parameters
    ----------
    A : Tensor
        (..., m, n)
    q : int, optional
        A little more than the rank; 6 by default.
    niter : int, optional
        How often the projection is made better; 2 by default.
    M : Tensor, optional
        What is subtracted.

    Returns
    -------
    U, S, V : Tensor
        (..., m, q), (..., q) and (..., n, q)

    Examples
    --------
    >>> [t.shape for t in opweave.svd_lowrank(opweave.ones(5, 4), q=2)]
    [opweave.Size([5, 2]), opweave.Size([2]), opweave.Size([4, 2])]"""
    ...
def swapaxes(input: Tensor, axis0: Int, axis1: Int) -> Tensor:
    """A view with two dimensions exchanged; another name of `transpose`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    axis0 : int
        One dimension.
    axis1 : int
        Another dimension.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.swapaxes(x, 0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.swapaxes(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def swapaxes_(input: Tensor, axis0: Int, axis1: Int) -> Tensor:
    """A view with two dimensions exchanged; another name of `transpose`. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    axis0 : int
        One dimension.
    axis1 : int
        Another dimension.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.swapaxes_(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def swapdims(input: Tensor, dim0: Int, dim1: Int) -> Tensor:
    """A view with two dimensions exchanged; another name of `transpose`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim0 : int
        One dimension.
    dim1 : int
        Another dimension.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.swapdims(x, 0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.swapdims(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def swapdims_(input: Tensor, dim0: Int, dim1: Int) -> Tensor:
    """A view with two dimensions exchanged; another name of `transpose`. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim0 : int
        One dimension.
    dim1 : int
        Another dimension.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.swapdims_(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def t(input: Tensor) -> Tensor:
    """A view of a matrix with its dimensions exchanged; a vector as it is.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.t(x)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.t()
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def t_(input: Tensor) -> Tensor:
    """A view of a matrix with its dimensions exchanged; a vector as it is. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.t_()
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of a matrix with its dimensions exchanged; a vector as it is. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.t_copy(x)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.t_copy()
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elements of the flattened tensor at these places.

    Parameters
    ----------
    input : Tensor
        The tensor.
    index : Tensor
        Which places, as whole numbers.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> y = opweave.tensor([0, 5])
    >>> opweave.take(x, y)
    tensor([1., 6.])
    >>> x.take(y)
    tensor([1., 6.])"""
    ...
@overload
def take_along_dim(input: Tensor, indices: Tensor, dim: Int | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def take_along_dim(input: Tensor, indices: Tensor, axis: Int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements along a dimension at places that indices say, as `argsort` gives them.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : Tensor
        Which places, as whole numbers.
    dim : int, optional
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> y = opweave.tensor([1, 2, 0])
    >>> opweave.take_along_dim(x, y, 0)
    tensor([1., 2., 3.])
    >>> x.take_along_dim(y, 0)
    tensor([1., 2., 3.])"""
    ...
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of each element, in radians.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.tan(x)
    tensor([-1.5574,  0.5463, -2.1850])
    >>> x.tan()
    tensor([-1.5574,  0.5463, -2.1850])"""
    ...
def tan_(input: Tensor) -> Tensor:
    """The tangent of each element, in radians. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.tan_()
    tensor([-1.5574,  0.5463, -2.1850])"""
    ...
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.tanh(x)
    tensor([-0.7616,  0.4621,  0.9640])
    >>> x.tanh()
    tensor([-0.7616,  0.4621,  0.9640])"""
    ...
def tanh_(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.tanh_()
    tensor([-0.7616,  0.4621,  0.9640])"""
    ...
def tensor(data: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: _bool = False) -> Tensor:
    """A new tensor with a copy of the data.

    Parameters
    ----------
    data : number, nested sequence, array or Tensor
        Python floats take the default floating type, integers int64; arrays keep their type.
    dtype : DType, optional
        Wanted element type.
    device : Device or str, optional
        Where to put it; the CPU by default.
    requires_grad : bool
        Whether autograd records what is done with it (an argument of `opweave.tensor`).

    Examples
    --------
    >>> opweave.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> opweave.tensor([1.0, 2.0], dtype=opweave.float64)
    tensor([1., 2.], dtype=opweave.float64)"""
    ...
@overload
def tensor_split(input: Tensor, sections: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, sections: Int, axis: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, indices: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, indices: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, axis: Int = 0) -> _tuple[Tensor, ...]:
    """Parts of a dimension as views: a number of them as even as can be, or cut before these places.

    Parameters
    ----------
    input : Tensor
        The tensor.
    tensor_indices_or_sections : Tensor, optional
        How many parts, or where to cut, as a tensor.
    indices : sequence of int, optional
        Which places, as whole numbers.
    sections : int, optional
        How many parts, or where to cut.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.tensor_split(x, 2)
    (tensor([1., 2.]), tensor([3.]))
    >>> x.tensor_split(2)
    (tensor([1., 2.]), tensor([3.]))"""
    ...
def tensordot(a: Tensor, b: Tensor, dims: Int | Sequence[Sequence[Int]] | Tensor = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimensions of one and the first of the other, or over pairs of them.

    Parameters
    ----------
    a, b : Tensor
    dims : int or (list of int, list of int)
        How many, or which of each.
    out : Tensor, optional
        Where to write the result.

    Examples
    --------
    >>> opweave.tensordot(opweave.tensor([1.0, 2.0]), opweave.tensor([3.0, 4.0]), dims=1)
    tensor(11.)"""
    ...
def threshold(input: Tensor, threshold: Number, value: Number, *, out: Tensor | None = None) -> Tensor:
    """x where it exceeds the threshold, else the value.

    Parameters
    ----------
    input : Tensor
        The tensor.
    threshold : number
        The threshold.
    value : number
        The number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-2.0, 0.0, 2.0])
    >>> opweave.threshold(x, 0.5, -1)
    tensor([-1., -1.,  2.])
    >>> x.threshold(0.5, -1)
    tensor([-1., -1.,  2.])"""
    ...
def threshold_(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """x where it exceeds the threshold, else the value. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    threshold : number
        The threshold.
    value : number
        The number.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-2.0, 0.0, 2.0])
    >>> x.threshold_(0.5, -1)
    tensor([-1., -1.,  2.])"""
    ...
@overload
def tile(input: Tensor, dims: Sequence[Int]) -> Tensor: ...
@overload
def tile(input: Tensor, axis: Sequence[Int]) -> Tensor:
    """The tensor so many times along each dimension, the last ones first, as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dims : sequence of int
        How often along each dimension.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1, 2])
    >>> opweave.tile(x, [2, 2])
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    >>> x.tile([2, 2])
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])"""
    ...
@overload
def topk(input: Tensor, k: Int, dim: Int = -1, largest: Bool = True, sorted: Bool = True, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.topk: ...
@overload
def topk(input: Tensor, k: Int, axis: Int = -1, largest: Bool = True, sorted: Bool = True, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.topk:
    """The k largest (or smallest) elements along a dimension, in order, and where they were: of equals, the first.

    Parameters
    ----------
    input : Tensor
        The tensor.
    k : int
        How many, or which.
    dim : int, default -1
        The dimension, counted from the end where negative.
    largest : bool, default True
        Whether to take the largest.
    sorted : bool, default True
        Whether the results are in order.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.topk
        A named tuple of tensors: values, indices.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 1.0, 2.0])
    >>> opweave.topk(x, 2)
    opweave.return_types.topk(
    values=tensor([3., 2.]),
    indices=tensor([0, 2]))
    >>> x.topk(2)
    opweave.return_types.topk(
    values=tensor([3., 2.]),
    indices=tensor([0, 2]))"""
    ...
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.trace(x)
    tensor(5.)
    >>> x.trace()
    tensor(5.)"""
    ...
def transpose(input: Tensor, dim0: Int, dim1: Int) -> Tensor:
    """A view with two dimensions exchanged.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim0 : int
        One dimension.
    dim1 : int
        Another dimension.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.transpose(x, 0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.transpose(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def transpose_(input: Tensor, dim0: Int, dim1: Int) -> Tensor:
    """A view with two dimensions exchanged. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim0 : int
        One dimension.
    dim1 : int
        Another dimension.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.transpose_(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
def transpose_copy(input: Tensor, dim0: Int, dim1: Int, *, out: Tensor | None = None) -> Tensor:
    """A view with two dimensions exchanged. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim0 : int
        One dimension.
    dim1 : int
        Another dimension.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.transpose_copy(x, 0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])
    >>> x.transpose_copy(0, 1)
    tensor([[1., 4.],
            [2., 5.],
            [3., 6.]])"""
    ...
@overload
def trapezoid(y: Tensor, x: Tensor, *, dim: Int = -1) -> Tensor: ...
@overload
def trapezoid(y: Tensor, x: Tensor, *, axis: Int = -1) -> Tensor: ...
@overload
def trapezoid(y: Tensor, *, dx: Number = 1, dim: Int = -1) -> Tensor: ...
@overload
def trapezoid(y: Tensor, *, dx: Number = 1, axis: Int = -1) -> Tensor:
    """The area under lines from element to element.

    Parameters
    ----------
    y : Tensor
        The values.
    x : Tensor, optional
        The tensor.
    dx : number, default 1
        How far apart the points are.
    dim : int, default -1
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.trapezoid(x)
    tensor(4.)"""
    ...
@overload
def trapz(y: Tensor, x: Tensor, *, dim: Int = -1) -> Tensor: ...
@overload
def trapz(y: Tensor, x: Tensor, *, axis: Int = -1) -> Tensor: ...
@overload
def trapz(y: Tensor, *, dx: Float = 1.0, dim: Int = -1) -> Tensor: ...
@overload
def trapz(y: Tensor, *, dx: Float = 1.0, axis: Int = -1) -> Tensor:
    """The area under lines from element to element.

    Parameters
    ----------
    y : Tensor
        The values.
    x : Tensor, optional
        The tensor.
    dx : float, default 1.0
        How far apart the points are.
    dim : int, default -1
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.trapz(x)
    tensor(4.)"""
    ...
def triangular_solve(input: Tensor, A: Tensor, upper: Bool = True, transpose: Bool = False, unitriangular: Bool = False, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.triangular_solve:
    """X with A X = B for triangular matrices A, or their transpose, and a copy of A.

    Parameters
    ----------
    input : Tensor
        The tensor.
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    upper : bool, default True
        Whether the upper triangle is meant.
    transpose : bool, default False
        Whether to use the transposed matrix.
    unitriangular : bool, default False
        Whether the diagonal is 1, and not read.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.triangular_solve
        A named tuple of tensors: solution, cloned_coefficient.

    Examples
    --------
    >>> x = opweave.tensor([[3.0], [4.0]])
    >>> y = opweave.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> opweave.triangular_solve(x, y)
    opweave.return_types.triangular_solve(
    solution=tensor([[1.],
            [1.]]),
    cloned_coefficient=tensor([[2., 1.],
            [0., 4.]]))
    >>> x.triangular_solve(y)
    opweave.return_types.triangular_solve(
    solution=tensor([[1.],
            [1.]]),
    cloned_coefficient=tensor([[2., 1.],
            [0., 4.]]))"""
    ...
def tril(input: Tensor, diagonal: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices; 0 above the diagonal.

    Parameters
    ----------
    input : Tensor
        The tensor.
    diagonal : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.tril(x)
    tensor([[1., 0.],
            [3., 4.]])
    >>> x.tril()
    tensor([[1., 0.],
            [3., 4.]])"""
    ...
def tril_(input: Tensor, diagonal: Int = 0) -> Tensor:
    """The lower triangle of matrices; 0 above the diagonal. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    diagonal : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.tril_()
    tensor([[1., 0.],
            [3., 4.]])"""
    ...
def tril_indices(row: Int, col: Int, offset: Int = 0, *, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
    """The rows and columns of the elements of a lower triangle.

    Parameters
    ----------
    row : int
        How many rows.
    col : int
        How many columns.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dtype : dtype, optional, default opweave.int64
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])"""
    ...
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: Float = 1.0, p: Float = 2.0, eps: Float = 1e-06, swap: Bool = False, reduction: Int = 1) -> Tensor:
    """max(0, margin + |a - p| - |a - n|), by p-norms; `swap` takes the nearer of a and p to the negative.

    Parameters
    ----------
    anchor : Tensor
        The examples.
    positive : Tensor
        The examples to be near to.
    negative : Tensor
        The examples to be far from.
    margin : float, default 1.0
        The margin.
    p : float, default 2.0
        The p of the norm.
    eps : float, default 1e-06
        A small number that keeps divisors off 0.
    swap : bool, default False
        Whether to take the nearer of two negatives.
    reduction : int, default 1
        0 none, 1 mean, 2 sum.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 0.0]])
    >>> y = opweave.tensor([[0.0, 1.0]])
    >>> z = opweave.tensor([[3.0, 4.0]])
    >>> opweave.triplet_margin_loss(x, y, z)
    tensor(0.)"""
    ...
def triu(input: Tensor, diagonal: Int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices; 0 below the diagonal.

    Parameters
    ----------
    input : Tensor
        The tensor.
    diagonal : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.triu(x)
    tensor([[1., 2.],
            [0., 4.]])
    >>> x.triu()
    tensor([[1., 2.],
            [0., 4.]])"""
    ...
def triu_(input: Tensor, diagonal: Int = 0) -> Tensor:
    """The upper triangle of matrices; 0 below the diagonal. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    diagonal : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.triu_()
    tensor([[1., 2.],
            [0., 4.]])"""
    ...
def triu_indices(row: Int, col: Int, offset: Int = 0, *, dtype: DTypeLike | None = ..., layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
    """The rows and columns of the elements of an upper triangle.

    Parameters
    ----------
    row : int
        How many rows.
    col : int
        How many columns.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dtype : dtype, optional, default opweave.int64
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])"""
    ...
@overload
def true_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def true_divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None, out: Tensor | None = None) -> Tensor:
    """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    rounding_mode : {'trunc', 'floor'}, optional
        Towards 0 or down; by default the quotient stays as it is.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([7.0, -7.0])
    >>> opweave.div(x, 2, rounding_mode='floor')
    tensor([ 3., -4.])
    >>> x.div(2, rounding_mode='floor')
    tensor([ 3., -4.])"""
    ...
@overload
def true_divide_(input: Tensor, other: Tensor | Number) -> Tensor: ...
@overload
def true_divide_(input: Tensor, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
    """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    rounding_mode : {'trunc', 'floor'}, optional
        Towards 0 or down; by default the quotient stays as it is.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([7.0, -7.0])
    >>> x.div_(2, rounding_mode='floor')
    tensor([ 3., -4.])"""
    ...
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.trunc(x)
    tensor([-1.,  0.,  2.])
    >>> x.trunc()
    tensor([-1.,  0.,  2.])"""
    ...
def trunc_(input: Tensor) -> Tensor:
    """Each element without its fraction. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> x.trunc_()
    tensor([-1.,  0.,  2.])"""
    ...
@overload
def unbind(input: Tensor, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def unbind(input: Tensor, axis: Int = 0) -> _tuple[Tensor, ...]:
    """The slices along a dimension, as views.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.unbind(x)
    (tensor([1., 2.]), tensor([3., 4.]))
    >>> x.unbind()
    (tensor([1., 2.]), tensor([3., 4.]))"""
    ...
@overload
def unbind_copy(input: Tensor, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def unbind_copy(input: Tensor, axis: Int = 0) -> _tuple[Tensor, ...]:
    """The slices along a dimension, as views. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.unbind_copy(x)
    (tensor([1., 2.]), tensor([3., 4.]))
    >>> x.unbind_copy()
    (tensor([1., 2.]), tensor([3., 4.]))"""
    ...
@overload
def unflatten(input: Tensor, dim: Int, sizes: Sequence[Int]) -> Tensor: ...
@overload
def unflatten(input: Tensor, axis: Int, sizes: Sequence[Int]) -> Tensor:
    """One dimension as several, as a view; one of their sizes may be -1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    sizes : sequence of int
        The sizes.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1, 2, 3, 4])
    >>> opweave.unflatten(x, 0, [2, 2])
    tensor([[1, 2],
            [3, 4]])
    >>> x.unflatten(0, [2, 2])
    tensor([[1, 2],
            [3, 4]])"""
    ...
def unfold_copy(input: Tensor, dimension: Int, size: Int, step: Int, *, out: Tensor | None = None) -> Tensor:
    """Windows of `size` elements of a dimension, `step` apart, in a new last dimension. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dimension : int
        The dimension.
    size : int
        The sizes.
    step : int
        How far apart.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1, 2, 3, 4])
    >>> x.unfold_copy(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]])"""
    ...
def uniform_(input: Tensor, from_: Float = 0.0, to: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Numbers drawn evenly from an interval, in the shape of the tensor. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    from_ : float, default 0.0
        The least of the numbers.
    to : float, default 1.0
        Where they end, itself not among them.
    generator : Generator, optional
        The source of random numbers; the device's own by default.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.uniform_().shape
    opweave.Size([3])"""
    ...
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: Int | None = None) -> Tensor: ...
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = True, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: Int | None = None) -> Any:
    """The distinct elements in order, or slices along a dimension.

    Parameters
    ----------
    input : Tensor
    sorted : bool
        They always are.
    return_inverse : bool
        Give the place of each element among them too.
    return_counts : bool
        Give how often each is there too.
    dim : int, optional
        Compare slices along this dimension.

    Examples
    --------
    >>> opweave.unique(opweave.tensor([2, 1, 2]))
    tensor([1, 2])"""
    ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: Int | None = None) -> Tensor: ...
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: Int | None = None) -> Any:
    """The first of each run of equal elements, or of equal slices along a dimension.

    Parameters
    ----------
    input : Tensor
    return_inverse : bool
        Give the run of each element too.
    return_counts : bool
        Give how long each run is too.
    dim : int, optional
        Compare slices along this dimension.

    Examples
    --------
    >>> opweave.unique_consecutive(opweave.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])"""
    ...
@overload
def unique_dim(input: Tensor, dim: Int, sorted: Bool = True, return_inverse: Bool = False, return_counts: Bool = False) -> _tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_dim(input: Tensor, axis: Int, sorted: Bool = True, return_inverse: Bool = False, return_counts: Bool = False) -> _tuple[Tensor, Tensor, Tensor]:
    """The distinct slices along a dimension, in order.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    sorted : bool, default True
        Whether the results are in order.
    return_inverse : bool, default False
        Whether to give where each went.
    return_counts : bool, default False
        Whether to give how often each was there.

    Returns
    -------
    tuple[Tensor, Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1, 2], [1, 2]])
    >>> opweave.unique_dim(x, 0)
    (tensor([[1, 2]]), tensor([], dtype=opweave.int64), tensor([], dtype=opweave.int64))
    >>> x.unique_dim(0)
    (tensor([[1, 2]]), tensor([], dtype=opweave.int64), tensor([], dtype=opweave.int64))"""
    ...
def unravel_index(indices: Tensor, shape: Int | Sequence[Int]) -> _tuple[Tensor, ...]:
    """The index along each dimension of elements that are counted in a tensor of this shape.

    Examples
    --------
    >>> opweave.unravel_index(opweave.tensor([4, 1]), (2, 3))
    (tensor([1, 0]), tensor([1, 1]))"""
    ...
@overload
def unsafe_chunk(input: Tensor, chunks: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def unsafe_chunk(input: Tensor, chunks: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
    """`chunk`, of whose results autograd lets each be written.

    Parameters
    ----------
    input : Tensor
        The tensor.
    chunks : int
        How many parts.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.unsafe_chunk(x, 2)
    (tensor([1., 2.]), tensor([3.]))
    >>> x.unsafe_chunk(2)
    (tensor([1., 2.]), tensor([3.]))"""
    ...
@overload
def unsafe_split(input: Tensor, split_size: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def unsafe_split(input: Tensor, split_size: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
    """`split`, of whose results autograd lets each be written.

    Parameters
    ----------
    input : Tensor
        The tensor.
    split_size : int
        How large the parts are.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.unsafe_split(x, 2)
    (tensor([1., 2.]), tensor([3.]))
    >>> x.unsafe_split(2)
    (tensor([1., 2.]), tensor([3.]))"""
    ...
@overload
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
@overload
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]:
    """`split_with_sizes`, of whose results autograd lets each be written.

    Parameters
    ----------
    input : Tensor
        The tensor.
    split_sizes : sequence of int
        How large each part is.
    dim : int, default 0
        The dimension, counted from the end where negative.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.unsafe_split_with_sizes(x, [1, 2])
    (tensor([1.]), tensor([2., 3.]))
    >>> x.unsafe_split_with_sizes([1, 2])
    (tensor([1.]), tensor([2., 3.]))"""
    ...
@overload
def unsqueeze(input: Tensor, dim: Int) -> Tensor: ...
@overload
def unsqueeze(input: Tensor, axis: Int) -> Tensor:
    """A view with a new dimension of size 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.unsqueeze(x, 0)
    tensor([[1., 2., 3.]])
    >>> x.unsqueeze(0)
    tensor([[1., 2., 3.]])"""
    ...
@overload
def unsqueeze_(input: Tensor, dim: Int) -> Tensor: ...
@overload
def unsqueeze_(input: Tensor, axis: Int) -> Tensor:
    """A view with a new dimension of size 1. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.unsqueeze_(0)
    tensor([[1., 2., 3.]])"""
    ...
@overload
def unsqueeze_copy(input: Tensor, dim: Int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def unsqueeze_copy(input: Tensor, axis: Int, *, out: Tensor | None = None) -> Tensor:
    """A view with a new dimension of size 1. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.unsqueeze_copy(x, 0)
    tensor([[1., 2., 3.]])
    >>> x.unsqueeze_copy(0)
    tensor([[1., 2., 3.]])"""
    ...
def vander(x: Tensor, N: Int | None = None, increasing: Bool = False) -> Tensor:
    """The powers of each element, a row for each, the highest first.

    Parameters
    ----------
    x : Tensor
        The tensor.
    N : int, optional
        How many powers.
    increasing : bool, default False
        Whether the powers increase.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.vander(x)
    tensor([[1., 1., 1.],
            [4., 2., 1.],
            [9., 3., 1.]])"""
    ...
@overload
def var(input: Tensor, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def var(input: Tensor, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def var(input: Tensor, unbiased: Bool = True) -> Tensor: ...
@overload
def var(input: Tensor, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def var(input: Tensor, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The variance of all elements, or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    unbiased : bool, default True
        Whether to divide by the number of elements less 1.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    correction : number, optional
        What is subtracted from the number of elements before dividing by it; 1 by default.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.var(x, 1)
    tensor([1., 1.])
    >>> x.var(1)
    tensor([1., 1.])"""
    ...
@overload
def var_mean(input: Tensor, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, out: _tuple[Tensor, Tensor] | None = None, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, unbiased: Bool = True) -> _tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]:
    """The variance and the mean of all elements, or over dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    unbiased : bool, default True
        Whether to divide by the number of elements less 1.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    correction : number, optional
        What is subtracted from the number of elements before dividing by it; 1 by default.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    tuple[Tensor, Tensor]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.var_mean(x, 1)
    (tensor([1., 1.]), tensor([2., 5.]))
    >>> x.var_mean(1)
    (tensor([1., 1.]), tensor([2., 5.]))"""
    ...
def vdot(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The sum of products of two vectors, the first conjugated.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.vdot(x, y)
    tensor(32.)
    >>> x.vdot(y)
    tensor(32.)"""
    ...
@overload
def view(input: Tensor, size: Sequence[Int]) -> Tensor: ...
@overload
def view(input: Tensor, dtype: DTypeLike) -> Tensor:
    """The same memory with other sizes, or as elements of another type.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dtype : dtype, optional
        The element type of the result.
    size : sequence of int, optional
        The sizes.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.view(x, [3, 2])
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])
    >>> x.view([3, 2])
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])"""
    ...
def view_as(input: Tensor, other: Tensor | Number) -> Tensor:
    """A view with the sizes of another tensor.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> y = opweave.zeros(3, 2)
    >>> opweave.view_as(x, y)
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])
    >>> x.view_as(y)
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])"""
    ...
def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs in the last dimension as complex numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.view_as_complex(x)
    tensor([1.+2.j, 3.+4.j])
    >>> x.view_as_complex()
    tensor([1.+2.j, 3.+4.j])"""
    ...
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of pairs in the last dimension as complex numbers. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.view_as_complex_copy(x)
    tensor([1.+2.j, 3.+4.j])
    >>> x.view_as_complex_copy()
    tensor([1.+2.j, 3.+4.j])"""
    ...
def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers as pairs in a new last dimension.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> opweave.view_as_real(x)
    tensor([[1., 2.]])
    >>> x.view_as_real()
    tensor([[1., 2.]])"""
    ...
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of complex numbers as pairs in a new last dimension. Here as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1 + 2j])
    >>> opweave.view_as_real_copy(x)
    tensor([[1., 2.]])
    >>> x.view_as_real_copy()
    tensor([[1., 2.]])"""
    ...
@overload
def view_copy(input: Tensor, size: Sequence[Int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def view_copy(input: Tensor, dtype: DTypeLike, *, out: Tensor | None = None) -> Tensor:
    """The same elements with other sizes, as a copy.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dtype : dtype, optional
        The element type of the result.
    size : sequence of int, optional
        The sizes.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> opweave.view_copy(x, [3, 2])
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])
    >>> x.view_copy([3, 2])
    tensor([[1., 2.],
            [3., 4.],
            [5., 6.]])"""
    ...
@overload
def vsplit(input: Tensor, sections: Int) -> _tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, indices: Sequence[Int]) -> _tuple[Tensor, ...]:
    """Parts of the first dimension, as views.

    Parameters
    ----------
    input : Tensor
        The tensor.
    indices : sequence of int, optional
        Which places, as whole numbers.
    sections : int, optional
        How many parts, or where to cut.

    Returns
    -------
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.vsplit(x, 2)
    (tensor([[1., 2.]]), tensor([[3., 4.]]))
    >>> x.vsplit(2)
    (tensor([[1., 2.]]), tensor([[3., 4.]]))"""
    ...
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the first dimension, vectors as rows.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.vstack([x, y])
    tensor([[1., 2., 3.],
            [4., 5., 6.]])"""
    ...
@overload
def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: Tensor) -> _tuple[Tensor, ...]:
    """The elements of `input` where a condition holds, those of `other` elsewhere; alone, where it holds.

    Parameters
    ----------
    condition : Tensor
        Truth values.
    input : Tensor or number, optional
        The tensor.
    other : Tensor or number, optional
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast.
    tuple[Tensor, ...]
        The tensors.

    Examples
    --------
    >>> x = opweave.tensor([True, False])
    >>> y = opweave.tensor([1.0, 2.0])
    >>> z = opweave.tensor([3.0, 4.0])
    >>> opweave.where(x, y, z)
    tensor([1., 4.])"""
    ...
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """x log(y), 0 where x is 0.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.xlogy(x, y)
    tensor([-0.6931,  0.5493,  0.0000])
    >>> x.xlogy(y)
    tensor([-0.6931,  0.5493,  0.0000])"""
    ...
def xlogy_(input: Tensor, other: Tensor | Number) -> Tensor:
    """x log(y), 0 where x is 0. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> x.xlogy_(y)
    tensor([-0.6931,  0.5493,  0.0000])"""
    ...
def zero_(input: Tensor) -> Tensor:
    """A tensor like this one with 0 everywhere. In place.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        The first tensor, which was written to.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> x.zero_()
    tensor([0., 0., 0.])"""
    ...
@overload
def zeros(size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor: ...
@overload
def zeros(*size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor of some sizes with 0 everywhere.

    Parameters
    ----------
    *size : sequence of int or int
        The sizes.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> opweave.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])"""
    ...
def zeros_like(input: Tensor, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, out: Tensor | None = None, requires_grad: Bool = False) -> Tensor:
    """A tensor like another with 0 everywhere.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dtype : dtype, optional
        The element type of the result.
    layout : layout, optional
        How the elements lie; `strided` is the one there is.
    device : device or str, optional
        Where the result is; by default in main memory, or where the argument is.
    pin_memory : bool, optional
        For the signature's sake.
    memory_format : memory_format, optional
        How the result lies in memory.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.
    requires_grad : bool, default False
        Whether autograd records what is done with the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.zeros_like(x)
    tensor([0., 0., 0.])
    >>> x.zeros_like()
    tensor([0., 0., 0.])"""
    ...
def cuda_is_available() -> _bool: ...
def __dir__() -> list[_str]: ...

__all__ = ['DispatchKey', 'DispatchKeySet', 'DispatchMode', 'FakeTensor', 'FakeTensorMode', 'Generator', 'HigherOrderOperator', 'KernelProfile', 'LaunchProfile', 'OpOverload', 'OpOverloadPacket', 'ShapeEnv', 'Size', 'SymBool', 'SymFloat', 'SymInt', 'Tag', 'Tensor', 'TorchDispatchMode', '_foreach_abs_', '_foreach_acos_', '_foreach_add_', '_foreach_addcdiv_', '_foreach_addcmul_', '_foreach_asin_', '_foreach_atan_', '_foreach_ceil_', '_foreach_clamp_max_', '_foreach_clamp_min_', '_foreach_copy_', '_foreach_cos_', '_foreach_cosh_', '_foreach_div_', '_foreach_erf_', '_foreach_erfc_', '_foreach_exp_', '_foreach_expm1_', '_foreach_floor_', '_foreach_frac_', '_foreach_lerp_', '_foreach_lgamma_', '_foreach_log10_', '_foreach_log1p_', '_foreach_log2_', '_foreach_log_', '_foreach_maximum_', '_foreach_minimum_', '_foreach_mul_', '_foreach_neg_', '_foreach_pow_', '_foreach_reciprocal_', '_foreach_round_', '_foreach_rsqrt_', '_foreach_sigmoid_', '_foreach_sign_', '_foreach_sin_', '_foreach_sinh_', '_foreach_sqrt_', '_foreach_sub_', '_foreach_tan_', '_foreach_tanh_', '_foreach_trunc_', '_foreach_zero_', 'abs', 'abs_', 'absolute', 'absolute_', 'acos', 'acos_', 'acosh', 'acosh_', 'adaptive_avg_pool1d', 'adaptive_max_pool1d', 'add', 'add_', 'addbmm', 'addbmm_', 'addcdiv', 'addcdiv_', 'addcmul', 'addcmul_', 'addmm', 'addmm_', 'addmv', 'addmv_', 'addr', 'addr_', 'adjoint', 'alias', 'alias_copy', 'all', 'allclose', 'alpha_dropout', 'alpha_dropout_', 'amax', 'amin', 'aminmax', 'amp', 'angle', 'any', 'arange', 'arccos', 'arccos_', 'arccosh', 'arccosh_', 'arcsin', 'arcsin_', 'arcsinh', 'arcsinh_', 'arctan', 'arctan2', 'arctan2_', 'arctan_', 'arctanh', 'arctanh_', 'argmax', 'argmin', 'argsort', 'argwhere', 'as_strided', 'as_strided_', 'as_strided_copy', 'as_strided_scatter', 'as_tensor', 'asarray', 'asin', 'asin_', 'asinh', 'asinh_', 'associative_scan', 'atan', 'atan2', 'atan2_', 'atan_', 'atanh', 'atanh_', 'atleast_1d', 'atleast_2d', 'atleast_3d', 'autocast', 'autograd', 'avg_pool1d', 'baddbmm', 'baddbmm_', 'bartlett_window', 'batch_norm', 'bernoulli', 'bernoulli_', 'bfloat16', 'bilinear', 'binary_cross_entropy_with_logits', 'bincount', 'binomial', 'bitwise_and', 'bitwise_and_', 'bitwise_left_shift', 'bitwise_left_shift_', 'bitwise_not', 'bitwise_not_', 'bitwise_or', 'bitwise_or_', 'bitwise_right_shift', 'bitwise_right_shift_', 'bitwise_xor', 'bitwise_xor_', 'blackman_window', 'block_diag', 'bmm', 'bool', 'broadcast_shapes', 'broadcast_tensors', 'broadcast_to', 'bucketize', 'can_cast', 'cartesian_prod', 'cat', 'cauchy_', 'cdist', 'cdouble', 'ceil', 'ceil_', 'celu', 'cfloat', 'chain_matmul', 'channel_shuffle', 'channels_last', 'channels_last_3d', 'check', 'check_is_size', 'checkpoint', 'cholesky', 'cholesky_inverse', 'cholesky_solve', 'chunk', 'clamp', 'clamp_', 'clamp_max', 'clamp_max_', 'clamp_min', 'clamp_min_', 'clear_autocast_cache', 'clip', 'clip_', 'clone', 'column_stack', 'combinations', 'compile', 'complex', 'complex128', 'complex64', 'concat', 'concatenate', 'cond', 'conj', 'conj_physical', 'conj_physical_', 'constant_pad_nd', 'contiguous', 'contiguous_format', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'convolution', 'copy_', 'copysign', 'copysign_', 'corrcoef', 'cos', 'cos_', 'cosh', 'cosh_', 'cosine_embedding_loss', 'cosine_similarity', 'count_nonzero', 'cov', 'cross', 'ctc_loss', 'cuda_is_available', 'cummax', 'cummin', 'cumprod', 'cumprod_', 'cumsum', 'cumsum_', 'cumulative_trapezoid', 'deg2rad', 'deg2rad_', 'det', 'detach', 'detach_copy', 'device', 'diag', 'diag_embed', 'diagflat', 'diagonal', 'diagonal_copy', 'diagonal_scatter', 'diff', 'digamma', 'digamma_', 'dist', 'distributions', 'div', 'div_', 'divide', 'divide_', 'dot', 'double', 'dropout', 'dropout_', 'dsplit', 'dstack', 'dtype', 'e', 'einsum', 'elu_', 'embedding', 'embedding_bag', 'embedding_renorm_', 'empty', 'empty_like', 'empty_permuted', 'empty_strided', 'enable_grad', 'eq', 'eq_', 'equal', 'erf', 'erf_', 'erfc', 'erfc_', 'erfinv', 'erfinv_', 'exp', 'exp2', 'exp2_', 'exp_', 'expand', 'expand_as', 'expand_copy', 'explain', 'expm1', 'expm1_', 'exponential_', 'export', 'eye', 'feature_alpha_dropout', 'feature_alpha_dropout_', 'feature_dropout', 'feature_dropout_', 'fft', 'fill', 'fill_', 'fill_diagonal_', 'finfo', 'fix', 'fix_', 'flatten', 'flip', 'fliplr', 'flipud', 'float', 'float16', 'float32', 'float64', 'float8_e4m3fn', 'float8_e4m3fnuz', 'float8_e5m2', 'float8_e5m2fnuz', 'float8_e8m0fnu', 'float_power', 'float_power_', 'floor', 'floor_', 'floor_divide', 'floor_divide_', 'fmax', 'fmin', 'fmod', 'fmod_', 'frac', 'frac_', 'frexp', 'frobenius_norm', 'from_dlpack', 'from_numpy', 'frombuffer', 'full', 'full_like', 'func', 'fx', 'gather', 'gcd', 'gcd_', 'ge', 'ge_', 'gelu', 'gelu_', 'geometric_', 'geqrf', 'ger', 'get_autocast_dtype', 'get_default_dtype', 'get_num_threads', 'get_printoptions', 'get_rng_state', 'gradient', 'greater', 'greater_', 'greater_equal', 'greater_equal_', 'grid_sampler', 'grid_sampler_2d', 'grid_sampler_3d', 'group_norm', 'gru_cell', 'gt', 'gt_', 'half', 'hamming_window', 'hann_window', 'hardshrink', 'hardsigmoid_', 'hardswish_', 'hardtanh_', 'hash_tensor', 'heaviside', 'heaviside_', 'hinge_embedding_loss', 'histc', 'histogram', 'histogramdd', 'hsplit', 'hstack', 'hypot', 'hypot_', 'i0', 'i0_', 'igamma', 'igamma_', 'igammac', 'igammac_', 'iinfo', 'imag', 'index_add', 'index_add_', 'index_copy', 'index_copy_', 'index_fill', 'index_fill_', 'index_put', 'index_put_', 'index_reduce', 'index_reduce_', 'index_select', 'inf', 'inference_mode', 'initial_seed', 'inner', 'int', 'int16', 'int32', 'int64', 'int8', 'inverse', 'is_anomaly_check_nan_enabled', 'is_anomaly_enabled', 'is_autocast_cache_enabled', 'is_autocast_enabled', 'is_complex', 'is_conj', 'is_floating_point', 'is_grad_enabled', 'is_inference_mode_enabled', 'is_neg', 'is_nonzero', 'is_same_size', 'is_signed', 'is_tensor', 'isclose', 'isfinite', 'isin', 'isinf', 'isnan', 'isneginf', 'isposinf', 'isreal', 'istft', 'kaiser_window', 'kernel_accesses', 'kl_div', 'kron', 'kthvalue', 'layer_norm', 'layout', 'lcm', 'lcm_', 'ldexp', 'ldexp_', 'le', 'le_', 'leaky_relu_', 'lerp', 'lerp_', 'less', 'less_', 'less_equal', 'less_equal_', 'lgamma', 'lgamma_', 'library', 'lift_fresh_copy', 'linalg', 'linspace', 'load', 'load_compiled', 'log', 'log10', 'log10_', 'log1p', 'log1p_', 'log2', 'log2_', 'log_', 'log_normal_', 'log_softmax', 'logaddexp', 'logaddexp2', 'logcumsumexp', 'logdet', 'logical_and', 'logical_and_', 'logical_not', 'logical_not_', 'logical_or', 'logical_or_', 'logical_xor', 'logical_xor_', 'logit', 'logit_', 'logspace', 'logsumexp', 'long', 'lstm_cell', 'lt', 'lt_', 'lu', 'lu_solve', 'lu_unpack', 'make_fx', 'manual_seed', 'map', 'margin_ranking_loss', 'mark_dynamic', 'mark_static', 'masked', 'masked_fill', 'masked_fill_', 'masked_scatter', 'masked_scatter_', 'masked_select', 'matmul', 'matrix_exp', 'matrix_power', 'max', 'max_pool2d', 'max_pool3d', 'maximum', 'mean', 'median', 'memory_format', 'meshgrid', 'min', 'minimum', 'mish_', 'mm', 'mode', 'moveaxis', 'movedim', 'msort', 'mul', 'mul_', 'multinomial', 'multiply', 'multiply_', 'mv', 'mvlgamma', 'mvlgamma_', 'nan', 'nan_to_num', 'nan_to_num_', 'nanmean', 'nanmedian', 'nanquantile', 'nansum', 'narrow', 'narrow_copy', 'native_batch_norm', 'native_dropout', 'native_group_norm', 'native_layer_norm', 'ne', 'ne_', 'neg', 'neg_', 'negative', 'negative_', 'new_empty', 'new_empty_strided', 'new_full', 'new_ones', 'new_zeros', 'newaxis', 'nextafter', 'nextafter_', 'nn', 'no_grad', 'nonzero', 'nonzero_numpy', 'nonzero_static', 'norm', 'normal', 'normal_', 'not_equal', 'not_equal_', 'nuclear_norm', 'numel', 'ones', 'ones_like', 'ops', 'optim', 'orgqr', 'ormqr', 'outer', 'overrides', 'pairwise_distance', 'pca_lowrank', 'pdist', 'permute', 'permute_copy', 'pi', 'pinverse', 'pixel_shuffle', 'pixel_unshuffle', 'poisson', 'poisson_nll_loss', 'polar', 'polygamma', 'polygamma_', 'positive', 'pow', 'pow_', 'prelu', 'preserve_format', 'prod', 'profile', 'promote_types', 'put', 'put_', 'qr', 'quantile', 'rad2deg', 'rad2deg_', 'rand', 'rand_like', 'randint', 'randint_like', 'randn', 'randn_like', 'random_', 'randperm', 'ravel', 'real', 'reciprocal', 'reciprocal_', 'relu', 'relu6_', 'relu_', 'remainder', 'remainder_', 'renorm', 'renorm_', 'repeat', 'repeat_interleave', 'report', 'reshape', 'reshape_as', 'resize_', 'resize_as_', 'resolve_conj', 'resolve_neg', 'result_type', 'return_types', 'rms_norm', 'rnn_relu_cell', 'rnn_tanh_cell', 'roll', 'rot90', 'round', 'round_', 'row_stack', 'rsqrt', 'rsqrt_', 'rsub', 'safetensors', 'sanitize', 'save', 'scalar_tensor', 'scaled_dot_product_attention', 'scan', 'scatter', 'scatter_', 'scatter_add', 'scatter_add_', 'scatter_reduce', 'scatter_reduce_', 'searchsorted', 'seed', 'segment_reduce', 'select', 'select_copy', 'select_scatter', 'selu', 'set_autocast_cache_enabled', 'set_autocast_dtype', 'set_autocast_enabled', 'set_default_dtype', 'set_grad_enabled', 'set_num_threads', 'set_printoptions', 'set_rng_state', 'sgn', 'sgn_', 'short', 'sigmoid', 'sigmoid_', 'sign', 'sign_', 'signal', 'signbit', 'silu_', 'sin', 'sin_', 'sinc', 'sinc_', 'sinh', 'sinh_', 'slice', 'slice_copy', 'slice_scatter', 'slogdet', 'softmax', 'softplus', 'sort', 'special', 'split', 'split_copy', 'split_with_sizes', 'split_with_sizes_copy', 'sqrt', 'sqrt_', 'square', 'square_', 'squeeze', 'squeeze_', 'squeeze_copy', 'stack', 'std', 'std_mean', 'stft', 'strided', 'sub', 'sub_', 'subtract', 'subtract_', 'sum', 'sum_to_size', 'svd', 'svd_lowrank', 'swapaxes', 'swapaxes_', 'swapdims', 'swapdims_', 'sym_float', 'sym_int', 'sym_max', 'sym_min', 'sym_not', 't', 't_', 't_copy', 'take', 'take_along_dim', 'tan', 'tan_', 'tanh', 'tanh_', 'tensor', 'tensor_split', 'tensordot', 'testing', 'threshold', 'threshold_', 'tile', 'topk', 'trace', 'transpose', 'transpose_', 'transpose_copy', 'trapezoid', 'trapz', 'triangular_solve', 'tril', 'tril_', 'tril_indices', 'triplet_margin_loss', 'triu', 'triu_', 'triu_indices', 'true_divide', 'true_divide_', 'trunc', 'trunc_', 'uint16', 'uint32', 'uint64', 'uint8', 'unbind', 'unbind_copy', 'unflatten', 'unfold_copy', 'uniform_', 'unique', 'unique_consecutive', 'unique_dim', 'unravel_index', 'unsafe_chunk', 'unsafe_split', 'unsafe_split_with_sizes', 'unsqueeze', 'unsqueeze_', 'unsqueeze_copy', 'utils', 'vander', 'var', 'var_mean', 'vdot', 'view', 'view_as', 'view_as_complex', 'view_as_complex_copy', 'view_as_real', 'view_as_real_copy', 'view_copy', 'vmap', 'vsplit', 'vstack', 'where', 'while_loop', 'xlogy', 'xlogy_', 'zero_', 'zeros', 'zeros_like']
