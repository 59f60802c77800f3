"""The language of schemas beside PyTorch's parser: what it takes is taken and prints alike, what it refuses is refused.

`schema_texts.texts` makes the texts. `DIFFERENCES` says where the two part, and why.
"""

import re

import comparisons
import pytest
import torch
from schema_texts import texts

import opweave
from opweave.registry.errors import SchemaError
from opweave.registry.schema import parse_schema

#: Why PyTorch takes what is refused here, by what the refusal says.
REFUSED = {
    r"is no default for an argument of type": "PyTorch does not look whether a default has the argument's type",
    r"alias annotations cannot stand inside": "PyTorch drops them without a word, and with them what is written",
    r"expected a list size or '\]' but found '1.5'": "PyTorch reads 1.5 as 1",
    r"found 'x10'": "PyTorch reads 0x10 as 0",
    r"two arguments are called": "no call could say which is meant",
    r"does not fit in 64 bits|is too large": "PyTorch cuts the last digit off a default of a complex argument",
}
#: Why what PyTorch refuses is taken here, by the text.
TAKEN = {
    r"=\[?-?(inf|nan|infj|nanj)\b": "a default that a signature has must be read: float('inf')",
    r"=[^ ]*\+2j": "a complex number is read as it prints",
    r"complex(\[\])? a=": "PyTorch cuts the last digit off, and stumbles where nothing is left",
    r"(str|Scalar)\[\] a=\[": "lists of texts and numbers may have defaults",
    r"[\n\r]": "a line may end between arguments and returns",
}


def cases():
    return sorted(set(texts()))


def outcome(parse, error, text):
    try:
        return str(parse(text, False)), None
    except (error, IndexError, ValueError) as refused:
        return None, str(refused)


def sorted_sets(text):
    """A printed schema with alias sets and unions in one order (PyTorch's is that of a hash table), and without the
    default of a device, which PyTorch prints as it is not written.
    """
    text = re.sub(r"(Device\??) a=.*\) ->", r"\1 a=...) ->", text.replace(" -> )", ")"), flags=re.DOTALL)
    text = re.sub(r"\(([^()]*\|[^()]*)\)", lambda m: "(" + _sorted_alias(m[1]) + ")", text)
    text = re.sub(r"Union\(([^()]*)\)", lambda m: f"Union({', '.join(sorted(m[1].split(', ')))})", text)
    text = re.sub(r"\?(\([^()]*\))(?=\[)", r"\1?", text)
    return text.replace("Union(Scalar)", "Scalar").replace("Union(NoneType, int)", "int?")


def _sorted_alias(text):
    sides = []
    for side in text.replace("!", "").split(" -> "):
        names = side.split("|")
        sides.append("*" if "*" in names else "|".join(sorted(names)))
    return ("!" if "!" in text else "") + " -> ".join(sides)


def is_misprinted(text):
    """Whether PyTorch prints another default: a complex one cut short, what is no ASCII, a float of 2**63."""
    cut = re.search(r"complex(\?|\[\]|\[\]\?)? a=", text) is not None and "j)" not in text
    return cut or not text.isascii() or "float a=-9223372036854775808" in text


def test_texts_are_read_as_pytorch_reads_them():
    taken = refused = 0
    for text in cases():
        theirs, _ = outcome(torch._C.parse_schema, RuntimeError, text)
        mine, why = outcome(parse_schema, SchemaError, text)
        comparisons.note_test()
        if mine is None:
            refused += 1
            assert "column" in why, text
            assert theirs is None or any(re.search(pattern, why) for pattern in REFUSED), (text, why)
        elif theirs is None:
            assert any(re.search(pattern, text) for pattern in TAKEN), (text, mine)
        else:
            taken += 1
            assert sorted_sets(mine) == sorted_sets(theirs) or is_misprinted(text), text
            assert str(parse_schema(mine)) == mine, text
    assert taken > 2000 and refused > 3000


@pytest.mark.parametrize(
    ("schema", "column"),
    [("(asdf x) -> qwer", 9), ("(Tensor x) -> qwer", 22), ("(t x) -> t", 9), ("(Tensor x, int64_t n) -> ()", 19),
     ("(SymFloat x) -> ()", 9), ("(Dimname x) -> ()", 9)],
)  # fmt: skip
def test_ops_have_no_types_that_nobody_knows(schema, column):
    lib = opweave.library.Library("parity_strict", "FRAGMENT")
    theirs = torch.library.Library("parity_strict", "FRAGMENT")
    for define in (
        lambda: lib.define("a" + schema),
        lambda: opweave.library.define("parity_strict::a", schema),
        lambda: opweave.library.custom_op("parity_strict::a", lambda x: x, mutates_args=(), schema=schema),
    ):
        with pytest.raises(SchemaError, match="unknown type") as found:
            define()
        assert "^ column" in str(found.value)
    with pytest.raises(SchemaError, match=f"\\^ column {column + 9}"):
        opweave.library.define("parity_strict::a", schema)
    with pytest.raises(RuntimeError, match=r"unknown type|instead of|Unknown"):
        theirs.define("a" + schema)
