"""Python processes for tests, which start soon: forked from one that has `import opweave` behind it, and no more.

Such a process is what `python program` is after its first `import opweave`: nothing else of opweave or of what it needs
is loaded, no thread runs, its hash seed is not the one of this process nor of the process before, and it ends as any
other does, but for what was imported, which is not taken apart. Tests whose subject is that import, or how a process
begins or ends, use `subprocess`.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: What nothing reads before a function is compiled. With another value of any other variable comes another server.
_READ_LATE = frozenset(
    {"OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR", "OPWEAVE_CACHE", "OPWEAVE_TUNING", "OPWEAVE_DEBUG_INFO",
     "TRITON_KERNEL_DUMP", "TRITON_DUMP_DIR", "TRITON_ALWAYS_COMPILE", "MLIR_ENABLE_DIAGNOSTICS", "PYTEST_CURRENT_TEST"}
)  # fmt: skip
_MOST_SERVERS = 8
_MOST_BYTES = 1 << 20


def python(
    arguments: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout: float = 300,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, as `subprocess.run([sys.executable, *arguments], capture_output=True)`.

    Parameters
    ----------
    arguments : sequence of str or Path
        `-c` and a text, or the path of a script; then what it is to find in `sys.argv`.
    env, cwd, timeout, check
        As for `subprocess.run`.

    Returns
    -------
    subprocess.CompletedProcess
        With what it wrote to stdout and stderr, as text.
    """
    environment = dict(os.environ if env is None else env)
    given = [str(argument) for argument in arguments]
    request = json.dumps([given, environment, str(cwd or os.getcwd())]).encode()
    server = _server({name: value for name, value in environment.items() if name not in _READ_LATE})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            code = server.run(request, out.fileno(), err.fileno(), timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(given, timeout) from None
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    done = subprocess.CompletedProcess(given, code, *texts)
    if check:
        done.check_returncode()
    return done


class _Server:
    """The process that forks, and the socket on which it is asked to."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            for end in (self.channel, other):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())], pass_fds=[other.fileno()], start_new_session=True,
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def run(self, request: bytes, out: int, err: int, timeout: float) -> int:
        self.channel.settimeout(timeout)
        try:
            socket.send_fds(self.channel, [request], [out, err])
            answer = self.channel.recv(64)
        except BaseException:  # nor may a test that is interrupted leave an answer for the next
            os.killpg(self.process.pid, signal.SIGKILL)
            self.close()
            raise
        assert answer, f"the process that forks ended: {self.close()}"
        return int(answer)

    def close(self) -> int:
        self.channel.close()
        return self.process.wait()


_servers: dict[str, list[_Server]] = {}


def _server(environment: Mapping[str, str]) -> _Server:
    """The server that has waited longer, of two with this environment: their hash seeds differ."""
    if not _servers:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    key = json.dumps(sorted(environment.items()))
    pair = [server for server in _servers.pop(key, []) if server.process.poll() is None]
    if len(pair) < 2:
        pair.append(_Server(environment))
    else:
        pair.append(pair.pop(0))
    while sum(map(len, _servers.values())) + len(pair) > _MOST_SERVERS and _servers:
        for old in _servers.pop(next(iter(_servers))):
            old.close()
    _servers[key] = pair
    return pair[-1]


def _close_all() -> None:
    for pair in _servers.values():
        for server in pair:
            server.close()


def _serve(channel: socket.socket) -> tuple[list[str], dict[str, str], str] | None:
    """Fork as often as asked. Returns in each child, with what it shall run, and at the end."""
    while True:
        request, files, _, _ = socket.recv_fds(channel, _MOST_BYTES, 2)
        if not request:
            return None
        child = os.fork()
        if not child:
            for number, file in enumerate(files, 1):
                os.dup2(file, number)
                os.close(file)
            channel.close()
            return tuple(json.loads(request))  # type: ignore[return-value]
        for file in files:
            os.close(file)
        channel.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _become(arguments: list[str], environment: dict[str, str], folder: str) -> tuple[Any, dict[str, Any]]:
    """Code that is to run as the main program, and its names."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if arguments[0] == "-c":
        sys.path[0], text, name, sys.argv = "", arguments[1], "<string>", ["-c", *arguments[2:]]
    else:
        sys.path[0], name, sys.argv = str(Path(arguments[0]).resolve().parent), arguments[0], arguments
        text = Path(name).read_text()
    sys.orig_argv = [sys.executable, *arguments]
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins  # type: ignore[attr-defined]
    if name != "<string>":
        main.__file__ = name
    sys.modules["__main__"] = main
    return compile(text, name, "exec", dont_inherit=True), vars(main)


def _main() -> None:
    import opweave

    assert opweave
    gc.collect()
    gc.freeze()  # to take apart at the end what was imported is half of what a short process costs
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        exec(*_become(*asked))


if __name__ == "__main__":
    _main()
