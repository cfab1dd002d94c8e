"""Tools worth having. Each module is importable alone, gives `Tool` objects, and says what its tools can do to you."""
