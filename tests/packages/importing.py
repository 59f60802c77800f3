"""Import every module of a package, each counted by itself: `python importing.py PACKAGE...`."""

from __future__ import annotations

import collections
import importlib
import importlib.util
import pkgutil
import re
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


#: Modules for hardware that this is not, and for compilers of it: they do not import beside PyTorch either.
OTHER_HARDWARE = re.compile(
    r"flag_gems\.runtime\.backend\._(?!nvidia)|flag_gems\.runtime\.backend\._nvidia\.hopper|tilelang|ascend|cutile|cutedsl"
    r"|liger_kernel\.(ops\.cute|transformers\.moe)|\.mps|\._C_"
)
#: What an import says that needs a package which is not in `requirements.txt`, or a file that the package has lost.
OTHER_PACKAGES = re.compile(r"No module named '(?!torch['.])|requires vLLM|pip install|F8_MAX|LossKwargs|fwd_prepare_T")
PACKAGES = ("fla", "liger_kernel", "cut_cross_entropy", "torchao", "gemlite", "flag_gems", "timm")


def main(packages: list[str]) -> int:
    """Print what imports, and why the rest does not; 1 where it is less than 90 % of what could."""
    opweave.compat.install(force=True)
    import gpus

    short = False
    for package in packages or PACKAGES:
        if package in ("flag_gems", "gemlite"):
            gpus.answer(int(package == "flag_gems"))  # gemlite puts tensors on each
        good, failed = imported(package)
        missed = [(name, reason) for reason, names in failed.items() for name in names]
        hardware = [name for name, _ in missed if OTHER_HARDWARE.search(name)]
        others = [name for name, why in missed if name not in hardware and OTHER_PACKAGES.search(why)]
        total = good + len(missed)
        able = total - len(hardware) - len(others)
        short |= good < 0.9 * able
        print(
            f"{package}: {good} of {total} modules import ({good / total:.1%}); {len(hardware)} are for other "
            f"hardware, {len(others)} lack other packages; of the rest {good / able:.1%}"
        )
        for reason, names in sorted(failed.items(), key=lambda item: -len(item[1])):
            print(f"    {len(names)} x {reason}: {', '.join(names[:3])}")
    return int(short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
