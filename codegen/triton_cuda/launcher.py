"""Launches of kernels compiled for CUDA."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from opweave.codegen.native.arguments import flatten, parameters
from opweave.codegen.triton_cuda.arguments import pack, slot, spread, spread_parameters, tensor_maps
from opweave.codegen.triton_cuda.library import CtypesUtils, check, cupy, homes, libcuda, on_device
from opweave.codegen.triton_cuda.memory import profile_scratch, scratch
from opweave.registry.errors import DeviceError, OutOfRangeError

# Constants of cuda.h: CUlaunchAttributeID, CUclusterSchedulingPolicy, CUfunction_attribute.
_COOPERATIVE, _CLUSTER_DIMENSION, _CLUSTER_POLICY, _DEPENDENT_LAUNCH = 2, 4, 5, 6
_CLUSTER_POLICY_SPREAD = 1
_ANY_CLUSTER_SIZE = 14
_MAX_ATTRIBUTES = 4


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class CtypesLauncher:
    """What `kernel[grid](...)` calls on CUDA, made once a compiled kernel.

    Parameters
    ----------
    src : ASTSource
        Its `signature` says how to pass each argument.
    metadata : namedtuple
        The compiled kernel's metadata.
    """

    def __init__(self, src: Any, metadata: Any) -> None:
        self._name: str = metadata.name
        self._signature = tuple(src.signature.values())
        self._maps = tensor_maps(metadata)
        self._params = (
            tuple(spread_parameters(src.signature.items(), iter(self._maps)))
            if self._maps
            else (parameters(src.signature))
        )
        self._metadata = metadata
        self._attributes = _launch_attributes(metadata)

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: int,
        packed_metadata: tuple[int, int, int],
        launch_metadata: Any,
        enter_hook: Callable[[Any], Any] | None,
        exit_hook: Callable[[Any], Any] | None,
        *args: Any,
    ) -> None:
        if min(grid_x, grid_y, grid_z) < 0:
            raise OutOfRangeError(f"{self._name}: negative grid", got=str((grid_x, grid_y, grid_z)))
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if grid_x * grid_y * grid_z > 0:
            if self._maps:
                values = list(spread(self._signature, args, iter(self._maps)))
            else:
                values = flatten(self._signature, args)
            self._launch((grid_x, grid_y, grid_z), stream, function, packed_metadata, values)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _launch(
        self, grid: tuple[int, int, int], stream: int, function: int, packed: tuple[int, int, int], values: list[Any]
    ) -> None:
        warps, ctas, shared = packed
        metadata = self._metadata
        programs = grid[0] * grid[1] * grid[2] * ctas
        home = homes.get(function)
        device = cupy().cuda.runtime.getDevice() if home is None else home
        with on_device(device):
            working = scratch(metadata.global_scratch_size * programs, metadata.global_scratch_align, stream, device)
            profile = profile_scratch(
                metadata.profile_scratch_size * programs, metadata.profile_scratch_align, stream, device
            )
            slots: list[Any] = [pack(self._name, p, v, device) for p, v in zip(self._params, values, strict=True)]
            slots += [slot(buffer.data_ptr() if buffer is not None else 0) for buffer in (working, profile)]
            pointers = (ctypes.c_void_p * len(slots))(*[ctypes.addressof(slot) for slot in slots])
            attributes = (_Attribute * _MAX_ATTRIBUTES)()
            for place, (which, numbers) in enumerate(self._attributes):
                attributes[place].id = which
                attributes[place].value[: len(numbers)] = numbers
            config = _Config(
                (grid[0] * ctas, grid[1], grid[2]), (32 * warps, 1, 1), shared, stream, attributes,
                len(self._attributes),
            )  # fmt: skip
            entry = ctypes.c_void_p(function)
            if ctas == 16:  # larger than every device must support
                check(libcuda().cuFuncSetAttribute(entry, _ANY_CLUSTER_SIZE, 1))
            check(libcuda().cuLaunchKernelEx(ctypes.byref(config), entry, pointers, None))


def _launch_attributes(metadata: Any) -> list[tuple[int, tuple[int, ...]]]:
    attributes: list[tuple[int, tuple[int, ...]]] = []
    if metadata.launch_pdl:
        attributes.append((_DEPENDENT_LAUNCH, (1,)))
    if metadata.launch_cooperative_grid:
        attributes.append((_COOPERATIVE, (1,)))
    if metadata.num_ctas != 1:
        attributes.append((_CLUSTER_DIMENSION, (metadata.num_ctas, 1, 1)))
        attributes.append((_CLUSTER_POLICY, (_CLUSTER_POLICY_SPREAD,)))
    return attributes


def direct_launcher(kernel: Any, device: int | None = None) -> Callable[..., None]:
    """`launch(gx, gy, gz, *arguments)` of a kernel compiled for CUDA, on CuPy's current stream of a device.

    The arguments are the kernel's run-time parameters in order, constants left out. It returns once the kernel is
    queued.

    Parameters
    ----------
    kernel : CompiledKernel
    device : int, optional
        The device that it is loaded on and runs on; by default the one that is current now.
    """
    if kernel.metadata.target.backend != "cuda":
        raise DeviceError(f"{kernel.name}: compiled for {kernel.metadata.target.backend}, not for CUDA")
    cuda = cupy().cuda
    metadata = kernel.metadata
    home = cuda.runtime.getDevice() if device is None else device
    module, function, *_ = CtypesUtils().load_binary(kernel.name, kernel.asm["cubin"], metadata.shared, home)
    launcher = CtypesLauncher(kernel.src, metadata)
    packed = kernel.packed_metadata

    def launch(gx: int, gy: int, gz: int, *arguments: Any) -> None:
        if min(gx, gy, gz) < 0:
            raise OutOfRangeError(f"{kernel.name}: negative grid", got=str((gx, gy, gz)))
        if gx * gy * gz:
            launcher._launch((gx, gy, gz), cuda.get_current_stream(home).ptr, function, packed, list(arguments))

    launch.module = module  # type: ignore[attr-defined]  # kept as long as the launcher
    return launch
