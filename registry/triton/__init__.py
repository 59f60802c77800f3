"""Triton kernels as data: their intermediate representation, and what is read from it.

=============  ========================================================================================
module         content
=============  ========================================================================================
`ttir`         a small typed IR, and the parser of the text that Triton prints
`modules`      Triton's own modules: read from text, taken through its passes
`inline`       calls replaced by what they call
`polynomial`   offsets as sums of products of program ids, ranges, counters of loops and arguments
`flow`         which parameters an address may come from
`address`      numbers and addresses, as they are read
`index`        integers and addresses of a kernel as polynomials
`shapes`       what a change of a block's shape does to them
`masks`        masks and the conditions of branches as facts
`access`       per pointer parameter its loads, stores and atomics, or why they cannot all be named
`effects`      kernels lowered for a launch; which pointers the launch writes
=============  ========================================================================================
"""
