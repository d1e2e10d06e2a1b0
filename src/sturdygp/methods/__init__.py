"""Robust methods: rules that choose the sites."""
