"""The data of ``benchmarks/clean.py`` are what they say, and a run goes on where it was stopped."""

import zlib

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks import clean
from benchmarks import optimisation_functions as functions
from benchmarks.clean_data import KINDS, TEST_ROWS, VARIANTS, Variant, random_walk

TITLES = [variant.title for variant in VARIANTS]
# Their truth is a mean, an interval's middle, or shared by neighbours, not the median of independent noise.
NOT_MEDIANS = ("Poisson", "rounded", "AR(1) around a rhythm")


def drawn(variant, n):
    """One long data set: function and observations at training and test inputs."""
    rng = np.random.default_rng([zlib.crc32(variant.title.encode()), 1])
    return variant.draw(rng, rng.random((n, variant.d)))


def test_variants_have_titles_of_their_own():
    assert len(set(TITLES)) == len(TITLES)
    assert {variant.d for variant in VARIANTS} >= {1, 2, 3, 5, 6, 7, 8, 10}


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("variant", VARIANTS, ids=TITLES)
def test_data_are_finite_and_of_the_shape_asked_for(variant, n):
    data = variant.data(n, trial=0)
    assert data.X.shape == (n, variant.d)
    assert data.y.shape == (n,)
    assert data.X_test.shape[1] == variant.d
    assert data.truth.shape == data.y_test.shape == (len(data.X_test),)
    for each in vars(data).values():
        assert np.isfinite(each).all()
    assert np.ptp(data.y) > 0.0


@pytest.mark.parametrize("variant", VARIANTS, ids=TITLES)
def test_seeds_reproduce_data_and_differ_between_trials_and_sizes(variant):
    first, again = variant.data(30, trial=1), variant.data(30, trial=1)
    for one, other in zip(vars(first).values(), vars(again).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first.y, variant.data(30, trial=2).y)
    assert not np.array_equal(first.X_test, variant.data(60, trial=1).X_test)


@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if v.kind not in NOT_MEDIANS], ids=lambda variant: variant.title
)
def test_half_of_the_observations_lie_on_either_side_of_the_truth(variant):
    f, y = drawn(variant, 4000)
    noisy = y != f
    if noisy.any():
        # Less than one in 10^6 for each side.
        low, high = binom.ppf([1e-6, 1.0 - 1e-6], noisy.sum(), 0.5)
        assert low <= np.sum(y[noisy] > f[noisy]) <= high
    else:
        assert "free of noise" in variant.name or variant.title == "random walk: exact"


def test_counts_have_the_truth_as_their_mean():
    for variant in (v for v in VARIANTS if v.kind == "Poisson"):
        f, y = drawn(variant, 4000)
        assert np.array_equal(y, np.round(y))
        # The variance of a count is its mean.
        assert abs(np.sum(y - f)) < 5.0 * np.sqrt(f.sum())


def test_rounded_observations_without_noise_are_within_half_a_step_of_the_truth():
    (variant,) = (v for v in VARIANTS if v.title == "rounded: no noise")
    f, y = drawn(variant, 4000)
    assert np.abs(y - f).max() <= 0.5


def test_random_walk_is_one_path_at_training_and_test_inputs():
    walk = Variant("random walk", "test", 1, lambda rng, X: random_walk(rng, X, noise=0.0))
    data = walk.data(300, trial=0)
    steps = np.diff(data.y)
    assert 0.7 < steps.std() < 1.3
    # Half way between two observations a Brownian bridge has a standard deviation of a half at most.
    between = np.interp(data.X_test[:, 0], data.X[:, 0], data.y)
    assert 0.2 < (data.truth - between).std() < 0.5


def test_noise_around_a_rhythm_is_correlated_from_one_observation_to_the_next():
    for variant in (v for v in VARIANTS if v.kind == "AR(1) around a rhythm"):
        asked = float(variant.name.rpartition(" ")[2])
        X = np.vstack([np.linspace(0.0, 1.0, 3000)[:, None], np.full((TEST_ROWS, 1), 0.5)])
        f, y = variant.draw(np.random.default_rng(0), X)
        noise = (y - f)[:3000]
        assert np.corrcoef(noise[:-1], noise[1:])[0, 1] == pytest.approx(asked, abs=0.06)
        assert noise.std() == pytest.approx(0.3, rel=0.15)


def test_test_functions_have_their_known_minima():
    at = {
        functions.branin: ([-np.pi, 12.275], 0.397887),
        functions.rosenbrock: ([1.0] * 5, 0.0),
        functions.ackley: ([0.0] * 5, 0.0),
        functions.michalewicz: ([2.20290552, 1.57079633], -1.801303),
        functions.griewank: ([0.0] * 10, 0.0),
    }
    rng = np.random.default_rng(0)
    for function, (minimum, value) in at.items():
        X = np.array([minimum])
        assert function(X)[0] == pytest.approx(value, abs=1e-6)
        assert (function(X + 0.05 * rng.standard_normal((100, X.shape[1]))) >= value - 1e-6).all()


def test_borehole_without_friction_along_it_has_the_flow_of_two_layers_in_series():
    # L = 0 leaves the two aquifers: 2 pi dH / (log(r / r_w) (1 / T_u + 1 / T_l)).
    X = np.array([[0.1, 3000.0, 80_000.0, 1050.0, 90.0, 760.0, 0.0, 10_000.0]])
    expected = 2.0 * np.pi * 290.0 / (np.log(30_000.0) * (1.0 / 80_000.0 + 1.0 / 90.0))
    assert functions.borehole(X)[0] == pytest.approx(expected)
    # A long one lets through in proportion to its section, conductivity and gradient: Darcy's law.
    X[0, 6] = 1e12
    assert functions.borehole(X)[0] == pytest.approx(np.pi * 0.1**2 * 10_000.0 * 290.0 / 1e12)


def test_piston_without_gas_is_a_mass_on_a_spring():
    # With hardly any initial volume the gas pushes nothing, and the period is 2 pi sqrt(M / k) or less.
    rng = np.random.default_rng(0)
    low, high = np.array(functions.PISTON.bounds).T
    X = low + rng.random((200, 7)) * (high - low)
    assert (functions.piston(X) < 2.0 * np.pi * np.sqrt(X[:, 0] / X[:, 3])).all()
    # Four times the mass at the same forces doubles the period: its weight is taken off the pressure.
    heavier = X.copy()
    heavier[:, 0] *= 4.0
    heavier[:, 4] -= 19.62 * 3.0 * X[:, 0] / X[:, 1]
    heavier[:, 5] = X[:, 5] * X[:, 4] / heavier[:, 4]
    np.testing.assert_allclose(functions.piston(heavier), 2.0 * functions.piston(X))


def test_circuit_with_a_large_gain_follows_its_divider():
    X = np.array([[100.0, 50.0, 1.0, 2.0, 0.7, 1e12]])
    # The voltage of the divider and of two junctions.
    assert functions.otl_circuit(X)[0] == pytest.approx(12.0 * 50.0 / 150.0 + 0.74 + 0.74 * 1.0 / 2.0)
    X[0, 5] = 1e-12
    assert functions.otl_circuit(X)[0] == pytest.approx(11.35)


TINY = [VARIANTS[0], VARIANTS[-1]]


def tiny(path, **options):
    return clean.run(path, variants=TINY, sizes=[20], trials=1, **options)


def test_run_scores_a_tiny_cell_and_makes_all_tables(tmp_path):
    results = tiny(tmp_path / "clean.json", methods=["robust", "standard"])
    assert set(results) == {(variant.title, 20, 0) for variant in TINY}
    for found in results.values():
        assert 0.0 <= found["robust"].flagged <= 1.0
        assert found["standard"].flagged is None
        for scores in found.values():
            assert scores.rmse > 0.0
            assert 0.0 <= scores.coverage <= 1.0
    text = clean.table(clean.stored(tmp_path / "clean.json"))
    assert text.count("**Clean data") == 5
    assert f"| {TINY[0].kind} | 1 |" in text
    assert "| ordinary | 2 | 0 | - | 1.00 (1.0) | 0.00 (0.00) |" in text


def test_run_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    path = tmp_path / "clean.json"
    before = tiny(path, methods=["standard"])
    fitted = []
    monkeypatch.setattr(
        clean, "outcome", lambda method, data: fitted.append(method) or clean.Scores(0.0, 1.0, 1.0, 1.0, 0.0)
    )
    after = tiny(path, methods=["robust", "standard"])
    assert fitted == ["robust", "robust"]
    assert all(after[key]["standard"] == before[key]["standard"] for key in before)
    assert clean.stored(path) == after
    tiny(path, methods=["standard"], again=True)
    assert fitted[2:] == ["standard", "standard"]


def test_failed_fits_are_counted_and_not_repeated(tmp_path, monkeypatch):
    class Failing:
        def fit(self, X, y):
            raise ValueError("no")

    failing = clean.Contender("robust", Failing().fit)
    monkeypatch.setitem(clean.METHODS, "robust", failing)
    path = tmp_path / "clean.json"
    results = tiny(path, methods=["robust", "standard"])
    assert [found["robust"] for found in results.values()] == ["ValueError('no')"] * 2
    assert "| robust | 0 | 2 | - | - | - | - | - |" in clean.table(clean.stored(path))
    assert clean.failures(results).count("robust failed on") == 2
    monkeypatch.setattr(clean, "outcome", None)
    assert tiny(path, methods=["robust"]) == results


def test_large_data_sets_have_fewer_trials():
    wanted = clean.tasks(TINY, [100, 300], 5, ["standard"])
    counted = [n for variant, n, _, _ in wanted if variant is TINY[0]]
    assert (counted.count(100), counted.count(300)) == (5, 2)


def test_every_kind_can_be_asked_for():
    assert {variant.kind for variant in VARIANTS} == set(KINDS)
