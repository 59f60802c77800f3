"""The state of the calling thread's generator of the CPU: `seed`, `get_rng_state` and what belongs to them."""

from __future__ import annotations

import os

from opweave.registry.device import cpu
from opweave.registry.keys import state
from opweave.registry.random_generator import default_generator, manual_seed
from opweave.registry.tensor import Tensor


def initial_seed() -> int:
    """The seed that the calling thread's generator of the CPU started from.

    Examples
    --------
    >>> _ = opweave.manual_seed(5)
    >>> opweave.initial_seed()
    5
    """
    return default_generator(cpu).initial_seed()


def seed() -> int:
    """Seed the calling thread's generators of all devices with a number that nobody knows before, and give it.

    Examples
    --------
    >>> opweave.seed() == opweave.initial_seed()
    True
    """
    chosen = int.from_bytes(os.urandom(8), "little") >> 1
    manual_seed(chosen)
    return chosen


def get_rng_state() -> Tensor:
    """What the next numbers of the calling thread's generator of the CPU depend on, as bytes.

    Returns
    -------
    Tensor
        A vector of 16 uint8, for `set_rng_state`: the seed, and how often numbers were drawn since.

    Examples
    --------
    >>> opweave.get_rng_state().dtype
    opweave.uint8
    """
    for mode in state.modes:
        mode.generator_accessed("get_rng_state")
    return default_generator(cpu).get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the calling thread's generator of the CPU go on from an earlier `get_rng_state`.

    Raises
    ------
    ArgumentError
        If it is no such state.

    Examples
    --------
    >>> opweave.set_rng_state(opweave.get_rng_state())
    """
    for mode in state.modes:
        mode.generator_accessed("set_rng_state")
    default_generator(cpu).set_state(new_state)
