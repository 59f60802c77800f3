"""The state of the calling thread's generator of the CPU: `seed`, `get_rng_state` and what belongs to them."""

from __future__ import annotations

import os

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError
from opweave.registry.keys import state
from opweave.registry.random_generator import default_generator, manual_seed
from opweave.registry.tensor import Tensor, describe


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
    seed, draws = default_generator(cpu).state()
    return Tensor._from_array(np.array([seed % (1 << 64), draws], np.uint64).view(np.uint8), cpu)


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
    if not isinstance(new_state, Tensor) or new_state._dtype is not dtypes.uint8 or new_state._sizes != (16,):
        raise ArgumentError(
            "set_rng_state: this is no state of a generator", got=describe(new_state), hint="get_rng_state() gives one"
        )
    seed, draws = new_state.numpy().copy().view(np.uint64).tolist()
    for mode in state.modes:
        mode.generator_accessed("set_rng_state")
    default_generator(cpu).set_state((seed, draws))
