"""How a fit ended."""

from enum import Enum


class Status(Enum):
    """How a fit ended; the value is a sentence for the person who ran it."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at max_iter before converging; raise max_iter or loosen tol"
    STOPPED = "stopped by the callback before converging"
    EXHAUSTED = 'stopped at max_factorizations before converging; raise it, loosen tol, or use inference="vb"'
    STALLED = (
        "no step improves the objective any further although its gradient is above tol; "
        "the optimum is found to rounding error, or the kernel's bounds are too tight"
    )
    FAILED = "the objective could not be evaluated at the initial parameters"

    @property
    def message(self) -> str:
        """The sentence."""
        return self.value
