"""Inference: how the sites of a likelihood are found."""
