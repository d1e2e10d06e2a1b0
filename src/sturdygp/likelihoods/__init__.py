"""Likelihoods: what an observation says of the function."""
