"""Linear algebra: the only place that factorises."""
