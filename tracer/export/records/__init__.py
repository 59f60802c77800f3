"""The parts of `program.json`, each written and read by one module; `serialize` has the whole format."""
