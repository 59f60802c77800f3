"""Reverse-mode differentiation of eager calls.

Every tensor has its device's Autograd key; only where a tensor of the call requires grad does a call stop there (the
`GRAD` bit, see `registry.keys`). `record` then runs the op below and puts a `Node` behind its results; `engine` walks
the nodes back. A node's formula is written with ops, so that it traces, batches and differentiates again.

==========  ====================================================================================
formula     how an op's results are differentiated, as declared beside the op
graph       nodes, edges, what is saved for backward, hooks; `requires_grad` and `grad_fn` of a tensor
saved_hooks hooks on what is saved
views       in-place writes through views: whose history changes
record      the Autograd kernel of every op
engine      `backward` and `grad`
anomaly     NaN in a backward, told with the line of the forward call
tangents    which tensors have a tangent
forward_ad  tangents of the results of ops: forward mode
function    `Function`: the user's own forward and backward
mode        `no_grad`, `enable_grad`, `inference_mode`
==========  ====================================================================================
"""
