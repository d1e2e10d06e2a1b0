"""The search: many starts screened in every shape, the best of them climbed a little, the winner to the top.

Many contaminated data sets can be explained in more than one way: most readings are too high, or a few too
low. Each explanation has a bound of its own, and which is best shows only after some climbing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, log

from sturdygp._caching import cached_property
from sturdygp.methods.adaptive.beside import REFINED, start_beside
from sturdygp.methods.adaptive.candidate import TOGETHER, Candidate, hopeful
from sturdygp.methods.adaptive.core import Core
from sturdygp.methods.adaptive.fine import continued, fine_starts
from sturdygp.methods.adaptive.function import FunctionPrior
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches, Shape
from sturdygp.methods.adaptive.neighbours import side_by_side
from sturdygp.methods.adaptive.prior import EXTRA, ContaminationPrior
from sturdygp.methods.adaptive.screening import Guess, Screening, distinct, screened
from sturdygp.methods.adaptive.starts import TRUSTING, Level
from sturdygp.methods.adaptive.uneven import TRUSTED
from sturdygp.methods.alternating import Alternation, Start, joined, start_at
from sturdygp.methods.base import LONGER, Problem, Resume, lengthened
from sturdygp.methods.stages import sampled
from sturdygp.optimise import Callback, Step, above
from sturdygp.status import Status

SHAPES = (Shape.normal(), Shape.flat(5))
# Length scales that are screened, as log factors of the kernel's own, that which is tried first first.
LENGTHS = (LONGER, 0.5 * LONGER, 0.0, -0.5 * LONGER)
# Those of an ordinary fit; the second where readings are dense enough to show that the function is that fine.
ORDINARY, SHORT = 0.5 * LONGER, -LONGER
# How many guesses are climbed, beside an ordinary fit, and iterations to compare them.
KEPT, COMPARING = 3, 6
# How far below the best a guess is hopeless, in nats for each reading: the screening is rough.
ROUGH = 0.5
# How often candidates are compared.
ROUNDS = 10
# A second part of the kernel is tried if there are so many nominal readings for each of its parameters. It
# must raise the bound by a log of the number of readings for each, twice what the Bayesian information
# criterion asks, as it can describe noise. At first and after one iteration it may have lowered it by so much
# for each reading; after a few, it must have raised it by a share of what is asked.
ENOUGH, DOUBT, PROMISING = 10.0, (0.04, 0.02), 0.125
# More readings than these are screened by a sample of them.
SCREENED_ROWS = 400


@dataclass(frozen=True, eq=False)
class Search:
    """The climbs of one problem; the last ``fine`` parameters of its kernel are those of a second part.

    Readings are ``dense`` if those beside each other differ by much less than all of them do.
    """

    problem: Problem
    prior: ContaminationPrior
    noise_share: float
    tol: float
    max_iter: int
    dense: bool = False
    fine: int = 0

    def best(self, levels: list[Level]) -> tuple[Candidate, int]:
        """The best candidate, climbed to the top, and the factorisations it took to find it.

        Those of a sample of the readings count by their share of the work.
        """
        final, spent = self._of_one_part(levels)
        doubted, for_doubt = self._doubted(final)
        finer, for_finer = self._finer(doubted)
        return finer, spent + for_doubt + for_finer

    def _doubted(self, found: Candidate) -> tuple[Candidate, int]:
        """With the noise of most readings, if what was found is too large for them and that is better."""
        # An earlier fit may have gone on with a second part of the kernel: then it was doubted before that.
        if found.optimum.status is not Status.CONVERGED or found.problem is not self.problem:
            return found, 0
        rivals, spent = self._doubting(found, [])
        best = hopeful([found, *rivals])[0] if rivals else found
        if best is found:
            return found, spent
        # A callback hears of no value below what was found, and is not asked again once it said stop.
        heard = replace(self.problem, callback=above(self.problem.callback, found.optimum.value))
        top = replace(self, problem=heard)._to_the_top(best)
        better = hopeful([found, top])[0]
        spent += top.optimum.n_evaluations
        return (better.stopped() if top.optimum.status is Status.STOPPED else better), spent

    def _doubting(self, candidate: Candidate, others: list[Candidate]) -> tuple[list[Candidate], int]:
        """Climbs from a candidate with the noise of most readings, if its own is too large for them.

        Not if others are there already. Faults that then lie together are where the function is not followed.
        Also count the factorisations.
        """
        core = Core.behind(candidate)
        if core is None or any(core.is_told_by(other.nominal) for other in others):
            return [], 0
        kernel = candidate.start.kernel
        starts = [(shape, core.start(self._model(shape), kernel)) for shape in SHAPES]
        climbs = [self._climb(shape, start, COMPARING) for shape, start in starts]
        spent = 1 + sum(climb.optimum.n_evaluations for climb in climbs)
        return [climb for climb in climbs if not climb.clustered], spent

    def _of_one_part(self, levels: list[Level]) -> tuple[Candidate, int]:
        """The best with the kernel as it is, unless an earlier fit went further."""
        if self.problem.resume is not None:
            final = self._resumed(self.problem.resume)
            return final, final.optimum.n_evaluations
        few = self._sampled()
        found, spent = few.compared(levels)
        if few is self:
            final = self._to_the_top(found)
            return final, spent + final.optimum.n_evaluations
        start = self._loop(found.model.shape).start_from(self.problem.kernel, found.optimum)
        final = self._climb(found.model.shape, start, self.max_iter, self.problem.callback)
        share = few.problem.work / self.problem.work
        return final, ceil(spent * share) + final.optimum.n_evaluations

    def _resumed(self, state: Resume) -> Candidate:
        """An earlier climb, continued in its shape, which shows in its branches, and with its kernel."""
        finer = self.problem.finer
        if finer is not None and state.x.size == finer.kernel.theta.size + EXTRA:
            return self._with_fine_part(finer)._resumed(state)
        branches = len(state.latent.get("responsibility", ()))
        shape = next((each for each in SHAPES if each.centres.size + 1 == branches), SHAPES[0])
        like = TRUSTING.supposition(self._model(shape), self.noise_share).latent
        start = start_at(state, self.problem.kernel, EXTRA, like)
        return self._climb(shape, start, self.max_iter, self.problem.callback)

    def _finer(self, found: Candidate) -> tuple[Candidate, int]:
        """With a second part of the kernel if that repays its parameters; and the factorisations it took.

        Structure that is too fine for one length scale passes for noise, or for faults.
        """
        finer, base = found.problem.finer, found.optimum
        if finer is None or base.status is not Status.CONVERGED:
            return found, 0
        search, n = self._with_fine_part(finer), self.problem.y.size
        if found.nominal.sum() < ENOUGH * search.fine:
            return found, 0
        trials = [search._climb(found.model.shape, start, 0) for start in fine_starts(finer.kernel, base)]
        spent = sum(trial.optimum.n_evaluations for trial in trials)
        trial, penalty = max(trials, key=lambda each: each.optimum.value), search.fine * log(n)
        hurdles = (-DOUBT[0] * n, -DOUBT[1] * n, PROMISING * penalty)
        for hurdle, most in zip(hurdles, (1, COMPARING, self.max_iter), strict=True):
            if trial.optimum.value <= base.value + hurdle:
                return found, spent
            done = base.n_iter + trial.optimum.n_iter
            # A callback hears of what has risen above all before, and keeps what is then taken.
            hearing = above(self.problem.callback, base.value, penalty) if hurdle > 0.0 else None
            trial = search._further(trial, min(most, max(self.max_iter - done, 0)), hearing)
            spent += trial.optimum.n_evaluations
        if trial.optimum.value <= base.value + penalty:
            stopped = trial.optimum.status is Status.STOPPED
            return (found.stopped() if stopped else found), spent
        return replace(trial, optimum=continued(base, trial.optimum)), spent

    def _with_fine_part(self, finer: Problem) -> Search:
        """The same search with a kernel that has another part."""
        return replace(self, problem=finer, fine=finer.kernel.theta.size - self.problem.kernel.theta.size)

    def compared(self, levels: list[Level]) -> tuple[Candidate, int]:
        """The best candidate after a little climbing, and the factorisations so far."""
        rivals, spent = self._rivals(levels, min(COMPARING, self.max_iter))
        surest = max(rivals, key=lambda c: c.assured)
        for _ in range(ROUNDS):
            rivals = hopeful(rivals)
            more = min(COMPARING, self.max_iter - rivals[0].optimum.n_iter)
            if len(rivals) == 1 or more <= 0:
                break
            rivals = [self._further(c, more) for c in rivals]
            spent += sum(c.optimum.n_evaluations for c in rivals)
        best = hopeful(rivals)[0]
        return (surest if surest.assured > best.value else best), spent

    def _rivals(self, levels: list[Level], iterations: int) -> tuple[list[Candidate], int]:
        """All that are compared, each climbed a little."""
        guesses = distinct(self._guesses(levels), ROUGH * self.problem.y.size)[:KEPT]
        rivals = [self._climb(guess.model.shape, guess.start, iterations) for guess in guesses]
        spent = sum(c.optimum.n_evaluations for c in rivals)
        for length in (ORDINARY, SHORT) if self.dense else (ORDINARY,):
            ordinary = self._ordinary(length, iterations)
            doubting, for_doubt = self._doubting(ordinary, rivals)
            rivals += [ordinary, *doubting]
            spent += ordinary.optimum.n_evaluations + for_doubt
        beside, for_beside = self._beside(hopeful(rivals)[0], iterations)
        return [*rivals, *beside], spent + for_beside

    def _guesses(self, levels: list[Level]) -> list[Guess]:
        """From every level, in every shape and with every length."""
        kernels = [lengthened(self.problem.kernel, length) for length in LENGTHS]
        screenings = [Screening.of(kernel, self.problem.inputs, self.prior.signal) for kernel in kernels]
        models = [self._model(shape) for shape in SHAPES]
        return [guess for model in models for guess in screened(model, screenings, levels, self.noise_share)]

    def _ordinary(self, length: float, max_iter: int) -> Candidate:
        """As if all readings were nominal, from shorter length scales, which find structure that is fine."""
        model, kernel = self._model(SHAPES[0]), lengthened(self.problem.kernel, length)
        start = TRUSTING.supposition(model, self.noise_share).at(kernel)
        return self._climb(model.shape, start, max_iter)

    def _beside(self, best: Candidate, max_iter: int) -> tuple[list[Candidate], int]:
        """As if the function were about what readings beside each other have in common.

        Only where readings are dense, or if faults are side by side in what is best so far: they may be a
        part of the function. Also count the factorisations.
        """
        if not self.dense and side_by_side(self.problem.inputs, best.nominal <= TRUSTED) <= TOGETHER:
            return [], 0
        model, kernel = self._model(SHAPES[0]), lengthened(self.problem.kernel, SHORT)
        start = start_beside(self.problem, model, kernel)
        if start is None:
            return [], REFINED
        climbed = self._climb(model.shape, start, max_iter)
        return [climbed], REFINED + climbed.optimum.n_evaluations

    def _climb(
        self, shape: Shape, start: Start[Branches], max_iter: int, callback: Callback | None = None
    ) -> Candidate:
        optimum = self._loop(shape).climb(start, max_iter=max_iter, tol=self.tol, callback=callback)
        gained = optimum.value - optimum.trace[0] if optimum.trace else 0.0
        return Candidate(self._model(shape), self.problem, self._assumed, optimum, gained)

    def _further(self, candidate: Candidate, max_iter: int, callback: Callback | None = None) -> Candidate:
        """The same climb, continued; what was spent is that of the continuation."""
        after = self._climb(candidate.model.shape, candidate.start, max_iter, callback)
        return replace(after, optimum=joined(candidate.optimum, after.optimum))

    def _to_the_top(self, found: Candidate) -> Candidate:
        """The rest of a climb of ``max_iter`` iterations; a callback hears of its beginning first."""
        done, callback = found.optimum.n_iter, self.problem.callback
        if callback is not None:
            for value in found.optimum.trace[len(found.optimum.trace) - done :]:
                if callback(Step(value, inf, found.optimum)):
                    return found.stopped()
        return self._further(found, self.max_iter - done, callback)

    def _model(self, shape: Shape) -> AdaptiveModel:
        return AdaptiveModel(self.problem.y, shape, self.prior.against(self.problem.y.size))

    def _loop(self, shape: Shape) -> Alternation[Branches]:
        return Alternation(self._model(shape), self.problem, self.prior.box, self._assumed)

    @cached_property
    def _assumed(self) -> FunctionPrior:
        return FunctionPrior.of(self.problem, self.prior.signal, self.fine)

    def _sampled(self) -> Search:
        """The same search for a sample of the readings, if they are many."""
        few = sampled(self.problem, SCREENED_ROWS)
        if few is self.problem:
            return self
        return replace(self, problem=few, tol=self.tol * few.y.size / self.problem.y.size)
