"""Where random numbers come from: a seed, and how often numbers were drawn since.

A draw has a number. Its elements follow from the seed, that number and where they stand alone (`Scalars.philox`), so
there is no state to hand on from one to the next: any part of a draw can be computed anywhere, in a kernel too, and
gives the same. Each thread has its own default generator, so that threads neither wait for nor disturb each other;
`manual_seed` seeds the calling thread's.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.errors import ArgumentError, DeviceError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import state
from opweave.registry.tensor import Tensor, describe

_BITS64 = (1 << 64) - 1


def _checked(seed: Any) -> int:
    try:
        found = int(seed)
    except (TypeError, ValueError) as error:
        let_through(error)
        raise ArgumentError(
            "manual_seed: the seed must be an integer", got=f"{seed!r} ({type(seed).__name__})", hint="manual_seed(0)"
        ) from None
    if not -(1 << 63) <= found < 1 << 64:
        raise ArgumentError("manual_seed: the seed has more than 64 bits", got=str(found), hint="seed % 2**64")
    return found & _BITS64


class Generator:
    """A source of random numbers.

    Parameters
    ----------
    device : Device or str
        Where its numbers are made.

    Examples
    --------
    >>> generator = opweave.Generator().manual_seed(0)
    >>> opweave.randint(10, (3,), generator=generator).shape
    opweave.Size([3])
    """

    def __init__(self, device: Any = "cpu"):
        self.device = parse_device(device)
        self._seed = 0
        #: How often numbers were drawn.
        self.draws = 0
        self.seed()

    def manual_seed(self, seed: int) -> Generator:
        """Start over from a seed; the same seed gives the same numbers.

        Raises
        ------
        ArgumentError
            If it is no integer of 64 bits.

        Examples
        --------
        >>> _ = opweave.manual_seed(0)
        """
        self._seed = _checked(seed)
        self.draws = 0
        return self

    def seed(self) -> int:
        """Start over from a seed of the system's randomness, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
        return self._seed

    def initial_seed(self) -> int:
        """The seed it started from."""
        return self._seed

    @property
    def state(self) -> tuple[int, int]:
        """What its next numbers depend on: the seed, and how often numbers were drawn."""
        return self._seed, self.draws

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self._seed, self.draws = state

    def get_state(self) -> Tensor:
        """What its next numbers depend on, as bytes.

        Returns
        -------
        Tensor
            A vector of 16 uint8 on the CPU, for `set_state`: the seed, and how often numbers were drawn since.

        Examples
        --------
        >>> generator = opweave.Generator().manual_seed(0)
        >>> before = generator.get_state()
        >>> first = opweave.rand(2, generator=generator)
        >>> _ = generator.set_state(before)
        >>> opweave.equal(first, opweave.rand(2, generator=generator))
        True
        """
        words = np.array([self._seed, self.draws % (1 << 64)], np.uint64)
        return Tensor._from_array(words.view(np.uint8), cpu)

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from an earlier `get_state`.

        Raises
        ------
        ArgumentError
            If it is no such state.
        """
        if not isinstance(new_state, Tensor) or new_state._dtype is not dtypes.uint8 or new_state._sizes != (16,):
            raise ArgumentError(
                "set_state: this is no state of a generator", got=describe(new_state), hint="get_state() gives one"
            )
        seed, draws = new_state.cpu().contiguous().numpy().view(np.uint64).tolist()
        self.state = seed, draws
        return self

    def clone_state(self) -> Generator:
        """Another generator that goes on as this one would."""
        made = Generator(self.device)
        made.state = self.state
        return made

    def get_offset(self) -> int:
        """How often numbers were drawn since the seed was set."""
        return self.draws

    def set_offset(self, offset: int) -> None:
        """Go on as after so many draws."""
        self.draws = _checked(offset)

    def next(self) -> tuple[int, int]:
        """(seed, number) of a new draw, 64 bits each."""
        number = self.draws
        self.draws = number + 1
        return self._seed, number & _BITS64

    def next_source(self) -> Any:
        """What makes the numbers of a new draw that no kernel makes: the array module's generator."""
        seed, number = self.next()
        return self.device.memory.random(seed << 64 | number)


_thread = threading.local()


def default_generator(device: Device) -> Generator:
    """The calling thread's generator of a device."""
    generators = _thread.__dict__.setdefault("generators", {})
    found = generators.get(device)
    if found is None:
        found = generators[device] = Generator(device)
        seed = getattr(_thread, "seed", None)
        if seed is not None:
            found.manual_seed(seed)
    return found


def thread_generators() -> list[Generator]:
    """The calling thread's generators, of the devices that it has used."""
    return list(_thread.__dict__.setdefault("generators", {}).values())


def generator_of(device: Device, generator: Generator | None) -> Generator:
    """The generator that is given, or the calling thread's.

    Raises
    ------
    ArgumentError, DeviceError
        If it is none, or another device's.
    """
    if generator is None:
        return default_generator(device)
    if not isinstance(generator, Generator):
        raise ArgumentError("random: generator is no Generator", got=repr(generator), hint="opweave.Generator()")
    if generator.device is not device:
        raise DeviceError(
            f"random: a generator of {generator.device} cannot fill a tensor on {device}", hint="Generator(device)"
        )
    return generator


def manual_seed(seed: int) -> Generator:
    """Seed the calling thread's generators of all devices.

    Returns
    -------
    Generator
        The CPU's.

    Examples
    --------
    >>> _ = opweave.manual_seed(3)
    >>> first = opweave.rand(2)
    >>> _ = opweave.manual_seed(3)
    >>> opweave.equal(first, opweave.rand(2))
    True
    """
    for mode in state.modes:
        mode.generator_accessed("manual_seed")
    _thread.seed = _checked(seed)
    for generator in _thread.__dict__.setdefault("generators", {}).values():
        generator.manual_seed(seed)
    return default_generator(cpu)
