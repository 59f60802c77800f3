"""A report as one HTML file: text that is escaped, data, and a script that shows it; nothing from elsewhere.

The script makes elements and texts, never HTML, so nothing that a user's source or an op's name holds is read as
markup; and the page forbids itself to load anything.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import zlib
from html import escape
from importlib import resources
from typing import Any

from opweave.reporting.model import Facts
from opweave.reporting.summary import summary
from opweave.reporting.trace import trace_events

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(facts: Facts, *, compress: bool = True) -> str:
    """The file.

    Parameters
    ----------
    facts : Facts
        What to show.
    compress : bool
        Whether the data are deflated; browsers from before 2023 cannot read them then, and show the text alone.
    """
    data = json.dumps(as_json(facts), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    if compress:
        data = base64.b64encode(zlib.compress(data.encode(), 9)).decode()
    data = data.replace("<", "\\u003c")  # of JSON: no tag can begin or end in it
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(facts.name)} - opweave report</title><style>\n{_asset('page.css')}</style></head>\n"
        f'<body><div id="app"></div><pre id="plain">{escape(summary(facts))}</pre>\n'
        f'<script type="application/octet-stream" id="data" data-form="{"deflate" if compress else "json"}">{data}'
        f"</script>\n<script>\n{_asset('layout.js')}\n{_asset('views.js')}\n{_asset('page.js')}</script></body></html>\n"
    )


def as_json(facts: Facts) -> dict[str, Any]:
    """The facts as what JSON has; texts that Unicode has no form for are mended."""
    found = dataclasses.asdict(facts)
    found["timeline"] = trace_events(facts)
    return _plain(found)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float) and value - value != 0:  # JSON has no infinities
        return None
    return value


@functools.cache
def _asset(name: str) -> str:
    return resources.files("opweave.reporting").joinpath(name).read_text(encoding="utf-8")
