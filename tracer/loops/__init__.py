"""What a kernel's loops run over, before there is a kernel: what passes ask, and what code generation builds on.

Each module needs those above it:

=================  ===================================================================================================
`size`             sizes that are not fixed: polynomials that are compared for all their values, and add no guard
`index`            where an element lies: integer expressions over axes, whose sizes are such numbers
`calls`            a node of a graph as the kind of its op sees it (`registry.ops.kinds.loops`)
`element_maps`     what a user's kernel computes of each element, as values of a generated kernel
`maps`             the kind of an op that such a kernel is
`iteration`        which nodes can share a kernel's axes, and at which index each of them is needed
=================  ===================================================================================================

`codegen.loops` turns a region that fits into a loop nest.
"""
