"""The rules that ``benchmarks/ablations.py`` switches off are there, and come back."""

import numpy as np
import pytest

from benchmarks import ablations
from benchmarks.ablations import ABLATIONS


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablation_replaces_what_is_there(name):
    owner, attribute, replacement = ABLATIONS[name].without
    before = getattr(owner, attribute)
    assert callable(before) == callable(replacement)
    assert np.shape(before) == np.shape(replacement)


def test_row_measures_with_the_rule_and_without_it(monkeypatch):
    class Owner:
        rule = 1.0

    monkeypatch.setattr(ablations, "TRIALS", 2)
    ablation = ablations.Ablation("a rule", "a number", (Owner, "rule", 3.0), lambda seed: Owner.rule + seed)
    assert ablations.row(ablation) == ("a rule", "a number", "1.50", "3.50")
    assert Owner.rule == 1.0
