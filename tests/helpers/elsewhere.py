"""`python elsewhere.py linux|darwin|win32 [-m pytest | script.py] ...`: run something where there is no Triton.

As another system as far as that can be acted on Linux: what modules of the standard library lack there is taken away
after they, and what is not opweave's, were loaded; what the libraries themselves would do there is not seen.
"""

from __future__ import annotations

import builtins
import concurrent.futures
import ctypes
import ctypes.util
import glob
import importlib.metadata
import io
import linecache
import mmap
import multiprocessing.connection
import multiprocessing.context
import multiprocessing.managers
import multiprocessing.pool
import multiprocessing.popen_fork
import multiprocessing.process
import multiprocessing.queues
import multiprocessing.synchronize
import multiprocessing.util
import os
import pathlib
import platform
import random
import runpy
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import types
import zipfile

import hypothesis  # noqa: F401
import llvmlite.binding
import ml_dtypes  # noqa: F401
import networkx  # noqa: F401
import numpy.testing  # noqa: F401
import optree  # noqa: F401
import pytest
import sympy  # noqa: F401

#: What looks at `os` when it runs, and goes on to see that of Linux.
_THEIRS = (
    glob, linecache, pathlib, random, shutil, subprocess, tempfile, threading, zipfile, ctypes.util, importlib.metadata,
    concurrent.futures, llvmlite.binding, pytest, multiprocessing.connection, multiprocessing.context,
    multiprocessing.managers, multiprocessing.pool, multiprocessing.popen_fork, multiprocessing.process,
    multiprocessing.queues, multiprocessing.synchronize, multiprocessing.util,
)  # fmt: skip
_NO_MODULES = {"linux": "triton", "darwin": "triton", "win32": "triton fcntl resource pwd grp termios"}
_LINUX_ONLY = "sched_getaffinity sched_setaffinity eventfd memfd_create"
_NOT_OF_WINDOWS = {
    os: "fork forkpty register_at_fork O_DIRECTORY O_NOFOLLOW O_CLOEXEC O_NONBLOCK geteuid getuid getegid getgid "
    "getpgid setsid killpg fchmod chown fchown sysconf uname RTLD_NOLOAD RTLD_NOW RTLD_LAZY RTLD_GLOBAL RTLD_LOCAL "
    "statvfs getloadavg pread pwrite",
    mmap: "MAP_PRIVATE MAP_ANONYMOUS MAP_ANON MAP_SHARED PROT_READ PROT_WRITE PROT_EXEC",
    signal: "SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGKILL SIGHUP SIGPROF setitimer alarm pthread_sigmask pthread_kill "
    "sigwait",
}


class _Blocked:
    """Finds that modules are not there."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _lose(module: types.ModuleType, names: str) -> None:
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)


def act(system: str) -> None:
    """Have this process see another system, and no Triton."""
    names = set(_NO_MODULES[system].split())
    for name in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Blocked(names))
    if system == "linux":
        return
    sysconfig.get_config_vars()  # which it reads once
    own = types.ModuleType("os")
    vars(own).update(vars(os))
    for module in _THEIRS:
        if getattr(module, "os", None) is os:
            module.os = own
    sys.platform = system
    platform.system = lambda: {"darwin": "Darwin", "win32": "Windows"}[system]
    _lose(os, _LINUX_ONLY)
    if system == "win32":
        os.name = "nt"
        io._WindowsConsoleIO = type("_WindowsConsoleIO", (), {})  # pytest asks for it
        os.supports_dir_fd = os.supports_fd = os.supports_follow_symlinks = set()
        for module, lost in _NOT_OF_WINDOWS.items():
            _lose(module, lost)
    ctypes.CDLL = _no_libraries
    builtins.open = io.open = _without_proc


_open = builtins.open


def _without_proc(file, *args, **kwargs):
    if isinstance(file, str | os.PathLike) and str(file).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "no such file", str(file))
    return _open(file, *args, **kwargs)


def _no_libraries(name, *args, **kwargs):
    raise OSError(f"{name}: no such library")


if __name__ == "__main__":
    _, system, *rest = sys.argv
    act(system)
    if rest[0] == "-m":
        sys.argv = rest[1:]
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = rest
        runpy.run_path(rest[0], run_name="__main__")
