"""Reports: figures and tables as functions of records, and of nothing else."""
