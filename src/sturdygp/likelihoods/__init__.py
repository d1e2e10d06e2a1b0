"""Likelihoods: densities of observations given the function."""
