"""Ranks, bends and words of a variance function."""

import numpy as np
import pytest

from sturdygp.likelihoods.heteroscedastic import Ranks, VarianceFunction, bends


def test_ranks_do_not_depend_on_units():
    values = np.random.default_rng(0).normal(size=500)
    ranks, cubed = Ranks.of(values), Ranks.of(values**3)
    np.testing.assert_allclose(ranks(values), cubed(values**3), atol=2.0 / 65)
    assert ranks(values).mean() == pytest.approx(0.0, abs=1e-3)
    assert (ranks(np.array([-1e9, 1e9])) == [ranks.ranks[0], ranks.ranks[-1]]).all()
    assert Ranks.of(np.zeros(7))(np.ones(2)).tolist() == [0.0, 0.0]


def test_ranks_with_ties_are_those_of_all_values():
    rng = np.random.default_rng(0)
    values = rng.permutation(np.append(rng.normal(size=500), np.full(300, 0.4)))
    places = np.array([np.mean(values < each) + np.mean(values <= each) - 1.0 for each in values])
    np.testing.assert_allclose(Ranks.of(values)(values), places, atol=0.04)
    np.testing.assert_allclose(Ranks.of(-values)(-values), -Ranks.of(values)(values), atol=1e-12)


def test_bends_have_zero_mean_and_are_orthogonal():
    rank = Ranks.of(np.arange(64.0))(np.arange(64.0))
    slope, curve = bends(rank)
    np.testing.assert_allclose([slope.mean(), curve.mean(), slope @ curve], 0.0, atol=1e-3)


@pytest.mark.parametrize(
    ("bend", "along", "words"),
    [
        ((1.0, 0.0), None, "most where the function is high"),
        ((-1.0, 0.0), None, "most where the function is low"),
        ((0.1, -1.0), 0, "most where depth is in the middle"),
    ],
)
def test_variance_function_words_say_where_noise_is_largest(bend, along, words):
    profile = VarianceFunction(along, Ranks.of(np.arange(5.0)), np.array(bend))
    assert profile.words(["depth"]) == words
