"""opweave: a compiler stack for Python array programs, centred on op registration."""
