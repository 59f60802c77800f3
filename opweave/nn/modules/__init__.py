"""The modules, in files by what they do; `opweave.nn` has all names."""
