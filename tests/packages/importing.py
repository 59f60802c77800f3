"""Import every module of a package, each counted by itself: `python importing.py PACKAGE...`."""

from __future__ import annotations

import collections
import importlib
import importlib.util
import pkgutil
import sys
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
            failed[f"{type(error).__name__}: {error}".partition("\n")[0][:200]].append(name)
    return good, failed


#: How many modules of a package import beside PyTorch 2.13 for the CPU in the same environment; the rest need packages
#: for other hardware, or are broken. FlagGems' own count, without its backends for other hardware, is of opweave.
BESIDE_PYTORCH = {
    "fla": 554, "liger_kernel": 172, "cut_cross_entropy": 12, "torchao": 394, "gemlite": 2, "flag_gems": 546,
}  # fmt: skip


def main(packages: list[str]) -> int:
    """Print what imports, and why the rest does not; 1 where it is less than 90 % of what does beside PyTorch."""
    opweave.compat.install()
    import gpus

    short = False
    for package in packages or BESIDE_PYTORCH:
        if package in ("flag_gems", "gemlite"):
            gpus.answer()
        good, failed = imported(package)
        total, wanted = good + sum(map(len, failed.values())), BESIDE_PYTORCH.get(package, 0)
        short |= good < 0.9 * wanted
        print(f"{package}: {good} of {total} modules import; beside PyTorch, {wanted} do")
        for reason, names in sorted(failed.items(), key=lambda item: -len(item[1])):
            print(f"    {len(names)} x {reason}: {', '.join(names[:3])}")
    return int(short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
