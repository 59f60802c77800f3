"""The state of the calling thread's generator of the CPU: `seed`, `get_rng_state` and what belongs to them."""

from __future__ import annotations

import json
import os

import numpy as np

from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import state
from opweave.registry.ops.random import default_generator, manual_seed
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
        A vector of uint8, for `set_rng_state`.

    Examples
    --------
    >>> opweave.get_rng_state().dtype
    opweave.uint8
    """
    for mode in state.modes:
        mode.generator_accessed("get_rng_state")
    text = json.dumps(default_generator(cpu).state(), default=lambda v: v.tolist()).encode()
    return Tensor._from_array(np.frombuffer(text, np.uint8).copy(), cpu)


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
    try:
        found = json.loads(new_state.numpy().tobytes())
        for mode in state.modes:
            mode.generator_accessed("set_rng_state")
        default_generator(cpu).set_state(found)
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        let_through(error)
        raise ArgumentError(
            "set_rng_state: this is no state of a generator", got=describe(new_state), hint="get_rng_state() gives one"
        ) from None
