"""Handlers of signals: where they wait, that what they raise arrives as it is, and that a process goes on after it."""

import ast
import functools
import gc
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.codegen import checks
from opweave.codegen.triton_cpu.driver import activate
from opweave.library import custom_op, triton_op, wrap_triton
from opweave.registry import interrupts, memory, storage
from opweave.registry.device import cpu
from opweave.registry.errors import CompileError
from opweave.registry.interrupts import allowed, checkpoint, contextmanager, deferred, let_through
from opweave.registry.keys import DispatchMode, no_modes, state

activate()
RUNTIME = Path(__file__).parent / "runtime"


class StopHereError(Exception):
    """What the handlers of these tests raise."""


class Handler:
    """Counts its calls, and raises if told to."""

    def __init__(self, error: type[BaseException] | None = None) -> None:
        self.error = error
        self.calls = 0
        self.raised: BaseException | None = None

    def __call__(self, number: int, frame: Any) -> None:
        self.calls += 1
        if self.error is not None:
            self.raised = self.error("stop")
            raise self.raised


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Handlers as they were, before and after, and no garbage collected: Python drops what a handler raises meanwhile.

    In a callback of `gc`, as hypothesis has one, and in a finaliser of what an earlier test left.
    """
    callbacks = gc.callbacks.copy()
    gc.callbacks.clear()
    gc.collect()
    gc.disable()
    numbers = (signal.SIGALRM, signal.SIGVTALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.enable()
    gc.callbacks.extend(callbacks)
    for number, handler in before.items():
        assert signal.getsignal(number) is not interrupts._gate
        signal.signal(number, handler)
    gate = interrupts._gate
    assert not (gate.depth or gate.stubborn or gate.pending or gate.raised)
    assert not (state.modes or state.include or state.exclude)


def fire(number: int = signal.SIGALRM) -> None:
    signal.raise_signal(number)


# ---- sections --------------------------------------------------------------------------------------------------------


def test_a_handler_waits_for_the_end_of_a_section():
    handler = Handler()
    signal.signal(signal.SIGALRM, handler)
    with deferred():
        fire()
        with deferred():
            fire()
            assert handler.calls == 0
        assert handler.calls == 0
    assert handler.calls == 1 and signal.getsignal(signal.SIGALRM) is handler
    fire()
    assert handler.calls == 2


def test_what_it_raises_comes_at_the_end_and_all_handlers_are_called():
    first, second = Handler(StopHereError), Handler()
    signal.signal(signal.SIGUSR1, first)
    signal.signal(signal.SIGUSR2, second)
    done = []
    with pytest.raises(StopHereError) as caught:  # noqa: PT012
        with deferred():
            fire(signal.SIGUSR1)
            fire(signal.SIGUSR2)
            done.append(1)
    assert caught.value is first.raised and done and second.calls == 1


def test_a_checkpoint_calls_what_waits():
    handler = Handler(StopHereError)
    signal.signal(signal.SIGALRM, handler)
    reached = []
    with pytest.raises(StopHereError), deferred():  # noqa: PT012
        checkpoint()
        fire()
        reached.append("before")
        checkpoint()
        reached.append("after")
    assert reached == ["before"]


@pytest.mark.parametrize("error", [StopHereError, KeyboardInterrupt, TimeoutError])
def test_a_section_brings_back_what_was_swallowed_or_turned(error):
    handler = Handler(error)
    signal.signal(signal.SIGALRM, handler)
    with pytest.raises(error) as caught, deferred():  # noqa: PT012
        try:
            fire()
            checkpoint()
        except BaseException as other:
            raise CompileError("a kernel is wrong") from other
    assert caught.value is handler.raised and caught.value.__cause__ is None
    with pytest.raises(error) as caught, deferred():  # noqa: PT012
        try:
            fire()
            checkpoint()
        except BaseException:
            pass
    assert caught.value is handler.raised


def test_in_a_window_handlers_run_at_once_and_may_be_changed():
    handler, other = Handler(), Handler()
    signal.signal(signal.SIGALRM, handler)
    with deferred():
        with allowed():
            fire()
            assert handler.calls == 1 and signal.getsignal(signal.SIGALRM) is handler
            signal.signal(signal.SIGALRM, other)
        fire()
        assert other.calls == 0
    assert other.calls == 1 and signal.getsignal(signal.SIGALRM) is other


def test_code_in_a_window_may_handle_its_own_timeouts():
    signal.signal(signal.SIGALRM, Handler(StopHereError))
    with deferred():
        with allowed():
            with pytest.raises(StopHereError):
                fire()


def test_a_handler_set_inside_a_section_stays():
    mine = Handler()
    with deferred():
        signal.signal(signal.SIGUSR1, mine)
    assert signal.getsignal(signal.SIGUSR1) is mine


def test_a_section_that_hangs_is_left_by_a_second_signal(monkeypatch):
    monkeypatch.setattr(interrupts, "PATIENCE", 0.0)
    handler = Handler(StopHereError)
    signal.signal(signal.SIGALRM, handler)
    with pytest.raises(StopHereError), deferred():  # noqa: PT012
        fire()
        pytest.fail("went on")
    with pytest.raises(StopHereError):  # noqa: PT012
        with deferred(patient=False):
            fire()
            fire()
            went_on = True
    assert went_on


def test_threads_do_not_defer_what_is_the_main_threads():
    entered, leave, handler = threading.Event(), threading.Event(), Handler()

    def work() -> None:
        with deferred():
            entered.set()
            leave.wait(60)

    signal.signal(signal.SIGALRM, handler)
    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(60)
    fire()
    leave.set()
    thread.join()
    assert handler.calls == 1


def test_a_forked_child_is_in_no_section_of_a_thread_that_it_has_not():
    handler = Handler()
    signal.signal(signal.SIGALRM, handler)
    statuses: list[int] = []

    def work() -> None:
        child = os.fork()
        if child == 0:
            fire()
            os._exit(0 if handler.calls == 1 and signal.getsignal(signal.SIGALRM) is handler else 1)
        statuses.append(os.waitpid(child, 0)[1])

    with deferred():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert statuses == [0] and handler.calls == 0


# ---- exceptions of handlers, among others ----------------------------------------------------------------------------


def _plain(number: int, frame: Any) -> None:
    raise StopHereError


def _through_another(number: int, frame: Any) -> None:
    _plain(number, None)


def _with_more(more: Any, number: int, frame: Any) -> None:
    raise StopHereError


def _anything(*given: Any) -> None:
    raise StopHereError


@pytest.mark.parametrize(
    "handler",
    [_plain, _through_another, functools.partial(_with_more, 1), _anything, Handler(StopHereError),
     Handler(StopHereError).__call__],
    ids=["function", "nested", "partial", "star", "object", "method"],
)  # fmt: skip
def test_what_a_handler_raised_is_known(handler):
    signal.signal(signal.SIGALRM, handler)

    def library() -> None:
        try:
            fire()
        except Exception:
            raise CompileError("a kernel is wrong") from None  # as Triton does

    for call in (fire, library):
        try:
            call()
        except Exception as error:
            with pytest.raises(StopHereError):
                let_through(error)


def test_other_exceptions_are_not_taken_for_it():
    def raising(a: Any, b: Any, *more: Any) -> None:
        raise StopHereError

    for arguments in ((1, None), (sys._getframe(1), 2), (self_frame(), 3, 4)):
        try:
            raising(*arguments)
        except StopHereError as error:
            let_through(error)


def self_frame() -> Any:
    return sys._getframe(0)


# ---- compilations ----------------------------------------------------------------------------------------------------

_compiling: list[Callable[[], None]] = []


@triton.constexpr_function
def _meddling(n: Any) -> Any:
    for act in _compiling:
        act()
    return n


@triton.jit
def _plus(x, y, C: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) + _meddling(C))


@pytest.mark.parametrize("error", [StopHereError, KeyboardInterrupt, TimeoutError])
def test_a_timeout_while_triton_compiles_arrives_as_it_is(error, request):
    handler = Handler(error)
    signal.signal(signal.SIGALRM, handler)
    number = abs(hash(request.node.name)) % 10**6

    @triton_op(f"interrupts::plus_{error.__name__.lower()}", mutates_args=())
    def plus(x: opweave.Tensor) -> opweave.Tensor:
        y = opweave.empty_like(x)
        wrap_triton(_plus)[(1,)](x, y, C=number, B=8)
        return y

    x = opweave.arange(8).to(opweave.float32)
    for call in (lambda: _plus[(1,)](x, x.clone(), C=number, B=8), lambda: plus(x), lambda: opweave.compile(plus)(x)):
        _compiling.append(fire)
        try:
            with pytest.raises(error) as caught:
                call()
        finally:
            _compiling.clear()
        assert caught.value is handler.raised
    np.testing.assert_array_equal(opweave.compile(plus)(x).numpy(), np.arange(8) + number)
    np.testing.assert_array_equal(plus(x).numpy(), np.arange(8) + number)


def test_an_error_in_the_source_of_a_kernel_leaves_no_mark_on_it():
    @triton.jit
    def broken(x):
        tl.store(x, _is_nowhere)  # noqa: F821

    for _ in range(2):
        with pytest.raises(Exception, match="_is_nowhere"):
            broken[(1,)](opweave.zeros(1))
        assert broken.hash is None or not broken.hash.startswith("recursion")


@pytest.mark.parametrize("at", ["passes", "generation"])
def test_a_timeout_in_the_compiler_arrives_and_the_function_compiles_again(at, monkeypatch):
    from opweave import pipeline

    handler = Handler(StopHereError)
    signal.signal(signal.SIGALRM, handler)
    target = "lower" if at == "passes" else "generate"
    original = getattr(pipeline, target)

    def during(*args: Any, **kwargs: Any) -> Any:
        fire()
        assert not handler.calls
        return original(*args, **kwargs)

    f = opweave.compile(lambda x: x * 41.5 + len(at))
    monkeypatch.setattr(pipeline, target, during)
    with pytest.raises(StopHereError) as caught:
        f(opweave.ones(3))
    assert caught.value is handler.raised
    monkeypatch.setattr(pipeline, target, original)
    assert f(opweave.ones(3)).tolist() == [41.5 + len(at)] * 3


def test_a_timeout_in_a_traced_function_is_the_functions_own():
    signal.signal(signal.SIGALRM, Handler(StopHereError))

    def patient(x):
        try:
            fire()
        except StopHereError:
            return x + 1
        return x

    def impatient(x):
        fire()
        return x

    assert opweave.compile(patient)(opweave.zeros(1)).tolist() == [1]
    with pytest.raises(StopHereError):
        opweave.compile(impatient)(opweave.zeros(1))


def test_a_mode_that_an_interruption_kept_on_is_off_after_the_trace(monkeypatch):
    leave = DispatchMode.__exit__
    handler = Handler(KeyboardInterrupt)
    signal.signal(signal.SIGALRM, handler)

    def interrupted(self: Any, *given: Any) -> None:
        fire()
        leave(self, *given)

    def f(x):
        return opweave.func.grad(lambda v: (v * v).sum())(x) * 2

    monkeypatch.setattr(DispatchMode, "__exit__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opweave.compile(f)(opweave.ones(2))
    monkeypatch.setattr(DispatchMode, "__exit__", leave)
    assert not state.modes and not state.include and not state.exclude
    assert opweave.compile(f)(opweave.ones(2)).tolist() == [4, 4]
    assert (opweave.ones(2) + 1).tolist() == [2, 2]


def test_a_definition_is_whole_when_an_interruption_ends_it(forget):
    signal.signal(signal.SIGALRM, Handler(KeyboardInterrupt))
    from opweave.registry import op as registry_op

    changed = registry_op.OpOverload.changed
    registry_op.OpOverload.changed = lambda self: (fire(), changed(self))[1]
    try:
        with pytest.raises(KeyboardInterrupt):

            @custom_op("interrupts::twice", mutates_args=())
            def early(x: opweave.Tensor) -> opweave.Tensor:
                return x * 2
    finally:
        registry_op.OpOverload.changed = changed

    @custom_op("interrupts::twice", mutates_args=())
    def twice(x: opweave.Tensor) -> opweave.Tensor:
        return x * 2

    assert twice(opweave.ones(1)).tolist() == [2]


# ---- kernels ---------------------------------------------------------------------------------------------------------


@triton.jit
def _count(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i)
    for _ in range(n):
        value = value + 1.0
    tl.store(x + i, value)


def _steps(programs: int) -> int:
    """Rounds of a loop, by which a launch takes some tenths of a second of one core."""
    return 600_000_000 // programs


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("programs", [16, 300])
def test_a_kernel_stops_between_its_programs(programs, threads):
    from opweave.codegen.native import pool

    handler, before = Handler(StopHereError), pool.get_num_threads()
    signal.signal(signal.SIGALRM, handler)
    pool.set_num_threads(threads)
    try:
        x = opweave.zeros(programs * 64)
        _count[(programs,)](x, 3, B=64)  # the figure that is kept of it is of next to no work
        with pytest.raises(StopHereError) as caught:  # noqa: PT012
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            _count[(programs,)](x, _steps(programs), B=64)
        assert caught.value is handler.raised and handler.calls == 1
        assert (x.numpy() == 3).any()
        x.zero_()
        _count[(programs,)](x, 5, B=64)
        assert (x.numpy() == 5).all()
    finally:
        pool.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_kernel_goes_on_where_the_handler_returns(threads):
    from opweave.codegen.native import pool

    programs, before = 120, pool.get_num_threads()
    statuses: list[int] = []

    def handler(number: int, frame: Any) -> None:
        y = opweave.zeros(640)
        _count[(10,)](y, 7, B=64)
        assert (y.numpy() == 7).all()
        child = os.fork()
        if child:
            statuses.append(child)
        else:
            statuses.clear()

    signal.signal(signal.SIGALRM, handler)
    pool.set_num_threads(threads)
    x = opweave.zeros(programs * 64)
    wanted = np.float32(min(_steps(programs), 1 << 24))  # float32 adds 1 up to there
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    parent = os.getpid()
    _count[(programs,)](x, _steps(programs), B=64)
    right = bool((x.numpy() == wanted).all())
    y = opweave.zeros(programs * 64)
    _count[(programs,)](y, 9, B=64)
    right = right and bool((y.numpy() == 9).all())
    if os.getpid() != parent:
        os._exit(0 if right else 1)
    pool.set_num_threads(before)
    assert right and len(statuses) == 1
    assert os.waitpid(statuses[0], 0)[1] == 0


def test_a_matrix_product_of_compiled_code_stops():
    handler = Handler(StopHereError)
    signal.signal(signal.SIGALRM, handler)
    f = opweave.compile(lambda a, b: (a @ b).relu())
    a = opweave.ones(64, 64, dtype=opweave.float64)
    f(a, a)
    large = opweave.ones(4000, 4000, dtype=opweave.float64)
    f(large, large[:, :64])
    with pytest.raises(StopHereError):  # noqa: PT012
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        for _ in range(20):
            f(large, large)
    assert handler.calls == 1
    np.testing.assert_array_equal(f(a, a).numpy(), np.full((64, 64), 64.0))


def test_a_check_that_an_interrupted_call_left_is_not_the_next_calls():
    cell = checks.cell_of(cpu)
    cell._array[0] = 1
    assert checks.cell_of(cpu)._array[0] == 0
    f = opweave.compile(lambda x, i: x[i] + 1)
    checks.cell_of(cpu)._array[0] = 1
    assert f(opweave.arange(3), opweave.tensor([2])).tolist() == [3]


def test_what_is_raised_while_an_address_is_found_arrives(monkeypatch):
    """Native code asks Python for the address of memory that is not opweave's own."""
    function = opweave.compile(lambda x: (x * x).sum())
    array = np.ones(8, np.float32)
    assert function(opweave.from_numpy(array)).item() == 8
    error, asked = StopHereError("stop"), []

    def address(owner):
        asked.append(owner)
        raise error

    monkeypatch.setattr(storage, "address", address)
    with pytest.raises(StopHereError) as caught:
        function(opweave.from_numpy(array))
    assert caught.value is error and len(asked) == 1


# ---- leaving a `with` statement --------------------------------------------------------------------------------------


class Long:
    """`-Long()` works for some time within Python, which calls no handlers meanwhile."""

    __neg__ = functools.partial(sum, range(1_000_000))


class Mode(DispatchMode):
    """Goes on to the kernels."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def noted(found: list[int]) -> Iterator[None]:
    found += [1]
    try:
        yield
    finally:
        found += [-1]


def everything(noted_in: list[int]) -> list[tuple[str, Callable[[], Any]]]:
    """All `with` statements that change what the thread does."""
    return [
        ("no_grad", opweave.no_grad),
        ("enable_grad", opweave.enable_grad),
        ("inference_mode", opweave.inference_mode),
        ("autocast", lambda: opweave.autocast("cpu")),
        ("mode", Mode),
        ("fake", opweave.FakeTensorMode),
        ("no modes", no_modes),
        ("hooks", lambda: opweave.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)),
        ("generator", lambda: noted(noted_in)),
    ]  # fmt: skip


def thread_state() -> Any:
    return {
        **{name: value for name, value in state.__dict__.items() if name not in ("fake_contexts", "saved_hooks")},
        "modes": [*state.modes],
        "hooks": [*state.__dict__.get("saved_hooks", [])],
    }


@pytest.mark.parametrize("name", [name for name, _ in everything([])])
def test_a_block_is_left_where_a_handler_runs_on_the_way_into_its_end(name):
    found: list[int] = []
    make = dict(everything(found))[name]
    signal.signal(signal.SIGVTALRM, Handler(StopHereError))
    with make():
        pass
    before = thread_state()
    long, block = Long(), make()
    with pytest.raises(StopHereError) as raised, block:  # noqa: PT012
        signal.setitimer(signal.ITIMER_VIRTUAL, 2e-3)  # of the processor's time: other processes do not matter
        -long  # the next that looks for signals is the entry of `__exit__`
    assert raised.traceback[1].name == "__exit__"
    assert thread_state() == before
    assert sum(found) == 0


@pytest.mark.parametrize("name", [name for name, _ in everything([])])
def test_a_block_is_whole_or_not_entered_whenever_a_handler_runs(name):
    found: list[int] = []
    make = dict(everything(found))[name]
    handler = Handler(StopHereError)
    signal.signal(signal.SIGALRM, handler)
    with make():
        pass
    before = thread_state()
    try:
        for k in range(400):
            with pytest.raises(StopHereError):  # noqa: PT012
                # It may come to a thread of a library's, where the interpreter does not look: so once more, later.
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + k * 1e-7, 0.5)
                while handler.calls == k:  # what it raised is not lost: that would end here
                    with make():
                        pass
            assert thread_state() == before, k
            assert sum(found) == 0, k
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # before a failure is told, which it would end
    assert handler.calls == 400


# ---- in the sources --------------------------------------------------------------------------------------------------

_STAGES = ("registry", "fake", "tracer", "passes", "codegen", "runtime")
#: Files with clauses that only clean up or pass on.
_PASS_ON = {"registry/interrupts.py", "registry/keys.py", "registry/folders.py"}


#: Classes that handlers may raise themselves; TimeoutError is an OSError.
_OF_HANDLERS = "BaseException|Exception|ValueError|RuntimeError|AttributeError|OSError|TimeoutError"


def _sources(pattern: str) -> Iterator[tuple[str, str]]:
    """Names and texts of opweave's own files in which something stands.

    Stages are links in the package of a checkout and folders in an installed one.
    """
    package = Path(opweave.__file__).parent
    for root in (package, *(package / stage for stage in _STAGES)):
        for path in sorted(root.resolve().rglob("*.py")):
            within = path.relative_to(root.resolve())
            if root == package and within.parts[0] in _STAGES:
                continue
            text = path.read_text()
            if re.search(pattern, text):
                yield f"{root.name}/{within.as_posix()}", text


def test_whoever_catches_anything_lets_through_what_a_handler_raised():
    careless = []
    for name, text in _sources(r"except\b"):
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ExceptHandler) or name in _PASS_ON:
                continue
            caught = "" if node.type is None else ast.unparse(node.type)
            last = node.body[-1]
            raises = isinstance(last, ast.Raise) and last.exc is None
            broad = re.search(rf"^$|\b({_OF_HANDLERS})\b", caught)
            if broad and not raises and "let_through(" not in ast.unparse(node.body[0]):
                careless.append(f"{name}:{node.lineno}")
    assert not careless


def test_locks_are_made_where_forks_know_of_them():
    pattern = r"threading\.(R?Lock|Condition|(Bounded)?Semaphore)\("
    assert {name for name, _ in _sources(pattern)} <= {"registry/forking.py", "runtime/values.py"}


# ---- at random -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", [256, 1 << 17, 64 << 20])
def test_no_interruption_is_lost_where_memory_is_freed(nbytes):
    handler, caught = Handler(StopHereError), 0
    signal.signal(signal.SIGALRM, handler)
    for k in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-4 + k * 1e-6)
            while handler.calls == k:
                memory.allocate(nbytes)
        except StopHereError:
            caught += 1
    assert caught == 300


def test_processes_go_on_after_random_interruptions(tmp_path):
    """A few of what `interrupts.py --count 200` tries."""
    done = subprocess.run(
        [sys.executable, str(RUNTIME / "interrupts.py"), "--count", "8", "--fresh", "1", "--seed", "5"],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0 and re.search(r"^0 wrong", done.stdout, re.M), done.stdout + done.stderr
