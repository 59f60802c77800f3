"""The table of PyTorch's names, of which `opweave.compat` makes placeholders."""

import subprocess
import sys
from pathlib import Path

import opweave.compat


def test_the_table_is_that_of_this_pytorch() -> None:
    written = Path(opweave.compat.__file__).with_name("pytorch.txt").read_text()
    script = Path(__file__).with_name("names_of_pytorch.py")  # importing all of PyTorch changes a process
    made = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True, check=True).stdout
    assert written == made, "python tests/parity/names_of_pytorch.py > opweave/compat/pytorch.txt"
