"""What compiles and launches kernels for each sort of device.

A backend's room is a package beside this module (`triton_cpu`, `triton_cuda`), which loads Triton and so loads at the
first kernel. What the device's memory is stands in `opweave.registry.device`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opweave.codegen.kernel import KernelSource, compile_source, lower_source
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy


@dataclass(frozen=True)
class Target:
    """Block sizes of a device, in elements.

    Attributes
    ----------
    flat : int
        Of a pointwise program.
    work : int
        Of a pointwise program, at most: additions of float32 that take as long as all that it computes.
    square : tuple of int
        Tile of a transposing program.
    whole_row : int
        Longest row that one program holds.
    bundle : int
        Elements of a program that reduces several short rows.
    chunk : int
        Step of a loop over a longer row.
    columns, column_rows : int
        Tile of a column reduction.
    programs : int
        Fewer programs than this leave the device idle; long reductions are split.
    split_at : int
        Elements of a reduction from which splitting pays for a second kernel.
    lane_accumulators : bool
        Whether a looped reduction accumulates in lanes (a tile) or in one number a row.
    past : int or None
        Bytes of a result from which it is written past the caches.
    """

    flat: int
    work: int
    square: tuple[int, int]
    whole_row: int
    bundle: int
    chunk: int
    columns: int
    column_rows: int
    programs: int
    split_at: int
    lane_accumulators: bool
    past: int | None = None


def _last_cache() -> int:
    """Bytes of the processor's last cache, 0 where the system does not say."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index3/size").read_text()
        return int(text.strip().removesuffix("K")) << 10
    except (OSError, ValueError) as error:
        let_through(error)
        return 0


CPU = Target(
    flat=8192, work=3 << 17, square=(128, 16), whole_row=16384, bundle=2048, chunk=4096, columns=1024, column_rows=8,
    programs=16, split_at=1 << 16, lane_accumulators=False, past=max(1 << 23, _last_cache() // 4),
)  # fmt: skip
CUDA = Target(
    flat=1024, work=1 << 20, square=(32, 32), whole_row=8192, bundle=1024, chunk=2048, columns=32, column_rows=64,
    programs=512, split_at=1 << 14, lane_accumulators=True,
)  # fmt: skip


class Backend(ABC):
    """A sort of device that kernels run on.

    Attributes
    ----------
    schedule : Target
        The numbers that schedules of generated kernels follow.
    """

    schedule: Target

    @abstractmethod
    def prepare(self) -> None:
        """Make Triton launch kernels on devices of this sort."""

    @abstractmethod
    def target(self, device: Device) -> Any:
        """What `compile_source` compiles for."""

    @abstractmethod
    def launcher(self, kernel: Any, device: Device) -> Callable[..., None]:
        """`launch(gx, gy, gz, *addresses)` of a compiled kernel."""

    def compile(self, kernel: KernelSource, folder: Path, device: Device) -> Callable[[], Callable[..., None]]:
        """Begin to compile a generated kernel; what this gives ends it, and gives the launcher.

        Parameters
        ----------
        kernel : KernelSource
            What to compile.
        folder : Path
            Where its source file is, or would be.
        device : Device
            Where it will run.
        """
        compiled = compile_source(kernel, folder, self.target(device))
        return lambda: self.launcher(compiled, device)

    def find(self, kernel: KernelSource) -> Callable[..., None] | None:
        """The same of a generated kernel that was kept, if that can be had without Triton."""
        return None


class CpuBackend(Backend):
    """Object code from our own Triton backend."""

    schedule = CPU

    def prepare(self) -> None:
        load_heavy("opweave.codegen.triton_cpu.driver").activate()

    def target(self, device: Device) -> Any:
        return "cpu"

    def launcher(self, kernel: Any, device: Device) -> Callable[..., None]:
        return load_heavy("opweave.codegen.native.launch").direct_launcher(kernel)

    def find(self, kernel: KernelSource) -> Callable[..., None] | None:
        return load_heavy("opweave.codegen.native.kernels").find(kernel)

    def compile(self, kernel: KernelSource, folder: Path, device: Device) -> Callable[[], Callable[..., None]]:
        kernels = load_heavy("opweave.codegen.native.kernels")
        if not kernels.is_plain():
            return super().compile(kernel, folder, device)
        lowered = lower_source(kernel, folder)
        (task,) = load_heavy("opweave.codegen.native.background").begin(lowered.finish)
        return lambda: kernels.finished(kernel, lowered, task.result())


class CudaBackend(Backend):
    """Stock Triton, driven without PyTorch."""

    schedule = CUDA

    def prepare(self) -> None:
        load_heavy("opweave.codegen.triton_cuda.driver").install()

    def target(self, device: Device) -> Any:
        self.prepare()
        driver = load_heavy("opweave.codegen.triton_cpu.driver").device_driver(device.type)
        return (driver if device.index is None else driver.at(device.index)).get_current_target()

    def launcher(self, kernel: Any, device: Device) -> Callable[..., None]:
        return load_heavy("opweave.codegen.triton_cuda.launcher").direct_launcher(kernel, device.index)


BACKENDS: dict[str, Backend] = {"cpu": CpuBackend(), "cuda": CudaBackend()}


def prepare() -> None:
    """Make Triton launch on all of opweave's devices; one whose hardware is missing notices at its first launch."""
    for backend in BACKENDS.values():
        backend.prepare()


def backend_of(device: Device) -> Backend:
    """The backend of a device that has memory."""
    return BACKENDS[device.type]
