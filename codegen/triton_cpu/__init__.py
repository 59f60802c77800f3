"""A Triton backend for the host CPU, plugged into stock Triton through the entry-point group `triton.backends`.

`compiler` turns TTIR into object code (`ttir` -> `llir` -> `obj`), `driver` launches it. Both are imported by
`import triton` itself, so nothing here may be slow to import or able to fail.
"""

# Triton imports `compiler` and `driver` while it is imported itself. Were one of those two the first to import Triton,
# Triton would find it half-initialised; with the import standing here, the package is always ready before they are.
import triton as triton
