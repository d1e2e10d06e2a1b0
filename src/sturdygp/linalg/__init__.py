"""Linear algebra: the only package that factorises matrices."""
