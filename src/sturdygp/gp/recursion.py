"""Filtering and smoothing of a process with few states: the compiled loops behind :mod:`sturdygp.gp.markov`.

States are arranged so that the first is the function itself (see :mod:`sturdygp.gp.transitions`). Their
predicted covariance is kept as ``P = L diag(D) L'`` with a unit lower triangle ``L``. In these coordinates a
site of target ``z`` and precision ``w`` touches one number of it:

``s = D_0``, ``delta = 1 + w s``, ``D_0 <- s / delta``, ``m <- m + L_0 s w (z - m_0) / delta``,

and nothing at all if ``w = 0``. A step forms ``P = A L D L' A' + U V U'`` by orthogonalising the rows of
``[A L, U]`` (Thornton, 1976). ``D`` is a sum of positive terms, so that it stays positive at any noise and
over any number of steps; no covariance is ever subtracted from another.

Backwards run ``r`` and ``N``, which make the derivatives of the log evidence: ``r`` by the mean of the states
and ``(r r' - N) / 2`` by their covariance. No inverse is needed. All loops also take complex numbers, for
derivatives along a direction.

``d`` is the number of states, and ``blocks`` are the sizes of the independent blocks that they came from. Of
each different step ``tables`` holds ``A``, ``U`` and ``V``; ``which`` counts the step that leads to each
node, -1 for none. ``sites`` are targets and precisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sturdygp._compiled import LARGEST, Static, compiled, inlined, set_known, static, written_out

# Products of 1 + w s are gathered between these before their logarithm is taken.
LARGE, SMALL = 1e150, 1e-150


@static
def transition_pattern(blocks: tuple[int, ...]) -> list[list[float | None]]:
    """Where ``A`` is zero: states depend on those of their block; those of the first block on more."""
    starts, block_of = layout(blocks)
    d = len(block_of)
    linked = [
        [i == 0 or block_of[i] == block_of[j] or (block_of[i] == 0 and j in starts) for j in range(d)]
        for i in range(d)
    ]
    return [[None if each else 0.0 for each in row] for row in linked]


@static
def noise_pattern(blocks: tuple[int, ...]) -> list[list[float | None]]:
    """Where ``U`` is zero or one: unit upper triangles, whose first rows add up to the first of all."""
    starts, block_of = layout(blocks)
    d = len(block_of)
    known: list[list[float | None]] = [[None] * d for _ in range(d)]
    for i in range(d):
        for j in range(d):
            if i == j or (i == 0 and j in starts):
                known[i][j] = 1.0
            elif i > j or (i > 0 and block_of[i] != block_of[j]):
                known[i][j] = 0.0
    return known


def layout(blocks: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Where blocks start, and the block of each state."""
    block_of = [b for b, size in enumerate(blocks) for _ in range(size)]
    return [block_of.index(b) for b in range(len(blocks))], block_of


@inlined
def dot(n: Static, a: Any, b: Any) -> Any:
    """Of an even number of entries, in four sums of which none waits for another; two in a loop."""
    part = np.zeros(4, a.dtype)
    if n <= 2 * LARGEST:
        for c in range(n):
            part[c % 4] += a[c] * b[c]
    else:
        for c in range(0, n, 2):
            part[0] += a[c] * b[c]
            part[1] += a[c + 1] * b[c + 1]
    return (part[0] + part[1]) + (part[2] + part[3])


@inlined
def step(d: Static, A: Any, U: Any, V: Any, L: Any, D: Any) -> None:
    """Move ``L`` and ``D`` on by one step."""
    W, E, G = np.empty((d, 2 * d), D.dtype), np.empty(2 * d, D.dtype), np.empty(2 * d, D.dtype)
    for c in range(d):
        E[c] = D[c]
        E[d + c] = V[c]
        for i in range(d):
            W[i, c] = A[i, c]
            W[i, d + c] = U[i, c]
            for j in range(c + 1, d):
                W[i, c] += A[i, j] * L[j, c]
    for j in range(d):
        # In two sums, the parts of old and new covariance, of which neither waits for the other.
        for c in range(2 * d):
            G[c] = E[c] * W[j, c]
        size = dot(2 * d, G, W[j])
        D[j] = size
        scale = 1.0 / size if size.real > 0.0 else 0.0 * size
        for i in range(j + 1, d):
            slope = dot(2 * d, G, W[i])
            slope *= scale
            L[i, j] = slope
            for c in range(2 * d):
                W[i, c] -= slope * W[j, c]


@inlined
def move(d: Static, A: Any, m: Any) -> None:
    """Move a mean on by one step."""
    room = np.empty(d, m.dtype)
    for i in range(d):
        room[i] = A[i, 0] * m[0]
        for j in range(1, d):
            room[i] += A[i, j] * m[j]
    for i in range(d):
        m[i] = room[i]


@written_out
def run_forward(
    d: Static,
    blocks: Static,
    means: Static,
    which: Any,
    tables: Any,
    sites: Any,
    state: Any,
    kept: Any,
    every: Any,
    first: Any,
) -> Any:
    """Filter nodes from number ``first`` on: the sums that make the evidence, and the first improper node.

    ``state`` is ``(m, L, D)``, and is left as it is after the last node. With two ``means`` the second is for
    targets that are one everywhere. ``kept`` takes the state before each node whose number divides by
    ``every``. The sums are of ``log delta``, and of ``w / delta`` times the squared residuals of the targets,
    their products with those of one, and the squares of these.
    """
    A, U, V = tables
    z, w = sites
    given_m, given_L, given_D = state
    kept_m, kept_L, kept_D = kept
    m, L, D = np.zeros((means, d), given_D.dtype), np.zeros((d, d), given_D.dtype), np.zeros(d, given_D.dtype)
    m[:] = given_m
    L[:] = given_L
    D[:] = given_D
    F, T, nothing = np.empty((d, d)), np.empty((d, d)), 0.0 * given_D[0]
    log_det, product = nothing, 1.0 + nothing
    targets, both, ones = nothing, nothing, nothing
    for t in range(len(z)):
        if (first + t) % every == 0:
            place = (first + t) // every
            kept_m[place] = m
            kept_L[place] = L
            kept_D[place] = D
        k = which[t]
        if k >= 0:
            F[:] = A[k]
            set_known(F, transition_pattern(blocks))
            T[:] = U[k]
            set_known(T, noise_pattern(blocks))
            step(d, F, T, V[k], L, D)
            for row in range(means):
                move(d, F, m[row])
        weight = w[t]
        delta = 1.0 + weight * D[0]
        if not delta.real > 0.0:
            return log_det, targets, both, ones, first + t
        shrinkage = 1.0 / delta
        pull = weight * shrinkage
        gain = D[0] * pull
        D[0] = D[0] * shrinkage
        e = z[t] - m[0, 0]
        targets += pull * e * e
        m[0, 0] += gain * e
        for i in range(1, d):
            m[0, i] += L[i, 0] * (gain * e)
        if means > 1:
            o = 1.0 - m[1, 0]
            both += pull * e * o
            ones += pull * o * o
            m[1, 0] += gain * o
            for i in range(1, d):
                m[1, i] += L[i, 0] * (gain * o)
        product *= delta
        if product.real > LARGE or product.real < SMALL:
            log_det += np.log(product)
            product = 1.0 + nothing
    given_m[:] = m
    given_L[:] = L
    given_D[:] = D
    return log_det + np.log(product), targets, both, ones, -1


@inlined
def filter_stretch(
    d: Static,
    blocks: Static,
    which: Any,
    A: Any,
    U: Any,
    V: Any,
    z: Any,
    w: Any,
    m: Any,
    L: Any,
    D: Any,
    ms: Any,
    Ls: Any,
    Ds: Any,
    start: Any,
    stop: Any,
) -> None:
    """Filter some nodes, keeping mean, ``L`` and ``D`` before each of their sites."""
    F, T = np.empty((d, d)), np.empty((d, d))
    for t in range(start, stop):
        k = which[t]
        if k >= 0:
            F[:] = A[k]
            set_known(F, transition_pattern(blocks))
            T[:] = U[k]
            set_known(T, noise_pattern(blocks))
            step(d, F, T, V[k], L, D)
            move(d, F, m)
        ms[t - start] = m
        Ls[t - start] = L
        Ds[t - start] = D
        weight = w[t]
        shrinkage = 1.0 / (1.0 + weight * D[0])
        gain = D[0] * (weight * shrinkage) * (z[t] - m[0])
        D[0] = D[0] * shrinkage
        m[0] += gain
        for i in range(1, d):
            m[i] += L[i, 0] * gain


@inlined
def absorb(d: Static, lead: Any, s: Any, weight: Any, shrinkage: Any, e: Any, r: Any, N: Any) -> Any:
    """Take a site of residual ``e`` into ``r`` and ``N``; return ``l' r`` and ``l' N l`` before.

    ``l`` is the first column of ``L``, and ``lead`` all of it but the first entry, which is one.
    """
    q, p = np.empty(d, N.dtype), np.empty(d, N.dtype)
    pull = weight * shrinkage
    kappa = s * pull
    # Products with l but for its first entry.
    g, h, tail = 0.0 * s, 0.0 * s, 0.0 * s
    for i in range(d):
        q[i] = 0.0 * s
    for j in range(1, d):
        g += lead[j] * r[j]
        for i in range(d):
            q[i] += N[i, j] * lead[j]
    # p = N (1 / delta, -kappa l): no digits are lost where delta is large.
    for i in range(d):
        p[i] = N[i, 0] * shrinkage - kappa * q[i]
    for i in range(1, d):
        h += lead[i] * (q[i] + N[i, 0])
        tail += lead[i] * p[i]
    h += q[0] + N[0, 0]
    pulled = r[0] + g
    r[0] = r[0] * shrinkage + pull * e - kappa * g
    for i in range(1, d):
        N[i, 0] = p[i]
        N[0, i] = p[i]
    N[0, 0] = p[0] * shrinkage - kappa * tail + pull
    return pulled, h


@inlined
def pull_back(d: Static, A: Any, r: Any, N: Any) -> None:
    """``A' r`` and ``A' N A``."""
    X, room = np.empty((d, d), N.dtype), np.empty(d, N.dtype)
    for j in range(d):
        room[j] = A[0, j] * r[0]
        for i in range(1, d):
            room[j] += A[i, j] * r[i]
    for i in range(d):
        r[i] = room[i]
        for j in range(d):
            X[i, j] = N[i, 0] * A[0, j]
            for c in range(1, d):
                X[i, j] += N[i, c] * A[c, j]
    for i in range(d):
        for j in range(i, d):
            total = A[0, i] * X[0, j]
            for c in range(1, d):
                total += A[c, i] * X[c, j]
            N[i, j] = total
            N[j, i] = total


@inlined
def add_derivatives(d: Static, m: Any, L: Any, D: Any, r: Any, N: Any, by_flow: Any, by_noise: Any) -> None:
    """Add ``m r' + P M`` and ``M = r r' - N`` to sums."""
    M, X = np.empty((d, d), N.dtype), np.empty((d, d), N.dtype)
    for i in range(d):
        for j in range(d):
            M[i, j] = r[i] * r[j] - N[i, j]
            by_noise[i, j] += M[i, j]
    for c in range(d):
        for j in range(d):
            X[c, j] = M[c, j]
            for i in range(c + 1, d):
                X[c, j] += L[i, c] * M[i, j]
            X[c, j] = X[c, j] * D[c]
    for i in range(d):
        for j in range(d):
            total = m[i] * r[j] + X[i, j]
            for c in range(i):
                total += L[i, c] * X[c, j]
            by_flow[i, j] += total


@written_out
def run_backward(
    d: Static,
    blocks: Static,
    derive: Static,
    which: Any,
    tables: Any,
    sites: Any,
    kept: Any,
    later: Any,
    kept_later: Any,
    moments: Any,
    sums: Any,
    every: Any,
    first: Any,
) -> None:
    """Smooth nodes from the last to the first, whose number ``first`` divides by ``every``.

    Stretches of ``every`` nodes are filtered again from what :func:`run_forward` kept. ``later`` is
    ``(r, N)`` after the last node, and becomes what it is before the first; ``kept_later`` takes it after
    each stretch.
    ``moments`` takes mean, variance, residual and ``1 - w variance`` of each node. If derivatives are wanted,
    ``sums`` takes, for each step of the tables and last for the start, the sums of :func:`add_derivatives`.
    """
    A, U, V = tables
    z, w = sites
    kept_m, kept_L, kept_D = kept
    given_r, given_N = later
    kept_r, kept_N = kept_later
    mean, variance, residual, left = moments
    by_flow, by_noise = sums
    n, kind = len(z), given_N.dtype
    ms = np.empty((every, d), kind)
    Ls = np.empty((every, d, d), kind)
    Ds = np.empty((every, d), kind)
    m, L, D = np.zeros(d, kind), np.zeros((d, d), kind), np.zeros(d, kind)
    r, N = np.zeros(d, kind), np.zeros((d, d), kind)
    F, T, lead = np.empty((d, d)), np.zeros((d, d), kind), np.zeros(d, kind)
    r[:] = given_r
    N[:] = given_N
    for stretch in range((n - 1) // every, -1, -1):
        start, place = stretch * every, first // every + stretch
        stop = min(start + every, n)
        m[:] = kept_m[place, 0]
        L[:] = kept_L[place]
        D[:] = kept_D[place]
        kept_r[place] = r
        kept_N[place] = N
        filter_stretch(d, blocks, which, A, U, V, z, w, m, L, D, ms, Ls, Ds, start, stop)
        for t in range(stop - 1, start - 1, -1):
            at, k, weight = t - start, which[t], w[t]
            s = Ds[at, 0]
            e = z[t] - ms[at, 0]
            shrinkage = 1.0 / (1.0 + weight * s)
            for i in range(1, d):
                lead[i] = Ls[at, i, 0]
            pulled, h = absorb(d, lead, s, weight, shrinkage, e, r, N)
            mean[t] = ms[at, 0] + s * ((weight * e + pulled) * shrinkage)
            residual[t] = (e - s * pulled) * shrinkage
            variance[t] = s * shrinkage * (1.0 - s * h * shrinkage)
            left[t] = (1.0 + weight * s * s * h * shrinkage) * shrinkage
            if derive > 0:
                T[:] = Ls[at]
                add_derivatives(d, ms[at], T, Ds[at], r, N, by_flow[k], by_noise[k])
            if k >= 0:
                F[:] = A[k]
                set_known(F, transition_pattern(blocks))
                pull_back(d, F, r, N)
    given_r[:] = r
    given_N[:] = N


@written_out
def cross_stretch(
    d: Static,
    blocks: Static,
    which: Any,
    tables: Any,
    sites: Any,
    state: Any,
    later: Any,
    wanted: Any,
    B: Any,
    cross: Any,
    count: Any,
) -> Any:
    """Backwards through a stretch, what makes covariances between ``wanted`` nodes, whose precision is zero.

    Of wanted node ``k``: ``c = P H'``, ``y = H' - N c`` and the matrix that takes a row ``H P`` on to the
    next wanted node. ``B`` is that of the nodes since the last; ``count`` is how many wanted nodes are to
    come.
    """
    A, U, V = tables
    z, w = sites
    m, L, D = state
    r, N = later
    c, y, along = cross
    n = len(which)
    ms = np.empty((n, d))
    Ls = np.empty((n, d, d))
    Ds = np.empty((n, d))
    F, X, lead = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    filter_stretch(d, blocks, which, A, U, V, z, w, m, L, D, ms, Ls, Ds, 0, n)
    for t in range(n - 1, -1, -1):
        k, s, weight = which[t], Ds[t, 0], w[t]
        shrinkage = 1.0 / (1.0 + weight * s)
        if wanted[t]:
            count -= 1
            for i in range(d):
                c[count, i] = Ls[t, i, 0] * s
            for i in range(d):
                total = 0.0
                for j in range(d):
                    total -= N[i, j] * c[count, j]
                    along[count, i, j] = B[i, j]
                    B[i, j] = 0.0
                y[count, i] = total
                B[i, i] = 1.0
            y[count, 0] += 1.0
        else:
            # (I - k H)' B: only the first row changes.
            for j in range(d):
                total = 0.0
                for i in range(1, d):
                    total += Ls[t, i, 0] * B[i, j]
                B[0, j] = B[0, j] * shrinkage - (s * weight * shrinkage) * total
        for i in range(1, d):
            lead[i] = Ls[t, i, 0]
        absorb(d, lead, s, weight, shrinkage, z[t] - ms[t, 0], r, N)
        if k >= 0:
            F[:] = A[k]
            set_known(F, transition_pattern(blocks))
            for i in range(d):
                for j in range(d):
                    total = 0.0
                    for b in range(d):
                        total += F[b, i] * B[b, j]
                    X[i, j] = total
            B[:] = X
            pull_back(d, F, r, N)
    return count


@compiled
def fill_covariance(cross: Any, out: Any) -> None:
    """Covariances between all wanted nodes."""
    c, y, along = cross
    d = c.shape[1]
    v, room = np.empty(d), np.empty(d)
    for i in range(len(c)):
        v[:] = c[i]
        for j in range(i, len(c)):
            total = 0.0
            for a in range(d):
                total += v[a] * y[j, a]
            out[i, j] = total
            out[j, i] = total
            room[:] = 0.0
            for a in range(d):
                for b in range(d):
                    room[b] += v[a] * along[j, a, b]
            v[:] = room


@inlined
def take_in(d: Static, row: Any, noise: Any, L: Any, D: Any, gain: Any) -> None:
    """Condition a normal variable, in factors, on ``row x`` with some noise or none (Bierman, 1977).

    The mean moves by ``gain`` times the innovation. No difference of variances is formed.
    """
    b, f = np.empty(d), np.empty(d)
    for j in range(d):
        f[j] = row[j]
        for i in range(j + 1, d):
            f[j] += L[i, j] * row[i]
    alpha = noise
    for j in range(d - 1, -1, -1):
        v, before = D[j] * f[j], alpha
        alpha = before + f[j] * v
        b[j] = v
        if alpha > 0.0 and before < np.inf:
            D[j] *= before / alpha
        ratio = f[j] / before if before > 0.0 else 0.0
        for i in range(j + 1, d):
            slope = L[i, j]
            L[i, j] = slope - b[i] * ratio
            b[i] += slope * v
    for i in range(d):
        gain[i] = b[i] / alpha if alpha > 0.0 else 0.0


@written_out
def sample_stretch(
    d: Static,
    blocks: Static,
    which: Any,
    tables: Any,
    sites: Any,
    state: Any,
    normal: Any,
    told: Any,
    wanted: Any,
    out: Any,
    count: Any,
) -> Any:
    """Draw the states of a stretch from the last to the first, given draws of the node after it.

    ``told`` is what that node tells of the one before: numbers ``given = through x + noise``, a row for each
    draw, with independent noise, of infinite variance if there is no such node. It becomes what the first
    node of the stretch tells. ``count`` is how many wanted nodes are to come.
    """
    A, U, V = tables
    z, w = sites
    m, L, D = state
    given, through, noise = told
    n, size = len(which), normal.shape[1]
    ms = np.empty((n, d))
    Ls = np.empty((n, d, d))
    Ds = np.empty((n, d))
    gain, lower, x = np.empty((d, d)), np.zeros((d, d)), np.empty(d)
    for i in range(d):
        lower[i, i] = 1.0
    filter_stretch(d, blocks, which, A, U, V, z, w, m, L, D, ms, Ls, Ds, 0, n)
    for t in range(n - 1, -1, -1):
        k, weight = which[t], w[t]
        shrinkage = 1.0 / (1.0 + weight * Ds[t, 0])
        shift = Ds[t, 0] * (weight * shrinkage) * (z[t] - ms[t, 0])
        Ds[t, 0] = Ds[t, 0] * shrinkage
        for i in range(d):
            ms[t, i] += Ls[t, i, 0] * shift
        for row in range(d):
            take_in(d, through[row], noise[row], Ls[t], Ds[t], gain[row])
        if k >= 0:
            # The noise of the step, in factors.
            for i in range(d):
                noise[i] = 0.0
            step(d, A[k], U[k], V[k], lower, noise)
        for draw in range(size):
            for i in range(d):
                x[i] = ms[t, i]
            for row in range(d):
                innovation = given[draw, row]
                for i in range(d):
                    innovation -= through[row, i] * x[i]
                for i in range(d):
                    x[i] += gain[row, i] * innovation
            for j in range(d):
                deviation = np.sqrt(Ds[t, j]) * normal[t, draw, j]
                x[j] += deviation
                for i in range(j + 1, d):
                    x[i] += Ls[t, i, j] * deviation
            if wanted[t]:
                out[count - 1, draw] = x[0]
            for i in range(d):
                for j in range(i):
                    x[i] -= lower[i, j] * x[j]
                given[draw, i] = x[i]
        if k >= 0:
            # ``lower^-1 A``, row by row.
            for i in range(d):
                for c in range(d):
                    total = A[k, i, c]
                    for j in range(i):
                        total -= lower[i, j] * through[j, c]
                    through[i, c] = total
        if wanted[t]:
            count -= 1
    return count
