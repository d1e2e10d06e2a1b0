"""Box-constrained quasi-Newton ascent for objectives that may carry latent state.

A direct method maximises its evidence. A variational one maximises an ELBO whose latent part (weights,
responsibilities) is updated for free by every evaluation: it travels with the point as ``carry``, and
curvature learned from successive gradients includes its response.
"""

from sturdygp.optimise.maximise import best_of, maximise
from sturdygp.optimise.records import Callback, Evaluation, Flatness, Objective, Optimum, Step, above

__all__ = [
    "Callback",
    "Evaluation",
    "Flatness",
    "Objective",
    "Optimum",
    "Step",
    "above",
    "best_of",
    "maximise",
]
