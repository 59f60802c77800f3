"""The command line: `opweave COMMAND` or `python -m opweave COMMAND`.

    opweave explain model.py:step --args "randn(8, 64), n=2"    what compiling made of a function, and why
    opweave report model.py:step -o step.html                   the same as a page, with times
    opweave report train.py -- --epochs 1                       run a script; a page for each function it compiles
    opweave run --sanitize train.py --epochs 1                  run a script, its kernels checked
    opweave cache [where|size|clear]                            compiled code on disk
    opweave show model.opweave                                  an exported program: inputs, ops, kernels

It exits with 0, with 1 where something failed, with 2 where the command line is wrong, and as the script it runs does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from opweave.registry.errors import OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy

_ARGS = "what to call it with, as Python: --args 'randn(4, 8), n=2'; names are the script's, then opweave's"
_TARGET = "a script and, behind a colon, a function in it: model.py:step, model.py:Model.forward"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if left out.

    Returns
    -------
    int
        The exit code.
    """
    words = [*(sys.argv[1:] if argv is None else argv)]
    # What stands behind -- is for the script that a report runs; argparse would look for options of its own in it.
    end = words.index("--") if words[:1] == ["report"] and "--" in words else len(words)
    given = _parser().parse_args(words[:end])
    if given.command == "report":
        given.arguments = words[end + 1 :]
    try:
        return load_heavy(f"opweave.command_line.{given.module}").run(given)
    except OpweaveError as error:
        # Of an error that comes of the command line itself, the place says nothing.
        lines = [line for line in str(error).splitlines() if "<frozen runpy>" not in line and __file__ not in line]
        print(f"opweave {given.command}: {type(error).__name__}: {chr(10).join(lines)}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `opweave show ... | head`
        sys.stderr.close()
        return 1
    except OSError as error:
        let_through(error)
        print(f"opweave {given.command}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="opweave", description="A compiler for Python array programs.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    explain = commands.add_parser("explain", help="what compiling made of a function, and why")
    explain.set_defaults(module="functions")
    explain.add_argument("target", metavar="SCRIPT:FUNCTION", help=_TARGET)
    explain.add_argument("--args", metavar="EXPRESSIONS", help=_ARGS)

    report = commands.add_parser(
        "report", help="a page that shows where the time goes, by line, and why",
        epilog="a script's own arguments stand behind --: opweave report train.py -o pages -- --epochs 1",
    )  # fmt: skip
    report.set_defaults(module="functions")
    report.add_argument(
        "target", metavar="SCRIPT[:FUNCTION]",
        help=f"{_TARGET}; of a script alone all functions that it compiles as it runs",
    )  # fmt: skip
    report.add_argument("--args", metavar="EXPRESSIONS", help=_ARGS)
    report.add_argument(
        "-o", "--output", metavar="PATH",
        help="the page to write (function.html), or, for a script that runs, the folder (script-report)",
    )  # fmt: skip
    report.add_argument("--trace", metavar="FILE", help="also write the timeline as JSON for Perfetto")
    report.add_argument("--no-measure", action="store_true", help="leave out times; nothing runs twice then")

    run = commands.add_parser("run", help="run a script")
    run.set_defaults(module="scripts")
    run.add_argument("--sanitize", action="store_true", help="check what kernels do to memory; slow")
    run.add_argument("script", help="a Python file")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")

    cache = commands.add_parser("cache", help="compiled code on disk: where it is, how much, clear it")
    cache.set_defaults(module="caches")
    cache.add_argument(
        "action", nargs="?", choices=("where", "size", "clear"), help="only that; all that is known if left out"
    )
    cache.add_argument("--clear", action="store_true", help="the same as clear")

    show = commands.add_parser("show", help="what an exported program takes, gives, computes and brings along")
    show.set_defaults(module="programs")
    show.add_argument("file", help="as opweave.export.save wrote it")
    show.add_argument("--graph", action="store_true", help="print its graph, too")
    show.add_argument("--draw", metavar="FILE.svg", help="draw its graph")
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"opweave {load_heavy('importlib.metadata').version('opweave')}")
        parser.exit()
