"""Verdicts on the paper's claims follow the records."""

from dataclasses import replace

import pytest
from references.records import PAPER_SPEED, STORY, records_of

from sturdygp.experiments import Scores, Timing
from sturdygp.experiments.suites import COMPARED
from sturdygp.report.claims import CLAIMS, claims_table
from sturdygp.report.verdicts import kendall_w


def verdicts(records):
    """Verdicts by what is claimed; all records are of one setting."""
    return {row[1]: row[4] for row in claims_table(records).rows}


def test_kendall_w_equals_numbers_by_hand():
    assert kendall_w([[1, 2, 3, 4]] * 5) == pytest.approx(1.0)
    # The ranks sum to 4, 6 and 8, the sums scatter by 8: 12 * 8 / (3^2 (3^3 - 3)).
    assert kendall_w([[1, 2, 3], [2, 1, 3], [1, 3, 2]]) == pytest.approx(4 / 9)


@pytest.fixture(scope="module")
def story():
    return [each for name in ("fig1a", "fig1b", "fig1c", "supplement", "table1") for each in records_of(name)]


def test_claims_hold_where_records_tell_the_papers_story(story):
    found = verdicts(story)
    assert len(found) == len(CLAIMS)
    assert set(found.values()) == {"holds"}


@pytest.mark.parametrize(
    ("name", "change", "lost"),
    [
        ("fig1a", {"mixture": 0.2}, {"competitive across", "lowest RMSE"}),
        ("fig1a", {"mixture": 0.29}, {"lowest RMSE"}),
        ("fig1b", {"rcgp": 0.3}, {"clear gains"}),
        ("fig1c", {"student-t": 0.2}, {"likelihood-based"}),
        ("fig1c", {"rcgp": 0.2}, set()),
        ("fig1c", {"standard": 0.2}, {"enhanced robustness"}),
        ("supplement", {"mixture": 0.2}, {"similar trends"}),
        ("fig1a", {"robust": 0.001, "oracle-centred": 0.001}, set()),
    ],
)
def test_verdict_on_errors_follows_the_records(story, name, change, lost):
    records = [each for each in story if each.task.suite != name] + records_of(
        name, errors={**STORY, **change}
    )
    refuted = {text for text, verdict in verdicts(records).items() if verdict == "does not hold"}
    assert len(refuted) == len(lost)
    assert all(any(word in text for text in refuted) for word in lost)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"asor": 10}, {"consistently faster"}),
        ({"asor": 3.5}, {"moderate", "highest"}),
        ({"oracle": 2.5}, {"Oracle benefits"}),
        ({"rcgp": 1.5}, {"lowest runtimes", "moderate"}),
        ({"robust": 0.01, "asor-single": 0.01}, set()),
    ],
)
def test_verdict_on_times_follows_the_records(story, change, lost):
    others = [each for each in story if each.task.suite != "table1"]
    records = others + records_of("table1", speed={**PAPER_SPEED, **change})
    refuted = {text for text, verdict in verdicts(records).items() if verdict == "does not hold"}
    assert len(refuted) == len(lost)
    assert all(any(word in text for text in refuted) for word in lost)


def test_verdict_notices_growth_beyond_the_cube_and_changing_orders(story):
    def slower(each):
        steep = each.task.suite == "table1" and each.task.method == "mixture"
        return (
            replace(each, timing=Timing(each.timing.fit_seconds * each.task.n_train, 0.0)) if steep else each
        )

    def shuffled(each):
        if each.task.suite != "fig1a" or each.task.rate < 0.4:
            return each
        return replace(each, timing=Timing(1.0 / each.timing.fit_seconds, 0.0))

    assert (
        verdicts([slower(each) for each in story])["all methods retain cubic complexity"] == "does not hold"
    )
    consistent = next(claim.text for claim in CLAIMS if "consistent across" in claim.text)
    assert verdicts([shuffled(each) for each in story])[consistent] == "does not hold"


def test_claims_without_the_results_they_need_stay_open(story):
    def finding(records, text):
        return next(row[4:] for row in claims_table(records).rows if text in row[1])

    assert finding(story[:1], "clear gains") == ("undecided", "no results of fig1b")
    some = [each for each in story if each.task.suite == "fig1a"]
    without = [each for each in some if each.task.method != "rcgp"]
    assert finding(without, "lowest RMSE") == ("undecided", "no results of RCGPR")
    gap = [each for each in some if each.task.method != "rcgp" or each.task.rate < 0.75]
    assert finding(gap, "lowest RMSE") == ("undecided", "no results of RCGPR at 0.8")
    assert finding(some[:-30], "lowest RMSE") == ("undecided", "unfinished: 11 to 12 trials")
    few = records_of("fig1b", trials=3)
    assert finding(few, "clear gains") == ("undecided", "3 trials are too few for a test")
    part = [each for each in records_of("supplement", trials=2) if each.task.dataset == "synthetic"]
    assert finding(part, "similar trends") == ("undecided", "5 of 13 contaminations")


def test_claims_are_judged_for_each_setting_and_count_failures():
    failing = replace(records_of("fig1a", trials=1)[5], scores=Scores(), error="E: no")
    assert failing.task.method in COMPARED
    other = records_of("fig1a", convention="std", baselines="as-published", errors={**STORY, "asor": 2.0})
    rows = claims_table([*records_of("fig1a")[:5], failing, *records_of("fig1a")[6:], *other]).rows
    found = {row[3]: row[4] for row in rows if "lowest RMSE" in row[1]}
    assert found == {
        "std, as-published; 12 trials, 0 failed": "does not hold",
        "text, best; 12 trials, 1 failed": "holds",
    }
