"""The shared suite of kernels through Triton's own interpreter: what the suite expects is what Triton computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")


def test_the_interpreter_agrees_with_the_suite() -> None:
    script = Path(__file__).with_name("interpreter_suite.py")
    environment = os.environ | {"TRITON_INTERPRET": "1"}  # read when triton is imported, hence the process
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    problems = json.loads(done.stdout.splitlines()[-1])
    assert problems
    assert not {name: text for name, text in problems.items() if text}
