"""Chooses among the kernels that a tuned launch and what stands around it became, one for each configuration.

    launch = tuned(kernel_idx, form_idx, "2f6a...", {0: launch_0, 1: launch_1}, launch_unfused, ())

    def call(x, w, n):
        (out,) = launch((n,), x, w, n)

At the first call for a key, the numbers that the user's `key=[...]` names, the user's own functions prune the
configurations, exactly as Triton would have them do it; those that are left are timed by the autotuner's own benchmark,
and so is the region unfused, with the launch as Triton tunes it. The fastest is kept, in this process and for others
(`codegen.winners`). Where one configuration is left, nothing is timed.

Nothing that is tried can be seen afterwards: each run makes its own results, and has its own copy of what it changes in
place. So nothing has to be restored (`restore_value`) or set to zero (`reset_to_zero`) in between.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.codegen.winners import Contest, Winner
from opweave.registry import forking
from opweave.registry.containers import is_sequence
from opweave.registry.errors import CompileError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy, load_triton
from opweave.registry.tensor import Tensor, allocate
from opweave.registry.triton_op import call_of, kernels, labels_of, name_of, run as run_launch, tuner_of

_log = logging.getLogger("opweave.fusion")
UNFUSED = "unfused"


def tuned(
    kernel_idx: int, form_idx: int, digest: str, fused: Mapping[int, Callable[..., Any]], unfused: Callable[..., Any],
    written: Sequence[int],
) -> Tuned:  # fmt: skip
    """A launch that is tuned.

    Parameters
    ----------
    kernel_idx, form_idx : int
        Of the launch: the user's kernel in `registry.triton_op.kernels`, and the form.
    digest : str
        What tells the fused kernels from others.
    fused : mapping of int to callable
        By number of the configuration what runs its kernel. All take the same arguments, and return new results.
    unfused : callable
        The same without fusion; its last argument launches the user's kernel.
    written : sequence of int
        Which of the arguments are changed in place.
    """
    return Tuned(kernel_idx, form_idx, digest, fused, unfused, written)


class Tuned:
    """See `tuned`; called with a key and the arguments."""

    def __init__(
        self, kernel_idx: int, form_idx: int, digest: str, fused: Mapping[int, Callable[..., Any]],
        unfused: Callable[..., Any], written: Sequence[int],
    ) -> None:  # fmt: skip
        self.kernel_idx, self.form_idx, self.digest = kernel_idx, form_idx, digest
        self.fused, self.unfused, self.written = fused, unfused, written
        self.chosen: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._lock = forking.lock()

    def __call__(self, key: tuple[Any, ...], *args: Any) -> Any:
        run = self.chosen.get(key)
        if run is None:
            with self._lock:
                run = self.chosen.get(key) or self._choose(key, args)
                self.chosen[key] = run
        return run(*args)

    # ---- which

    def _choose(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        load_triton()
        trial = _Trial(self, args)
        candidates = trial.candidates()
        contest = Contest(name_of(trial.kernel), key, tuple(candidates), self.digest, _device(args))
        if len(candidates) == 1:
            winner, how = Winner(next(iter(candidates))), "the only one there is"
        elif (kept := contest.find()) is not None:
            winner, how = kept, "as it was found before"
        else:
            winner, how = trial.winner(candidates), "the fastest"
            contest.keep(winner)
        trial.settle(winner)
        self._report(contest, winner, how)
        return candidates[winner.name]

    def _report(self, contest: Contest, winner: Winner, how: str) -> None:
        times = "".join(f"; {name}: {time:.4f} ms" for name, time in winner.times.items())
        text = f"launch of {contest.kernel}, key {contest.key}: {winner.name}, {how}{times}"
        _log.debug("tuned     %s", text)
        from triton import knobs

        if knobs.autotuning.print:
            print(text)


class _Trial:
    """The first launch for a key."""

    def __init__(self, tuned: Tuned, args: tuple[Any, ...]) -> None:
        self.tuned, self.args = tuned, args
        self.kernel: Any = kernels[tuned.kernel_idx]
        self.tuner: Any = tuner_of(self.kernel)
        #: The tuner as it is in this launch, and the arguments as it gets them, once they are known.
        self._own: Any = None
        self._positional: dict[str, Any] = {}
        self._named: dict[str, Any] = {}

    def candidates(self) -> dict[str, Callable[..., Any]]:
        """What can run, by name."""
        tuner, labels = self.tuner, labels_of(self.kernel)
        left = range(len(labels))
        if tuner.early_config_prune is not None or tuner.perf_model is not None:
            try:
                pruned = self._own_tuner().prune_configs(self._named)
            except Exception as error:  # whatever the user's function raises; a launch by itself explains it
                let_through(error)
                return {UNFUSED: self.tuned.unfused}
            # The same list is what Triton is to choose from where the launch runs unfused.
            self._own.prune_configs = _always(pruned)
            left = [tuner.configs.index(config) if config in tuner.configs else -1 for config in pruned]
        found = {labels[number]: self.tuned.fused[number] for number in left if number in self.tuned.fused}
        return found if len(found) == len(left) == 1 else {**found, UNFUSED: self.tuned.unfused}

    def winner(self, candidates: Mapping[str, Callable[..., Any]]) -> Winner:
        """The fastest; times in ms."""
        times: dict[str, Any] = {}
        failed: dict[str, Exception] = {}

        def attempt(name: str, call: Callable[[], Any]) -> Any:
            try:
                return call()
            except _unfit() as error:
                failed[name] = error
                _log.debug("tuned     launch of %s: %s does not run (%s)", name_of(self.kernel), name, error)

        # Triton tunes the launch by itself, and from then on its benchmark knows which device it is to time.
        attempt(UNFUSED, self._run_unfused)
        for name, run in candidates.items():
            time = attempt(name, functools.partial(self._time, run)) if name not in failed else None
            if time is not None:
                times[name] = time
        if not times:
            raise failed[UNFUSED]
        best = min(times, key=lambda name: times[name])
        own = getattr(self._own, "best_config", None) if best == UNFUSED else None
        config = next((i for i, config in enumerate(self.tuner.configs) if config is own), None)
        return Winner(best, config, {n: float(t[0] if is_sequence(t) else t) for n, t in times.items()})

    def settle(self, winner: Winner) -> None:
        """Let the user's autotuner know, as one that has tuned the launch."""
        labels = labels_of(self.kernel)
        if winner.name in labels:
            self.tuner.best_config = self.tuner.configs[labels.index(winner.name)]
        elif winner.config is not None and 0 <= winner.config < len(labels):
            own = self._own_tuner()
            own.cache.setdefault(self._key(own), self.tuner.configs[winner.config])

    # ---- one run

    def _time(self, run: Callable[..., Any]) -> Any:
        call = self._run_unfused if run is self.tuned.unfused else lambda: run(*self._private())
        return self.tuner.do_bench(call, quantiles=(0.5, 0.2, 0.8))

    def _run_unfused(self) -> None:
        self._own_tuner()
        self.tuned.unfused(*self._private(), self._launch)

    def _private(self) -> list[Any]:
        """The arguments, with copies of those that are changed."""
        return [_copied(arg) if i in self.tuned.written else arg for i, arg in enumerate(self.args)]

    def _launch(self, **given: Any) -> None:
        """Launch the kernel as Triton does, with the tuner of this trial."""
        grid, args, named = call_of(**given)
        run_launch(_with_tuner(self.kernel, self._own), grid, args, named)

    # ---- the user's tuner

    def _own_tuner(self) -> Any:
        """The user's tuner, given the launch's arguments; what it finds is kept with the user's."""
        if self._own is None:
            grid, args, named = call_of(**self._operands())
            named = {"grid": grid, "warmup": False, **named}
            kernel = self.kernel
            while not hasattr(kernel, "configs"):
                for name, rule in kernel.values.items():
                    named[name] = rule({**dict(zip(kernel.arg_names, args, strict=False)), **named})
                kernel = kernel.fn
            self._own, self._named = copy.copy(kernel), named
            self._positional = self._own.nargs = dict(zip(kernel.arg_names, args, strict=False))
        return self._own

    def _operands(self) -> dict[str, Any]:
        """What the launch is given: computed, up to there."""

        class Reached(Exception):
            pass

        found: dict[str, Any] = {}

        def launch(**given: Any) -> None:
            found.update(given)
            raise Reached

        try:
            self.tuned.unfused(*self._private(), launch)
        except Reached:
            pass
        return found

    def _key(self, own: Any) -> tuple[Any, ...]:
        """What Triton remembers a choice under."""
        given = {k: v for k, v in {**self._positional, **self._named}.items() if k in own.arg_names}
        key = [given[name] for name in own.keys if name in given]
        return tuple(key + [str(value.dtype) for value in given.values() if hasattr(value, "dtype")])


def _unfit() -> tuple[type[Exception], ...]:
    """What a candidate raises that does not compile or takes too much; it is left out, as by Triton."""
    from triton.compiler.errors import CompileTimeAssertionFailure
    from triton.runtime.errors import OutOfResources, PTXASError

    return CompileError, UnsupportedError, CompileTimeAssertionFailure, OutOfResources, PTXASError


def _with_tuner(kernel: Any, tuner: Any) -> Any:
    """A kernel with another tuner behind its heuristics."""
    if hasattr(kernel, "configs"):
        return tuner
    own = copy.copy(kernel)
    own.fn = _with_tuner(kernel.fn, tuner)
    return own


def _device(args: Sequence[Any]) -> str:
    """What the arguments are on; nothing of the CPU, which the cache's keys name."""
    device = next(value._device for value in args if isinstance(value, Tensor))
    if device.type == "cpu":
        return ""
    driver: Any = load_heavy("opweave.codegen.triton_cpu.driver").device_driver(device.type)
    index = device.index or 0
    return repr((driver.at(index).get_current_target(), driver.utils.get_device_properties(index)))


def _copied(value: Any) -> Any:
    made = allocate(value._sizes, value._strides, value._dtype, value._device)
    made._array[...] = value._array
    return made


def _always(value: Any) -> Callable[..., Any]:
    def give(*_: Any) -> Any:
        return value

    return give
