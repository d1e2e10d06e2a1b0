r"""Filtering and smoothing of a process with few states: the compiled loops behind :mod:`sturdygp.gp.markov`.

States are arranged so that the first is the function itself (see ``markov.Transitions``). Their predicted
covariance is kept as ``P = L diag(D) L'`` with a unit triangle ``L``, as in a square-root filter. In these
coordinates a site of target ``z`` and precision ``w`` touches one number, ``D_0``:

``s = D_0``, ``delta = 1 + w s``, ``D_0 <- s / delta``, ``m <- m + L_0 s w (z - m_0) / delta``,

and nothing at all if ``w = 0``. A step forms ``P = A L D L' A' + U V U'`` by orthogonalising the columns of
``[A L, U]`` (Thornton, 1976). ``D`` is a sum of positive terms, so that it stays positive at any noise and
any number of steps; no covariance is ever subtracted from another.

Backwards run ``r`` and ``N``, the derivatives of the log evidence by the mean and (twice, negative) the covariance of
the states: no inverse is needed. Every loop also takes complex numbers, for derivatives along a direction.

The first argument of each function is a tuple with as many entries as there are states: its length is known to the
compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sturdygp._compiled import compiled

# Products of 1 + w s are collected between these before their logarithm is taken.
LARGE, SMALL = 1e150, 1e-150


@compiled
def step(states: Any, AT: Any, UT: Any, V: Any, L: Any, D: Any, W: Any, G: Any) -> None:
    """Move ``L`` and ``D`` on by one step. ``W`` and ``G`` are room to work in."""
    d = len(states)
    for c in range(d):
        for i in range(d):
            W[c, i] = AT[c, i]
        for j in range(c + 1, d):
            l = L[j, c]
            for i in range(d):
                W[c, i] += l * AT[j, i]
        for i in range(d):
            W[d + c, i] = UT[c, i]
        G[0, c] = D[c]
        G[0, d + c] = V[c]
    for j in range(d):
        for i in range(d):
            G[2, i] = 0.0
        for c in range(2 * d):
            g = G[0, c] * W[c, j]
            for i in range(d):
                G[2, i] += g * W[c, i]
        size = G[2, j]
        D[j] = size
        scale = 1.0 / size if size.real > 0.0 else 0.0 * size
        for i in range(j + 1, d):
            L[i, j] = G[2, i] * scale
        for i in range(j + 1, d):
            l = L[i, j]
            for c in range(2 * d):
                W[c, i] -= l * W[c, j]


@compiled
def move(states: Any, AT: Any, m: Any, room: Any) -> None:
    """Move a mean on by one step."""
    d = len(states)
    for i in range(d):
        room[i] = 0.0
    for j in range(d):
        for i in range(d):
            room[i] += m[j] * AT[j, i]
    for i in range(d):
        m[i] = room[i]


@compiled
def run_forward(
    states: Any, which: Any, tables: Any, sites: Any, state: Any, kept: Any, every: int, first: int
) -> Any:
    """Filter nodes from ``first`` on: the sums that make the evidence, and the first node that is improper.

    ``state`` is ``(m, L, D)`` and is left as it is after the last node; ``m`` has a second row where the
    mean of the process is to be found, for targets that are one everywhere. ``kept`` takes copies of the
    state before each node whose number divides by ``every``. The sums are of ``log delta`` and of
    ``w / delta`` times the squared residuals of the targets, their product with those of one, and these squared.
    """
    d = len(states)
    AT, UT, V = tables
    z, w = sites
    m, L, D = state
    kept_m, kept_L, kept_D = kept
    n, two = len(z), len(m) > 1
    W, G, room = np.empty((2 * d, d), L.dtype), np.empty((3, 2 * d), L.dtype), np.empty(d, L.dtype)
    log_det, product = 0.0 * D[0], 1.0 + 0.0 * D[0]
    zz, zo, oo = 0.0 * D[0], 0.0 * D[0], 0.0 * D[0]
    for t in range(n):
        if (first + t) % every == 0:
            k = (first + t) // every
            kept_m[k] = m
            kept_L[k] = L
            kept_D[k] = D
        k = which[t]
        if k >= 0:
            step(states, AT[k], UT[k], V[k], L, D, W, G)
            for row in range(len(m)):
                move(states, AT[k], m[row], room)
        s = D[0]
        delta = 1.0 + w[t] * s
        if not delta.real > 0.0:
            return log_det, zz, zo, oo, first + t
        D[0] = s / delta
        e, f = z[t] - m[0, 0], w[t] / delta
        zz += f * e * e
        gain = s * f
        for i in range(d):
            m[0, i] += L[i, 0] * (gain * e)
        if two:
            o = 1.0 - m[1, 0]
            zo += f * e * o
            oo += f * o * o
            for i in range(d):
                m[1, i] += L[i, 0] * (gain * o)
        product *= delta
        if product.real > LARGE or product.real < SMALL:
            log_det += np.log(product)
            product = 1.0 + 0.0 * product
    return log_det + np.log(product), zz, zo, oo, -1


@compiled
def filter_stretch(
    states: Any, which: Any, tables: Any, sites: Any, state: Any, seen: Any, start: int, stop: int
) -> None:
    """Filter some nodes, keeping mean, ``L`` and ``D`` before each of their sites in ``seen``."""
    d = len(states)
    AT, UT, V = tables
    z, w = sites
    m, L, D = state
    ms, Ls, Ds = seen
    W, G, room = np.empty((2 * d, d), L.dtype), np.empty((3, 2 * d), L.dtype), np.empty(d, L.dtype)
    for t in range(start, stop):
        k = which[t]
        if k >= 0:
            step(states, AT[k], UT[k], V[k], L, D, W, G)
            move(states, AT[k], m, room)
        ms[t - start] = m
        Ls[t - start] = L
        Ds[t - start] = D
        delta = 1.0 + w[t] * D[0]
        gain = D[0] * (w[t] / delta) * (z[t] - m[0])
        D[0] /= delta
        for i in range(d):
            m[i] += L[i, 0] * gain


@compiled
def absorb(states: Any, L: Any, s: Any, w: Any, e: Any, r: Any, N: Any, q: Any, p: Any) -> Any:
    """Take a site, with residual ``e`` before it, into ``r`` and ``N``: residual after all, ``l' N l``, ``l' r``."""
    d = len(states)
    delta = 1.0 + w * s
    f = w / delta
    kappa = s * f
    # Products with l = L_0 less its first entry, which is one.
    g = 0.0 * s
    for i in range(d):
        q[i] = 0.0
    for j in range(1, d):
        l = L[j, 0]
        g += l * r[j]
        for i in range(d):
            q[i] += N[j, i] * l
    # p = N (1/delta, -kappa l), from which no digits are lost where delta is large.
    h, tail = q[0] + N[0, 0], 0.0 * s
    p[0] = N[0, 0] / delta - kappa * q[0]
    for i in range(1, d):
        l = L[i, 0]
        p[i] = N[i, 0] / delta - kappa * q[i]
        h += l * (q[i] + N[i, 0])
        tail += l * p[i]
    pulled = r[0] + g
    r[0] = r[0] / delta + f * e - kappa * g
    for i in range(1, d):
        N[i, 0] = p[i]
        N[0, i] = p[i]
    N[0, 0] = p[0] / delta - kappa * tail + f
    return h, pulled


@compiled
def pull_back(states: Any, A: Any, r: Any, N: Any, X: Any, room: Any) -> None:
    """``A' r`` and ``A' N A``."""
    d = len(states)
    for j in range(d):
        room[j] = 0.0
        for i in range(d):
            X[j, i] = 0.0
    for i in range(d):
        for j in range(d):
            room[j] += A[i, j] * r[i]
            a = N[i, j]
            for c in range(d):
                X[i, c] += a * A[j, c]
    for i in range(d):
        r[i] = room[i]
        for j in range(d):
            N[i, j] = 0.0
    for c in range(d):
        for i in range(d):
            a = A[c, i]
            for j in range(d):
                N[i, j] += a * X[c, j]
    for i in range(d):
        for j in range(i):
            both = 0.5 * (N[i, j] + N[j, i])
            N[i, j] = both
            N[j, i] = both


@compiled
def add_derivatives(
    states: Any, m: Any, L: Any, D: Any, r: Any, N: Any, M: Any, X: Any, by_flow: Any, by_noise: Any
) -> None:
    """Add ``M = r r' - N`` and ``m r' + P M`` to sums."""
    d = len(states)
    for i in range(d):
        for j in range(d):
            M[i, j] = r[i] * r[j] - N[i, j]
            by_noise[i, j] += M[i, j]
    for c in range(d):
        for j in range(d):
            X[c, j] = M[c, j]
        for i in range(c + 1, d):
            l = L[i, c]
            for j in range(d):
                X[c, j] += l * M[i, j]
        for j in range(d):
            X[c, j] *= D[c]
    for i in range(d):
        for j in range(d):
            by_flow[i, j] += m[i] * r[j] + X[i, j]
        for c in range(i):
            l = L[i, c]
            for j in range(d):
                by_flow[i, j] += l * X[c, j]


@compiled
def run_backward(
    states: Any,
    which: Any,
    tables: Any,
    sites: Any,
    kept: Any,
    later: Any,
    kept_later: Any,
    moments: Any,
    sums: Any,
    every: int,
    first: int,
) -> None:
    """Smooth nodes from the last to the first, whose number ``first`` divides by ``every``.

    Stretches of ``every`` nodes are filtered again from what :func:`run_forward` kept. ``later`` is ``(r, N)``
    after the last node, and becomes what it is before the first; ``kept_later`` takes it after each stretch.
    ``moments`` takes mean, variance, residual and ``1 - w variance`` of each node. ``sums`` takes, for each
    step of the tables, and last for the start, sums of ``m r' + P M`` and of ``M = r r' - N``, which make the
    derivatives; nothing is added if they are empty.
    """
    d = len(states)
    A, AT, UT, V = tables
    z, w = sites
    kept_m, kept_L, kept_D = kept
    r, N = later
    kept_r, kept_N = kept_later
    mean, variance, residual, shrinkage = moments
    by_flow, by_noise = sums
    n, derive, kind = len(z), len(by_flow) > 0, N.dtype
    m, L, D = np.empty(d, kind), np.empty((d, d), kind), np.empty(d, kind)
    ms, Ls, Ds = np.empty((every, d), kind), np.empty((every, d, d), kind), np.empty((every, d), kind)
    q, p, room = np.empty(d, kind), np.empty(d, kind), np.empty(d, kind)
    X, M = np.empty((d, d), kind), np.empty((d, d), kind)
    for stretch in range((n - 1) // every, -1, -1):
        start, place = stretch * every, first // every + stretch
        stop = min(start + every, n)
        m[:] = kept_m[place, 0]
        L[:] = kept_L[place]
        D[:] = kept_D[place]
        kept_r[place] = r
        kept_N[place] = N
        filter_stretch(states, which, (AT, UT, V), sites, (m, L, D), (ms, Ls, Ds), start, stop)
        for t in range(stop - 1, start - 1, -1):
            at, k = t - start, which[t]
            s = Ds[at, 0]
            delta, e = 1.0 + w[t] * s, z[t] - ms[at, 0]
            h, pulled = absorb(states, Ls[at], s, w[t], e, r, N, q, p)
            mean[t] = ms[at, 0] + s * ((w[t] * e + pulled) / delta)
            residual[t] = (e - s * pulled) / delta
            variance[t] = (s / delta) * (1.0 - s * h / delta)
            shrinkage[t] = (1.0 + w[t] * s * s * h / delta) / delta
            if derive:
                add_derivatives(states, ms[at], Ls[at], Ds[at], r, N, M, X, by_flow[k], by_noise[k])
            if k >= 0:
                pull_back(states, A[k], r, N, X, room)


@compiled
def cross_stretch(
    states: Any,
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
    d, n = len(states), len(which)
    A, AT, UT, V = tables
    z, w = sites
    r, N = later
    c, y, along = cross
    ms, Ls, Ds = np.empty((n, d)), np.empty((n, d, d)), np.empty((n, d))
    q, p, room, X = np.empty(d), np.empty(d), np.empty(d), np.empty((d, d))
    filter_stretch(states, which, (AT, UT, V), sites, state, (ms, Ls, Ds), 0, n)
    for t in range(n - 1, -1, -1):
        k, s = which[t], Ds[t, 0]
        if wanted[t]:
            count -= 1
            for i in range(d):
                c[count, i] = Ls[t, i, 0] * s
            for i in range(d):
                y[count, i] = 0.0
                for j in range(d):
                    y[count, i] -= N[i, j] * c[count, j]
                    along[count, i, j] = B[i, j]
                    B[i, j] = 0.0
                B[i, i] = 1.0
            y[count, 0] += 1.0
        else:
            # (I - k H)' B: only the first row changes.
            delta = 1.0 + w[t] * s
            for j in range(d):
                inner = 0.0
                for i in range(1, d):
                    inner += Ls[t, i, 0] * B[i, j]
                B[0, j] = B[0, j] / delta - (s * w[t] / delta) * inner
        absorb(states, Ls[t], s, w[t], z[t] - ms[t, 0], r, N, q, p)
        if k >= 0:
            for i in range(d):
                for j in range(d):
                    X[i, j] = 0.0
            for b in range(d):
                for i in range(d):
                    a = A[k, b, i]
                    for j in range(d):
                        X[i, j] += a * B[b, j]
            B[:] = X
            pull_back(states, A[k], r, N, X, room)
    return count


@compiled
def fill_covariance(states: Any, cross: Any, out: Any) -> None:
    """Covariances between all wanted nodes."""
    d = len(states)
    c, y, along = cross
    v, room = np.empty(d), np.empty(d)
    for i in range(len(c)):
        v[:] = c[i]
        for j in range(i, len(c)):
            total = 0.0
            for a in range(d):
                total += v[a] * y[j, a]
            out[i, j] = total
            out[j, i] = total
            for b in range(d):
                room[b] = 0.0
            for a in range(d):
                for b in range(d):
                    room[b] += v[a] * along[j, a, b]
            v[:] = room


@compiled
def sample_stretch(
    states: Any,
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

    ``told`` is what that node tells of the one before: numbers ``given = through x + noise``, a row for each draw,
    with independent noise, of infinite variance if there is no such node. It becomes what the first node of
    the stretch tells. ``count`` is how many wanted nodes are to come.
    """
    d, n, size = len(states), len(which), normal.shape[1]
    A, AT, UT, V = tables
    z, w = sites
    given, through, noise = told
    ms, Ls, Ds = np.empty((n, d)), np.empty((n, d, d)), np.empty((n, d))
    W, G, gain = np.empty((2 * d, d)), np.empty((3, 2 * d)), np.empty((d, d))
    b, f, x = np.empty(d), np.empty(d), np.empty(d)
    lower = np.eye(d)
    filter_stretch(states, which, (AT, UT, V), sites, state, (ms, Ls, Ds), 0, n)
    for t in range(n - 1, -1, -1):
        m, L, D, k = ms[t], Ls[t], Ds[t], which[t]
        delta = 1.0 + w[t] * D[0]
        shift = D[0] * (w[t] / delta) * (z[t] - m[0])
        D[0] /= delta
        for i in range(d):
            m[i] += L[i, 0] * shift
        for row in range(d):
            take_in(states, through[row], noise[row], L, D, b, f, gain[row])
        if k >= 0:
            # The noise of the step, in factors; then ``lower^-1 A`` row by row.
            noise[:] = 0.0
            step(states, AT[k], UT[k], V[k], lower, noise, W, G)
        for draw in range(size):
            for i in range(d):
                x[i] = m[i]
            for row in range(d):
                innovation = given[draw, row]
                for i in range(d):
                    innovation -= through[row, i] * x[i]
                for i in range(d):
                    x[i] += gain[row, i] * innovation
            for j in range(d):
                size_of = np.sqrt(D[j]) * normal[t, draw, j]
                x[j] += size_of
                for i in range(j + 1, d):
                    x[i] += L[i, j] * size_of
            if wanted[t]:
                out[count - 1, draw] = x[0]
            for i in range(d):
                for j in range(i):
                    x[i] -= lower[i, j] * x[j]
                given[draw, i] = x[i]
        if wanted[t]:
            count -= 1
        if k >= 0:
            for i in range(d):
                for c in range(d):
                    through[i, c] = A[k, i, c]
                    for j in range(i):
                        through[i, c] -= lower[i, j] * through[j, c]
    return count


@compiled
def take_in(states: Any, row: Any, noise: Any, L: Any, D: Any, b: Any, f: Any, gain: Any) -> None:
    """Condition a normal variable, in factors, on ``row x`` with some noise or none (Bierman, 1977).

    The mean moves by ``gain`` times the innovation. No difference of variances is formed.
    """
    d = len(states)
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
            old = L[i, j]
            L[i, j] = old - b[i] * ratio
            b[i] += old * v
    for i in range(d):
        gain[i] = b[i] / alpha if alpha > 0.0 else 0.0
