"""The search: many initialisations are screened, the best of them optimised a little, the winner fully.

Many contaminated data sets can be explained in more than one way: most observations are too high, or a few
too low. Each hypothesis has a score of its own, and which is best shows only after some optimisation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, log

from sturdygp._caching import cached_property
from sturdygp.inference.problem import LONGER, Problem, ResumeState, lengthened
from sturdygp.inference.variational import (
    Initialisation,
    VariationalObjective,
    chained,
    restored_initialisation,
    sampled,
)
from sturdygp.likelihoods.contamination import ContaminationModel, MixtureState, Shape
from sturdygp.likelihoods.contamination_prior import N_PARAMETERS, ContaminationPrior
from sturdygp.methods.fit import LedgerEntry
from sturdygp.methods.robust.hypothesis import CLUSTERED, Hypothesis, still_possible
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
# Screened length scales, as log factors of the kernel's own; all levels are screened with the first.
SCREENED_LENGTHS = (LONGER, 0.5 * LONGER, 0.0, -0.5 * LONGER)
# Length scales of an ordinary fit; the second is for dense observations, which can show fine structure.
ORDINARY_LENGTH, SHORT_LENGTH = 0.5 * LONGER, -LONGER
# Number of screened states that are optimised, in addition to an ordinary fit, and iterations between
# comparisons.
KEPT_STATES, COMPARED_ITERATIONS = 3, 6
# Nats per observation below the best at which a screened state is dropped: screening is approximate.
SCREENING_MARGIN = 0.5
# Most comparisons of hypotheses.
COMPARISONS = 10
# A second part of the kernel is tried with so many inliers for each of its parameters. It must raise the ELBO
# by a log of the number of observations for each parameter, twice the penalty of the Bayesian information
# criterion, as it can describe noise. It is dropped if it lowers the ELBO by more than this per observation
# initially, or after one iteration; or if it has not gained this fraction of the penalty after a few.
INLIERS_PER_PARAMETER, ALLOWED_LOSSES, REQUIRED_FRACTION = 10.0, (0.04, 0.02), 0.125
# Largest number of observations that are screened; of more, a sample is.
SCREENED_ROWS = 400
# Lines of the ledger.
LEDGER_LENGTH = 8


@dataclass(frozen=True, eq=False)
class Found:
    """The best hypothesis, the number of factorisations, and the other hypotheses that were compared.

    Factorisations of a sample of the observations count by their fraction of the work.
    """

    best: Hypothesis
    n_factorizations: int
    others: tuple[LedgerEntry, ...] = ()

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """The winner, then the others by their scores."""
        winner = self.best.entry
        others = sorted(self.others, key=lambda each: -each.score.total)
        higher = [each for each in others if each.score.total > winner.score.total]
        return (replace(winner, convinced=bool(higher)), *others)[:LEDGER_LENGTH]


@dataclass(frozen=True, eq=False)
class Search:
    """Search for the best hypothesis of one problem.

    The kernel's last ``second_part`` parameters are those of a second part. Observations are ``dense`` if
    neighbours differ by much less than observations in general.
    """

    problem: Problem
    prior: ContaminationPrior
    noise_fraction: float
    tol: float
    max_iter: int
    dense: bool = False
    second_part: int = 0

    def best(self, levels: list[Level]) -> Found:
        """Find the best hypothesis and optimise it until it converges."""
        found = self._with_one_part(levels)
        found = self._tested_for_low_noise(found)
        return self._with_two_parts(found)

    # ---------------------------------------------------------------------- one part of the kernel

    def _with_one_part(self, levels: list[Level]) -> Found:
        """Find the best hypothesis with the kernel as it is, or resume an earlier fit."""
        if self.problem.resume is not None:
            best = self._resumed(self.problem.resume)
            return Found(best, best.optimum.n_evaluations)
        sample = self._sampled()
        found = sample.compared(levels)
        if sample is self:
            best = self._until_converged(found.best)
            return replace(
                found, best=best, n_factorizations=found.n_factorizations + best.optimum.n_evaluations
            )
        shape = found.best.model.shape
        initial = self._objective(shape).initialisation_from_sample(self.problem.kernel, found.best.optimum)
        best = self._optimise(shape, initial, self.max_iter, self.problem.callback)
        spent = ceil(found.n_factorizations * sample.problem.work / self.problem.work)
        return Found(best, spent + best.optimum.n_evaluations)

    def compared(self, levels: list[Level]) -> Found:
        """Compare all hypotheses, each optimised a little further from round to round."""
        hypotheses, spent = self._initial_hypotheses(levels, min(COMPARED_ITERATIONS, self.max_iter))
        surest, dropped = max(hypotheses, key=lambda each: each.score_without_outliers), []
        for _ in range(COMPARISONS):
            possible = still_possible(hypotheses)
            dropped += [each for each in hypotheses if each not in possible]
            hypotheses = possible
            more = min(COMPARED_ITERATIONS, self.max_iter - hypotheses[0].optimum.n_iter)
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
        """Initialise all hypotheses and optimise each a little; also count the factorisations."""
        promising = distinct(self._screened(levels), SCREENING_MARGIN * self.problem.y.size)[:KEPT_STATES]
        hypotheses = [self._optimise(each.model.shape, each.initialisation, iterations) for each in promising]
        spent = sum(each.optimum.n_evaluations for each in hypotheses)
        for length in (ORDINARY_LENGTH, SHORT_LENGTH) if self.dense else (ORDINARY_LENGTH,):
            ordinary = self._ordinary(length, iterations)
            low_noise, for_low_noise = self._with_low_noise(ordinary, hypotheses)
            hypotheses += [ordinary, *low_noise]
            spent += ordinary.optimum.n_evaluations + for_low_noise
        neighbours, for_neighbours = self._around_neighbours(still_possible(hypotheses)[0], iterations)
        return [*hypotheses, *neighbours], spent + for_neighbours

    def _screened(self, levels: list[Level]) -> list[Screened]:
        """Screen every level with every shape and length scale."""
        kernels = [lengthened(self.problem.kernel, length) for length in SCREENED_LENGTHS]
        screenings = [Screening.of(kernel, self.problem.inputs, self.prior.signal) for kernel in kernels]
        models = [self._model(shape) for shape in SHAPES]
        return [each for model in models for each in screened(model, screenings, levels, self.noise_fraction)]

    def _ordinary(self, length: float, max_iter: int) -> Hypothesis:
        """Optimise with nearly all observations as inliers, from length scales of fine structure."""
        model, kernel = self._model(SHAPES[0]), lengthened(self.problem.kernel, length)
        initial = TRUST_ALL.initial_state(model, self.noise_fraction).at(kernel)
        return self._optimise(model.shape, initial, max_iter)

    def _around_neighbours(self, best: Hypothesis, max_iter: int) -> tuple[list[Hypothesis], int]:
        """Optimise from a function near the medians of neighbours; also count the factorisations.

        This is done if observations are dense, or if the outliers of the best hypothesis so far are
        neighbours of each other: they may be a part of the function.
        """
        if not self.dense and side_by_side(self.problem.inputs, best.inlier <= TRUSTED) <= CLUSTERED:
            return [], 0
        model, kernel = self._model(SHAPES[0]), lengthened(self.problem.kernel, SHORT_LENGTH)
        initial = around_neighbours(self.problem, model, kernel)
        if initial is None:
            return [], REFINEMENTS
        optimised = self._optimise(model.shape, initial, max_iter)
        return [optimised], REFINEMENTS + optimised.optimum.n_evaluations

    def _with_low_noise(
        self, hypothesis: Hypothesis, others: list[Hypothesis]
    ) -> tuple[list[Hypothesis], int]:
        """Optimise low-noise variants of a hypothesis whose noise is too large for most of its residuals.

        Variants like one of the others are skipped. Those with clustered outliers are dropped: they miss a
        part of the function. Also count the factorisations.
        """
        low_noise = LowNoise.from_residuals(hypothesis)
        if low_noise is None or any(low_noise.agrees_with(other.inlier) for other in others):
            return [], 0
        kernel = hypothesis.state.kernel
        initialisations = [(shape, low_noise.initialisation(self._model(shape), kernel)) for shape in SHAPES]
        optimised = [
            self._optimise(shape, initial, COMPARED_ITERATIONS) for shape, initial in initialisations
        ]
        spent = 1 + sum(each.optimum.n_evaluations for each in optimised)
        return [each for each in optimised if not each.clustered], spent

    def _resumed(self, state: ResumeState) -> Hypothesis:
        """Continue an earlier optimisation, with its kernel and the shape that its components imply."""
        finer = self.problem.finer
        if finer is not None and state.x.size == finer.kernel.theta.size + N_PARAMETERS:
            return self._for_second_part(finer)._resumed(state)
        components = len(state.latent.get("responsibility", ()))
        shape = next((each for each in SHAPES if each.centres.size + 1 == components), SHAPES[0])
        like = TRUST_ALL.initial_state(self._model(shape), self.noise_fraction).latent
        initial = restored_initialisation(state, self.problem.kernel, N_PARAMETERS, like)
        return self._optimise(shape, initial, self.max_iter, self.problem.callback)

    # ------------------------------------------------------------------- tests of the best hypothesis

    def _tested_for_low_noise(self, found: Found) -> Found:
        """Replace the best hypothesis by a low-noise variant if that is better."""
        before = found.best
        # A resumed fit with a second part of the kernel was tested before.
        if before.optimum.status is not Status.CONVERGED or before.problem is not self.problem:
            return found
        others, spent = self._with_low_noise(before, [])
        found = replace(found, n_factorizations=found.n_factorizations + spent)
        best = still_possible([before, *others])[0] if others else before
        if best is before:
            return replace(found, others=(*found.others, *(each.entry for each in others)))
        # The callback hears of no value below the best so far; once it says stop, it is not called again.
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
        """Add a second part to the kernel if the ELBO gains more than its penalty.

        Structure that is too fine for one length scale passes for noise, or for outliers.
        """
        before, spent = found.best, found.n_factorizations
        finer, base = before.problem.finer, before.optimum
        if finer is None or base.status is not Status.CONVERGED:
            return found
        search, n = self._for_second_part(finer), self.problem.y.size
        if before.inlier.sum() < INLIERS_PER_PARAMETER * search.second_part:
            return found
        initialisations = second_part_initialisations(finer.kernel, base)
        trials = [search._optimise(before.model.shape, initial, 0) for initial in initialisations]
        spent += sum(trial.optimum.n_evaluations for trial in trials)
        trial, penalty = max(trials, key=lambda each: each.optimum.value), search.occam(n)
        hurdles = (-ALLOWED_LOSSES[0] * n, -ALLOWED_LOSSES[1] * n, REQUIRED_FRACTION * penalty)
        for hurdle, most in zip(hurdles, (1, COMPARED_ITERATIONS, self.max_iter), strict=True):
            if trial.optimum.value <= base.value + hurdle:
                return replace(found, n_factorizations=spent)
            done = base.n_iter + trial.optimum.n_iter
            # The callback hears of values above all before, and of the optimum once it beats the penalty.
            hearing = above(self.problem.callback, base.value, penalty) if hurdle > 0.0 else None
            trial = search._further(trial, min(most, max(self.max_iter - done, 0)), hearing)
            spent += trial.optimum.n_evaluations
        if trial.optimum.value <= base.value + penalty:
            best = before.stopped() if trial.optimum.status is Status.STOPPED else before
            return Found(best, spent, (*found.others, trial.entry))
        best = replace(trial, optimum=after_kernel_grew(base, trial.optimum))
        return Found(best, spent, (*found.others, before.entry))

    def _for_second_part(self, finer: Problem) -> Search:
        """Search with a second part of the kernel."""
        more = finer.kernel.theta.size - self.problem.kernel.theta.size
        return replace(self, problem=finer, second_part=more)

    def occam(self, n: int) -> float:
        """Penalty of the second part of the kernel, in nats, for so many observations."""
        return self.second_part * log(n)

    # ----------------------------------------------------------------------------------- optimisation

    def _optimise(
        self,
        shape: Shape,
        initial: Initialisation[MixtureState],
        max_iter: int,
        callback: Callback | None = None,
    ) -> Hypothesis:
        optimum = self._objective(shape).optimise(initial, max_iter=max_iter, tol=self.tol, callback=callback)
        gained = optimum.value - optimum.trace[0] if optimum.trace else 0.0
        occam = self.occam(self.problem.y.size)
        return Hypothesis(self._model(shape), self.problem, self._function_prior, optimum, gained, occam)

    def _further(self, hypothesis: Hypothesis, max_iter: int, callback: Callback | None = None) -> Hypothesis:
        """Continue an optimisation; the count of evaluations is that of the continuation."""
        after = self._optimise(hypothesis.model.shape, hypothesis.state, max_iter, callback)
        return replace(after, optimum=chained(hypothesis.optimum, after.optimum))

    def _until_converged(self, found: Hypothesis) -> Hypothesis:
        """Optimise for the rest of ``max_iter`` iterations; the callback first hears of the earlier ones."""
        done, callback = found.optimum.n_iter, self.problem.callback
        if callback is not None:
            for value in found.optimum.trace[len(found.optimum.trace) - done :]:
                if callback(Step(value, inf, found.optimum)):
                    return found.stopped()
        return self._further(found, self.max_iter - done, callback)

    def _model(self, shape: Shape) -> ContaminationModel:
        return ContaminationModel(self.problem.y, shape, self.prior.against(self.problem.y.size))

    def _objective(self, shape: Shape) -> VariationalObjective[MixtureState]:
        return VariationalObjective(self._model(shape), self.problem, self.prior.box, self._function_prior)

    @cached_property
    def _function_prior(self) -> FunctionPrior:
        return FunctionPrior.of(self.problem, self.prior.signal, self.second_part)

    def _sampled(self) -> Search:
        """Search on a sample of the observations, if they are many."""
        sample = sampled(self.problem, SCREENED_ROWS)
        if sample is self.problem:
            return self
        return replace(self, problem=sample, tol=self.tol * sample.y.size / self.problem.y.size)
