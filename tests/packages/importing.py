"""Import every module of a package, each counted by itself: `python importing.py PACKAGE...`."""

from __future__ import annotations

import collections
import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterator

import opweave.compat


def module_names(package: str) -> Iterator[str]:
    """The package and all that lies under it, without importing anything but what finding them needs."""
    yield package
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None, package
    stack = [(package, list(spec.submodule_search_locations))]
    while stack:
        prefix, paths = stack.pop()
        for info in pkgutil.iter_modules(paths, prefix + "."):
            yield info.name
            if info.ispkg:
                stack.append((info.name, [f"{path}/{info.name.rpartition('.')[2]}" for path in paths]))


def imported(package: str) -> tuple[int, dict[str, list[str]]]:
    """How many modules were imported, and of the others the names, by what the import says."""
    good, failed = 0, collections.defaultdict(list)
    for name in module_names(package):
        try:
            importlib.import_module(name)
            good += 1
        except BaseException as error:  # packages raise what they like
            where = traceback.extract_tb(error.__traceback__)[-1]
            failed[f"{type(error).__name__}: {error}"[:200]].append(name)
            failed[f"{type(error).__name__}: {error}"[:200]][-1] += (
                f"   ({where.filename.rpartition('site-packages/')[2]}:{where.lineno})" if "-v" in sys.argv else ""
            )
    return good, failed


if __name__ == "__main__":
    opweave.compat.install()
    for package in [name for name in sys.argv[1:] if name != "-v"]:
        good, failed = imported(package)
        total = good + sum(map(len, failed.values()))
        print(f"{package}: {good} of {total} modules import ({good / total:.1%})")
        for reason, names in sorted(failed.items(), key=lambda item: -len(item[1])):
            print(f"    {len(names)} x {reason}: {', '.join(names[:3])}")
