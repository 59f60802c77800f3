"""How functions of the package and methods of `Tensor` are called, and what `help` says of them.

`forms` has the signatures that follow from schemas, `documents` the docstrings, `summaries` a line for each op. All of
it is loaded when somebody asks; `opweave.typing_stubs` writes the stubs of type checkers from the same signatures.
"""
