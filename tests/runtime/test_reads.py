"""What a code object reads from outside itself."""

from __future__ import annotations

import math

from opweave.runtime.purity import impure, is_library
from opweave.runtime.reads import scan

SCALE = 2.0


def names(function) -> set[tuple[str, tuple[str, ...]]]:
    return {(n.kind, n.path) for n in scan(function.__code__).names}


def test_globals_with_their_attributes():
    def f(x):
        return math.pi * x.w * SCALE

    assert names(f) == {("global", ("math", "pi")), ("global", ("SCALE",))}
    assert set(scan(f.__code__).attributes) == {"pi", "w"}


def test_cells_of_outer_functions_only():
    outside = 3

    def f(x):
        inside = 4

        def g(y):
            return y + outside + inside + SCALE

        return [g(v) for v in x]

    assert names(f) == {("cell", ("outside",)), ("global", ("SCALE",))}


def test_writes():
    def f(x):
        global WRITTEN
        WRITTEN = x
        x.seen = 1

    reads = scan(f.__code__)
    assert [(n.path, n.written) for n in reads.names] == [(("WRITTEN",), True)]
    assert reads.written == {"seen"}


def test_reflection_and_identity():
    assert scan((lambda o, name: getattr(o, name)).__code__).reflects
    assert scan((lambda o: o.__dict__).__code__).reflects
    assert not scan((lambda o: o.a).__code__).reflects
    assert scan((lambda a, b: a is b).__code__).compares_identity
    assert not scan((lambda a: a is None).__code__).compares_identity


def test_sites_are_the_users_lines():
    def f(x):
        y = x
        return y * SCALE

    (name,) = scan(f.__code__).names
    assert name.site.line == f.__code__.co_firstlineno + 2 and name.site.file == __file__


def test_libraries_and_impurity():
    assert is_library("numpy.linalg") and is_library("os.path") and is_library("opweave.registry")
    assert not is_library("__main__") and not is_library("mymodel")
    assert impure("random", "random") and impure("os", "getpid") and not impure("os", "path")
