"""The search: many initialisations are screened, the best of them optimised a little, the winner fully.

Many contaminated data sets can be explained in more than one way: most observations are too high, or a few
too low. Each hypothesis has a score of its own, and which is best shows only after some optimisation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, log

from sturdygp._caching import cached_property
from sturdygp.inference.problem import LONGER, Problem, Resume, lengthened
from sturdygp.inference.variational import Alternation, Start, joined, sampled, start_at
from sturdygp.likelihoods.contamination import ContaminationModel, MixtureState, Shape
from sturdygp.likelihoods.contamination_prior import N_PARAMETERS, ContaminationPrior
from sturdygp.methods.fit import LedgerEntry
from sturdygp.methods.robust.hypothesis import TOGETHER, Hypothesis, still_possible
from sturdygp.methods.robust.initialisation import (
    REFINEMENTS,
    TRUST_ALL,
    Level,
    LowNoise,
    after_kernel_grew,
    around_neighbours,
    second_part_initialisations,
)
from sturdygp.methods.robust.neighbours import side_by_side
from sturdygp.methods.robust.prior import FunctionPrior
from sturdygp.methods.robust.screening import Screened, Screening, distinct, screened
from sturdygp.methods.robust.variance_function import TRUSTED
from sturdygp.optimise import Callback, Step, above
from sturdygp.status import Status

SHAPES = (Shape.normal(), Shape.flat(5))
# Length scales that are screened, as log factors of the kernel's own, that which is tried first first.
LENGTHS = (LONGER, 0.5 * LONGER, 0.0, -0.5 * LONGER)
# Those of an ordinary fit; the second where observations are dense enough to show that the function is that
# fine.
ORDINARY, SHORT = 0.5 * LONGER, -LONGER
# How many screened states are optimised, beside an ordinary fit, and iterations to compare them.
KEPT, COMPARING = 3, 6
# How far below the best a screened state is hopeless, in nats for each observation: the screening is rough.
ROUGH = 0.5
# How often hypotheses are compared.
ROUNDS = 10
# A second part of the kernel is tried if there are so many inliers for each of its parameters. It must raise
# the ELBO by a log of the number of observations for each, twice what the Bayesian information criterion
# asks, as it can describe noise. At first and after one iteration it may have lowered it by so much for each
# observation; after a few, it must have raised it by a fraction of what is asked.
ENOUGH, DOUBT, PROMISING = 10.0, (0.04, 0.02), 0.125
# More observations than these are screened by a sample of them.
SCREENED_ROWS = 400
# Lines of the ledger that are kept.
LEDGER_LENGTH = 8


@dataclass(frozen=True, eq=False)
class Found:
    """The best hypothesis, how many factorisations it took to find, and the others that were compared.

    Factorisations of a sample of the observations count by their share of the work.
    """

    best: Hypothesis
    n_factorizations: int
    others: tuple[LedgerEntry, ...] = ()

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """The winner, and then the others by their scores."""
        winner = self.best.entry
        others = sorted(self.others, key=lambda each: -each.score.total)
        higher = [each for each in others if each.score.total > winner.score.total]
        return (replace(winner, convinced=bool(higher)), *others)[:LEDGER_LENGTH]


@dataclass(frozen=True, eq=False)
class Search:
    """The optimisations of one problem; the kernel's last ``second_part`` parameters are of a second part.

    Observations are ``dense`` if neighbours differ by much less than all of them do.
    """

    problem: Problem
    prior: ContaminationPrior
    noise_share: float
    tol: float
    max_iter: int
    dense: bool = False
    second_part: int = 0

    def best(self, levels: list[Level]) -> Found:
        """Find the best hypothesis and optimise it until it converges."""
        found = self._with_one_part(levels)
        found = self._doubted(found)
        return self._with_two_parts(found)

    # ------------------------------------------------------------------------------------ one part of the
    # kernel

    def _with_one_part(self, levels: list[Level]) -> Found:
        """The best with the kernel as it is, unless an earlier fit went further."""
        if self.problem.resume is not None:
            best = self._resumed(self.problem.resume)
            return Found(best, best.optimum.n_evaluations)
        few = self._sampled()
        found = few.compared(levels)
        if few is self:
            best = self._until_converged(found.best)
            return replace(
                found, best=best, n_factorizations=found.n_factorizations + best.optimum.n_evaluations
            )
        shape = found.best.model.shape
        start = self._loop(shape).start_from(self.problem.kernel, found.best.optimum)
        best = self._optimise(shape, start, self.max_iter, self.problem.callback)
        spent = ceil(found.n_factorizations * few.problem.work / self.problem.work)
        return Found(best, spent + best.optimum.n_evaluations)

    def compared(self, levels: list[Level]) -> Found:
        """The best hypothesis after a little optimisation."""
        hypotheses, spent = self._initial_hypotheses(levels, min(COMPARING, self.max_iter))
        surest, dropped = max(hypotheses, key=lambda each: each.score_without_outliers), []
        for _ in range(ROUNDS):
            possible = still_possible(hypotheses)
            dropped += [each for each in hypotheses if each not in possible]
            hypotheses = possible
            more = min(COMPARING, self.max_iter - hypotheses[0].optimum.n_iter)
            if len(hypotheses) == 1 or more <= 0:
                break
            hypotheses = [self._further(each, more) for each in hypotheses]
            spent += sum(each.optimum.n_evaluations for each in hypotheses)
        best, *others = still_possible(hypotheses)
        if surest.score_without_outliers > best.value:
            best, others = surest, [best, *others]
        rest = [
            each
            for each in (*others, *dropped)
            if each is not best and each.optimum.status is not Status.FAILED
        ]
        return Found(best, spent, tuple(each.entry for each in distinct(rest)))

    def _initial_hypotheses(self, levels: list[Level], iterations: int) -> tuple[list[Hypothesis], int]:
        """All that are compared, each optimised a little; also count the factorisations."""
        promising = distinct(self._screened(levels), ROUGH * self.problem.y.size)[:KEPT]
        hypotheses = [self._optimise(each.model.shape, each.start, iterations) for each in promising]
        spent = sum(each.optimum.n_evaluations for each in hypotheses)
        for length in (ORDINARY, SHORT) if self.dense else (ORDINARY,):
            ordinary = self._ordinary(length, iterations)
            low_noise, for_low_noise = self._with_low_noise(ordinary, hypotheses)
            hypotheses += [ordinary, *low_noise]
            spent += ordinary.optimum.n_evaluations + for_low_noise
        neighbours, for_neighbours = self._around_neighbours(still_possible(hypotheses)[0], iterations)
        return [*hypotheses, *neighbours], spent + for_neighbours

    def _screened(self, levels: list[Level]) -> list[Screened]:
        """From every level, in every shape and with every length scale."""
        kernels = [lengthened(self.problem.kernel, length) for length in LENGTHS]
        screenings = [Screening.of(kernel, self.problem.inputs, self.prior.signal) for kernel in kernels]
        models = [self._model(shape) for shape in SHAPES]
        return [each for model in models for each in screened(model, screenings, levels, self.noise_share)]

    def _ordinary(self, length: float, max_iter: int) -> Hypothesis:
        """As if all observations were inliers, from shorter length scales, which find fine structure."""
        model, kernel = self._model(SHAPES[0]), lengthened(self.problem.kernel, length)
        start = TRUST_ALL.initial_state(model, self.noise_share).at(kernel)
        return self._optimise(model.shape, start, max_iter)

    def _around_neighbours(self, best: Hypothesis, max_iter: int) -> tuple[list[Hypothesis], int]:
        """As if the function were about what neighbouring observations have in common.

        Only where observations are dense, or if outliers are side by side in what is best so far: they may be
        a part of the function. Also count the factorisations.
        """
        if not self.dense and side_by_side(self.problem.inputs, best.inlier <= TRUSTED) <= TOGETHER:
            return [], 0
        model, kernel = self._model(SHAPES[0]), lengthened(self.problem.kernel, SHORT)
        start = around_neighbours(self.problem, model, kernel)
        if start is None:
            return [], REFINEMENTS
        optimised = self._optimise(model.shape, start, max_iter)
        return [optimised], REFINEMENTS + optimised.optimum.n_evaluations

    def _with_low_noise(
        self, hypothesis: Hypothesis, others: list[Hypothesis]
    ) -> tuple[list[Hypothesis], int]:
        """Go on with the noise of most observations, if that of a hypothesis is too large for them.

        Not if others are there already. Outliers that then lie together are where the function is not
        followed. Also count the factorisations.
        """
        low_noise = LowNoise.behind(hypothesis)
        if low_noise is None or any(low_noise.agrees_with(other.inlier) for other in others):
            return [], 0
        kernel = hypothesis.start.kernel
        starts = [(shape, low_noise.start(self._model(shape), kernel)) for shape in SHAPES]
        optimised = [self._optimise(shape, start, COMPARING) for shape, start in starts]
        spent = 1 + sum(each.optimum.n_evaluations for each in optimised)
        return [each for each in optimised if not each.clustered], spent

    def _resumed(self, state: Resume) -> Hypothesis:
        """Continue an earlier optimisation in its shape, which its components show, and with its kernel."""
        finer = self.problem.finer
        if finer is not None and state.x.size == finer.kernel.theta.size + N_PARAMETERS:
            return self._for_second_part(finer)._resumed(state)
        components = len(state.latent.get("responsibility", ()))
        shape = next((each for each in SHAPES if each.centres.size + 1 == components), SHAPES[0])
        like = TRUST_ALL.initial_state(self._model(shape), self.noise_share).latent
        start = start_at(state, self.problem.kernel, N_PARAMETERS, like)
        return self._optimise(shape, start, self.max_iter, self.problem.callback)

    # ------------------------------------------------------------------------------------------ what may be
    # missed

    def _doubted(self, found: Found) -> Found:
        """With the noise of most observations, if what was found is too large for them and that is better."""
        before = found.best
        # An earlier fit may have gone on with a second part of the kernel: then it was doubted before that.
        if before.optimum.status is not Status.CONVERGED or before.problem is not self.problem:
            return found
        others, spent = self._with_low_noise(before, [])
        found = replace(found, n_factorizations=found.n_factorizations + spent)
        best = still_possible([before, *others])[0] if others else before
        if best is before:
            return replace(found, others=(*found.others, *(each.entry for each in others)))
        # A callback hears of no value below what was found, and is not asked again once it said stop.
        heard = replace(self.problem, callback=above(self.problem.callback, before.optimum.value))
        top = replace(self, problem=heard)._until_converged(best)
        better = still_possible([before, top])[0]
        worse = before if better is top else top
        return Found(
            better.stopped() if top.optimum.status is Status.STOPPED else better,
            found.n_factorizations + top.optimum.n_evaluations,
            (*found.others, worse.entry),
        )

    def _with_two_parts(self, found: Found) -> Found:
        """With a second part of the kernel if that repays its parameters.

        Structure that is too fine for one length scale passes for noise, or for outliers.
        """
        before, spent = found.best, found.n_factorizations
        finer, base = before.problem.finer, before.optimum
        if finer is None or base.status is not Status.CONVERGED:
            return found
        search, n = self._for_second_part(finer), self.problem.y.size
        if before.inlier.sum() < ENOUGH * search.second_part:
            return found
        starts = second_part_initialisations(finer.kernel, base)
        trials = [search._optimise(before.model.shape, start, 0) for start in starts]
        spent += sum(trial.optimum.n_evaluations for trial in trials)
        trial, penalty = max(trials, key=lambda each: each.optimum.value), search.occam(n)
        hurdles = (-DOUBT[0] * n, -DOUBT[1] * n, PROMISING * penalty)
        for hurdle, most in zip(hurdles, (1, COMPARING, self.max_iter), strict=True):
            if trial.optimum.value <= base.value + hurdle:
                return replace(found, n_factorizations=spent)
            done = base.n_iter + trial.optimum.n_iter
            # A callback hears of what has risen above all before, and keeps what is then taken.
            hearing = above(self.problem.callback, base.value, penalty) if hurdle > 0.0 else None
            trial = search._further(trial, min(most, max(self.max_iter - done, 0)), hearing)
            spent += trial.optimum.n_evaluations
        if trial.optimum.value <= base.value + penalty:
            best = before.stopped() if trial.optimum.status is Status.STOPPED else before
            return Found(best, spent, (*found.others, trial.entry))
        best = replace(trial, optimum=after_kernel_grew(base, trial.optimum))
        return Found(best, spent, (*found.others, before.entry))

    def _for_second_part(self, finer: Problem) -> Search:
        """The same search with a kernel that has another part."""
        more = finer.kernel.theta.size - self.problem.kernel.theta.size
        return replace(self, problem=finer, second_part=more)

    def occam(self, n: int) -> float:
        """What the second part of the kernel costs, in nats, with so many observations."""
        return self.second_part * log(n)

    # -------------------------------------------------------------------------------------------------
    # optimisation

    def _optimise(
        self, shape: Shape, start: Start[MixtureState], max_iter: int, callback: Callback | None = None
    ) -> Hypothesis:
        optimum = self._loop(shape).climb(start, max_iter=max_iter, tol=self.tol, callback=callback)
        gained = optimum.value - optimum.trace[0] if optimum.trace else 0.0
        occam = self.occam(self.problem.y.size)
        return Hypothesis(self._model(shape), self.problem, self._function_prior, optimum, gained, occam)

    def _further(self, hypothesis: Hypothesis, max_iter: int, callback: Callback | None = None) -> Hypothesis:
        """The same optimisation, continued; what was spent is that of the continuation."""
        after = self._optimise(hypothesis.model.shape, hypothesis.start, max_iter, callback)
        return replace(after, optimum=joined(hypothesis.optimum, after.optimum))

    def _until_converged(self, found: Hypothesis) -> Hypothesis:
        """The rest of ``max_iter`` iterations; a callback hears of the first ones before."""
        done, callback = found.optimum.n_iter, self.problem.callback
        if callback is not None:
            for value in found.optimum.trace[len(found.optimum.trace) - done :]:
                if callback(Step(value, inf, found.optimum)):
                    return found.stopped()
        return self._further(found, self.max_iter - done, callback)

    def _model(self, shape: Shape) -> ContaminationModel:
        return ContaminationModel(self.problem.y, shape, self.prior.against(self.problem.y.size))

    def _loop(self, shape: Shape) -> Alternation[MixtureState]:
        return Alternation(self._model(shape), self.problem, self.prior.box, self._function_prior)

    @cached_property
    def _function_prior(self) -> FunctionPrior:
        return FunctionPrior.of(self.problem, self.prior.signal, self.second_part)

    def _sampled(self) -> Search:
        """The same search for a sample of the observations, if they are many."""
        few = sampled(self.problem, SCREENED_ROWS)
        if few is self.problem:
            return self
        return replace(self, problem=few, tol=self.tol * few.y.size / self.problem.y.size)
