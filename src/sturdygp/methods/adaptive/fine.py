"""Fine structure: where the climb in a kernel with a second part begins, and what it comes to."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np

from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.model import Branches
from sturdygp.methods.adaptive.prior import EXTRA
from sturdygp.methods.alternating import Start, Trail
from sturdygp.optimise import Optimum


def fine_starts(kernel: Kernel, found: Optimum[Trail[Branches]]) -> list[Start[Branches]]:
    """Half of the noise given to the last part of a kernel: without fine structure that lowers the bound.

    Its length scales begin as they are, where structure in one input shows; and longer by the root of their
    number, as distances grow, where structure in all of them does.
    """
    extra, coarse = found.x[-EXTRA:].copy(), found.x[:-EXTRA]
    extra[0] -= log(2.0)
    fine, owners = kernel.theta[coarse.size :], kernel.length_scale_of[coarse.size :]
    at_variance = np.array([owner is None for owner in owners])
    starts = []
    for longer in dict.fromkeys((0.0, 0.5 * log(np.sum(~at_variance)))):
        theta = np.concatenate([coarse, np.where(at_variance, extra[0], fine + longer)])
        within = kernel.with_theta(np.clip(theta, *kernel.bounds.T))
        starts.append(Start(within, extra, found.carry.latent))
    return starts


def continued(before: Optimum[Trail[Branches]], after: Optimum[Trail[Branches]]) -> Optimum[Trail[Branches]]:
    """The second as what the first came to; it began lower."""
    higher = tuple(value for value in after.trace if value > before.value)
    return replace(after, n_iter=before.n_iter + after.n_iter, trace=before.trace + higher)
