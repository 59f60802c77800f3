"""The declared ops, by family; each op is declared in one place."""
