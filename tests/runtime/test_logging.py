"""OPWEAVE_LOGS."""

from __future__ import annotations

import logging

import pytest

from opweave.registry.errors import ArgumentError
from opweave.runtime.logging import CHANNELS, DEBUG, channel, lazily, set_logs


@pytest.fixture(autouse=True)
def _quiet():
    yield
    set_logs("")


def test_channels_turn_on_and_off():
    set_logs("graph, fusion")
    assert [name for name in CHANNELS if channel(name).isEnabledFor(DEBUG)] == ["graph", "fusion"]
    set_logs("all")
    assert all(channel(name).isEnabledFor(DEBUG) for name in CHANNELS)
    set_logs("")
    assert not any(channel(name).isEnabledFor(DEBUG) for name in CHANNELS)


def test_messages_go_to_stderr_with_their_channel(capsys):
    set_logs(["recompiles"])
    channel("recompiles").debug("x.size(0) 3 → 5")
    channel("graph").debug("not shown")
    assert capsys.readouterr().err == "[opweave.recompiles] x.size(0) 3 → 5\n"


def test_unknown_channel_names_the_nearest():
    with pytest.raises(ArgumentError) as caught:
        set_logs("grpah")
    assert "no channel named 'grpah'" in str(caught.value) and "did you mean 'graph'?" in str(caught.value)


def test_lazy_arguments_are_not_computed_when_off():
    def fail() -> str:
        raise AssertionError("computed")

    channel("code").debug("%s", lazily(fail))
    assert str(lazily(lambda: "text")) == "text"


def test_application_handlers_see_records():
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())  # type: ignore[method-assign]
    set_logs("passes")
    channel("passes").addHandler(handler)
    channel("passes").debug("fuse: 1 ms")
    channel("passes").removeHandler(handler)
    assert seen == ["fuse: 1 ms"]
