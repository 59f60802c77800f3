"""`op.tags` beside PyTorch's: of every built-in op that both have, and of ops that a user defines."""

import pytest
import torch

import opweave
from opweave.registry.errors import ArgumentError
from opweave.registry.op import registry

#: Tags that are not compared, and why.
LEFT_OUT = {"generated": "says that PyTorch's build wrote the overload"}


def names(tags):
    return {str(tag).removeprefix("Tag.").removeprefix("torch.Tag.").split(".")[-1] for tag in tags}


def both():
    for op in registry.operators.values():
        if op.namespace == "aten":
            packet = getattr(torch.ops.aten, op.opname, None)
            if packet is not None and op.overload in packet.overloads():
                yield op, getattr(packet, op.overload)


def test_every_op_has_its_tags():
    compared = beyond = 0
    for mine, theirs in both():
        found, expected = names(mine.tags), names(theirs.tags) - set(LEFT_OUT)
        assert expected <= found, (mine, expected - found)
        functional = mine.decl.functional or mine
        # PyTorch leaves out tags that hold: of `floor_divide` and the backward ops of activations, of most in-place
        # forms, and of ops whose results have a data-dependent size only in one overload.
        for tag in found - expected:
            holds = {
                "pointwise": functional.decl.kind in ("pointwise", "composite"),
                "reduction": functional.decl.kind == "reduction",
                "dynamic_output_shape": "dynamic_output_shape" in functional.declared_tags,
                "nondeterministic_seeded": "nondeterministic_seeded" in functional.declared_tags,
                "inplace": mine._schema.arguments[0].is_write,
                "out": any(a.kwarg_only and a.is_write for a in mine._schema.arguments),
            }
            assert holds.get(tag), (mine, tag)
            beyond += 1
        compared += 1
    assert compared > 1100 and beyond < 120


def test_kinds_tell():
    aten, Tag = opweave.ops.aten, opweave.Tag
    assert {Tag.core, Tag.pointwise, Tag.pt2_compliant_tag} == set(aten.add.Tensor.tags)
    assert Tag.pointwise in aten.mul_.Tensor.tags and Tag.inplace in aten.mul_.Tensor.tags
    assert Tag.out in aten.add.out.tags and Tag.core not in aten.add.out.tags
    assert Tag.reduction in aten.sum.dim_IntList.tags and Tag.nondeterministic_seeded in aten.bernoulli.default.tags
    assert Tag.dynamic_output_shape in aten.nonzero.default.tags and Tag.inplace_view in aten.resize_.default.tags
    assert Tag.data_dependent_output in aten._local_scalar_dense.default.tags
    assert isinstance(aten.add.Tensor.tags, list) and opweave.Tag is opweave.library.Tag


@pytest.mark.parametrize("given", [[], ["pointwise"], ["core", "needs_fixed_stride_order"]])
def test_tags_of_users_ops(given):
    def tags(T):
        namespace = f"parity_tags_{len(given)}"
        wanted = [getattr(T.Tag, name) for name in given]
        custom = T.library.custom_op(
            f"{namespace}::c", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor", tags=wanted
        )
        T.library.define(f"{namespace}::d", "(Tensor x) -> Tensor", tags=wanted)
        library = T.library.Library(namespace, "FRAGMENT")
        library.define("l(Tensor x) -> Tensor", tags=wanted)
        ops = getattr(T.ops, namespace)
        found = [custom._opoverload.tags, ops.d.default.tags, ops.l.default.tags]
        if len(wanted) == 1:
            T.library.define(f"{namespace}::one", "(Tensor x) -> Tensor", tags=wanted[0])
            found.append(ops.one.default.tags)
        return [[str(tag).split(".")[-1] for tag in each] for each in found]

    assert tags(opweave) == tags(torch)


@pytest.mark.parametrize("given", ["nope", 3, ["pointwise", "nope"]])
def test_what_is_no_tag_is_refused(given):
    with pytest.raises(ArgumentError, match="tag"):
        opweave.library.define("parity_tags::bad", "(Tensor x) -> Tensor", tags=given)
    with pytest.raises(TypeError):
        torch.library.define("parity_tags::bad", "(Tensor x) -> Tensor", tags=given)


def test_all_tags_have_pytorchs_names():
    theirs = {name for name in vars(torch.Tag) if isinstance(getattr(torch.Tag, name), torch.Tag)}
    assert {tag.name for tag in opweave.Tag} == theirs
