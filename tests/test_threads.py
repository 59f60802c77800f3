"""Threads that define, call, differentiate and compile at once. `OPWEAVE_STRESS_SECONDS=30` runs it for longer."""

import os
import subprocess
import sys
import threading
import time

import numpy as np

import opweave
from opweave import Tensor
from opweave.library import Library, custom_op

THREADS = 8
SECONDS = float(os.environ.get("OPWEAVE_STRESS_SECONDS", "3"))


def one_round(thread: int, count: int) -> None:
    """Define two ops, use them, and take one back."""

    @custom_op(f"threads::scale_{thread}_{count % 5}", mutates_args=())
    def scale(x: Tensor, factor: float) -> Tensor:
        return opweave.from_numpy(x.numpy() * np.float32(factor))

    scale.register_autograd(
        lambda ctx, grad: (grad * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )
    scale.register_fake(lambda x, factor: opweave.empty_like(x))

    library = Library(f"threads_{thread}", "FRAGMENT")
    library.define(f"shift{count}(Tensor x, Scalar by) -> Tensor")
    library.impl(f"shift{count}", lambda x, by: x + by, "CompositeImplicitAutograd")
    shift = getattr(getattr(opweave.ops, f"threads_{thread}"), f"shift{count}")

    factor = 1.0 + thread
    x = opweave.tensor([1.0, 2.0, 3.0]).requires_grad_()
    y = (shift(scale(x, factor), 1) * x).sum()
    y.backward()
    # y = sum(f x^2 + x)
    values = np.array([1.0, 2.0, 3.0], np.float32)
    np.testing.assert_allclose(y.detach().numpy(), (factor * values**2 + values).sum(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 2 * factor * values + 1, rtol=1e-6)

    with opweave.no_grad():
        assert not scale(x, 2.0).requires_grad
    assert scale(x, 2.0).requires_grad
    if count % 20 == 0:
        compiled = opweave.compile(lambda a: scale(a, factor) + a * 2)
        np.testing.assert_allclose(compiled(x.detach()).numpy(), values * (factor + 2), rtol=1e-6)
    library._destroy()
    assert not hasattr(getattr(opweave.ops, f"threads_{thread}"), f"shift{count}")


def test_threads_register_call_and_differentiate():
    failures: list[BaseException] = []
    rounds = [0] * THREADS
    end = time.monotonic() + SECONDS

    def work(thread: int) -> None:
        try:
            while not failures and (not rounds[thread] or time.monotonic() < end):
                one_round(thread, rounds[thread])
                rounds[thread] += 1
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert min(rounds) >= 1


FIRST = """
import threading
import opweave

barrier = threading.Barrier(8)
failures = []

def work(n):
    try:
        barrier.wait()
        assert opweave.compile(lambda x: x * n + 1)(opweave.ones(3)).tolist() == [n + 1] * 3
    except BaseException as error:
        failures.append(error)
        raise

threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures
"""


def test_threads_that_load_the_compiler_at_once():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
