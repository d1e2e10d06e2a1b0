"""Student-t observations: variational Bayes, Laplace's approximation and robust expectation propagation."""

from sturdygp.methods.student_t.method import StudentT

__all__ = ["StudentT"]
