"""Reports: tables against numbers by hand, tests against brute force, claims that follow the records."""

import itertools
import re
from dataclasses import fields, replace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from sturdygp.cli.main import main
from sturdygp.experiments import (
    METHODS,
    Fault,
    Record,
    ResultStore,
    Scores,
    Task,
    Timing,
    same_results,
    suite,
)
from sturdygp.experiments.store import packed, unpacked
from sturdygp.experiments.suites import COMPARED, FIGURE_METHODS, RATES, SIZES
from sturdygp.experiments.task import canonical
from sturdygp.report.accuracy import (
    compare,
    compare_levels,
    error_table,
    holm,
    paired_tables,
    rank_table,
    ranks_at,
)
from sturdygp.report.claims import CLAIMS, claims_table
from sturdygp.report.field import PUBLISHED_MAE, field_tables, mae_table
from sturdygp.report.figures import COLOURS, MARKERS, box_figure, legible, separated, time_figure
from sturdygp.report.grid import METHOD_ORDER, Cell, Setting, grid_of, in_order, panels, rate, rmse
from sturdygp.report.runtime import PAPER_SECONDS, power_law, ratio_table, runtimes, seconds_table
from sturdygp.report.suites import environment_notes, settings_table
from sturdygp.report.table import Strong, Table
from sturdygp.report.verdicts import kendall_w

PROBLEM = Task(
    suite="fig1a", dataset="synthetic", method="", n_train=100, trial=0, fault=Fault("uniform", (0, 10))
)
HEADER = {
    "cpu": "Some CPU",
    "system": "Linux x86_64",
    "python": "3.11.7",
    "packages": {"numpy": "2.0", "scipy": "1.15"},
    "blas": ["openblas 0.3"],
    "blas_threads": 1,
    "settings": {"n_jobs": 1, "dask": False},
}
# Lower is better; the paper's story as it tells it.
STORY = {
    "oracle": 0.2,
    "oracle-centred": 0.1,
    "robust": 0.15,
    "robust-many": 0.17,
    "asor": 0.3,
    "mixture": 0.4,
    "student-t": 0.5,
    "rcgp": 0.6,
    "standard": 0.9,
}
PAPER_SPEED = {
    "oracle": 1,
    "standard": 2,
    "rcgp": 3,
    "student-t": 4,
    "asor": 8,
    "mixture": 9,
    "asor-single": 1,
    "asor-gem": 99,
    "robust": 5,
    "robust-many": 5,
    "oracle-centred": 1,
}


def record(method, trial=0, *, error=None, seconds=1.0, failed=False, **task):
    return Record(
        task=replace(PROBLEM, method=method, trial=trial, **task),
        timing=Timing(seconds, seconds),
        scores=Scores() if failed else Scores(rmse=error, mae=error),
        status=() if failed else ("CONVERGED", "CONVERGED"),
        error="LinAlgError: no" if failed else None,
    )


def errors(by_method):
    """Records with these errors at rate 0, one for each trial."""
    return [
        record(method, trial, error=value, failed=value is None)
        for method, values in by_method.items()
        for trial, value in enumerate(values)
    ]


def grid(by_method):
    return grid_of(errors(by_method), level=rate, measure=rmse)


def records_of(name, *, trials=12, errors=STORY, speed=PAPER_SPEED, **options):
    """Records of a whole suite, with errors and times that differ between methods as given, and by chance."""
    rng = np.random.default_rng(0)
    records = []
    for task in suite(name).tasks(trials=trials, **options):
        noise = np.exp(0.01 * rng.standard_normal())
        seconds = 1e-6 * speed[task.method] * (task.n_train or 100) ** 2.5
        scores = Scores(rmse=errors.get(task.method, 1.0) * noise)
        records.append(
            Record(task=task, timing=Timing(seconds, seconds), scores=scores, status=("CONVERGED",))
        )
    return records


def verdicts(records):
    """Verdicts by what is claimed; all records are of one setting."""
    return {row[1]: row[4] for row in claims_table(records).rows}


@pytest.fixture
def command():
    return lambda *arguments: CliRunner().invoke(main, [str(each) for each in arguments])


# --- tables ---------------------------------------------------------------------------------------


def test_markdown_and_latex_show_marks_as_they_are():
    table = Table(
        "50 % & more_", ("a_b", "n"), ((r"x|y*z <b> \{~^#$}", "1 ± 2"), ("n_starts", Strong("2"))), ("100 %",)
    )
    assert r"| x\|y\*z \<b> \\{~^#$} | 1 ± 2 |" in table.markdown()
    assert "| n_starts | **2** |" in table.markdown()
    assert r"**50 % & more\_**" in table.markdown()
    text = table.latex()
    assert r"x\textbar{}y*z \textless{}b\textgreater{} \textbackslash{}\{" in text
    assert r"\{\textasciitilde{}\textasciicircum{}\#\$\} & 1 $\pm$ 2 \\" in text
    assert r"n\_starts & \textbf{2} \\" in text
    assert r"\caption{50 \% \& more\_}" in text
    assert r"\begin{tabular}{lr}" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")
    assert r"{\footnotesize 100 \%}" in text


def test_long_columns_wrap_in_latex_and_uneven_rows_are_refused():
    long = "word " * 20
    assert (
        r"\begin{tabular}{lp{0.40\linewidth}p{0.40\linewidth}}"
        in Table("t", ("a", "b", "c"), (("x", long, long),)).latex()
    )
    with pytest.raises(ValueError, match="has 1 cells, not 2"):
        Table("t", ("a", "b"), (("x",),))


def test_every_method_has_a_colour_and_a_marker():
    assert set(COLOURS) == set(MARKERS) == set(METHODS)
    assert in_order(METHODS) == METHOD_ORDER


def test_errors_and_ranks_by_hand():
    cells = grid(
        {
            "standard": [1.0, 2.0, 6.0],
            "asor": [0.5, 0.7, None],
            "robust": [0.1, 0.2, 0.3],
            "oracle": [0.01, 0.01, 0.01],
        }
    )
    rows = {row[0]: row for row in error_table(cells, "t").rows}
    assert rows["Standard GPR"] == ("Standard GPR", "2.00 (3.00)", "0 of 3", "0 of 3")
    assert rows["ASOR-GPR"] == ("ASOR-GPR", "0.600 (0.600), 1 failed", "1 of 3", "0 of 3")
    assert isinstance(rows["Robust GPR"][1], Strong)
    assert not isinstance(rows["Oracle GPR"][1], Strong)
    assert ranks_at(cells, 0.0) == {"robust": 1, "asor": 2, "standard": 3}
    ranks = {row[0]: row[1:3] for row in rank_table(cells, "t").rows}
    assert ranks == {"Robust GPR": ("1", "1.0"), "ASOR-GPR": ("2", "2.0"), "Standard GPR": ("3", "3.0")}


def test_fits_that_did_not_converge_are_counted():
    early = replace(record("asor", error=0.1), status=("CONVERGED", "MAX_ITER"))
    cells = grid_of([early, record("asor", 1, error=0.1)], level=rate, measure=rmse)
    assert error_table(cells, "t").rows[0][-2:] == ("0 of 2", "1 of 2")


def test_a_method_whose_fits_all_failed_is_shown_and_not_ranked():
    cells = grid({"standard": [1.0, 1.0], "asor": [None, None]})
    assert error_table(cells, "t").rows[1][1:] == ("- (-), 2 failed", "2 of 2", "0 of 2")
    assert rank_table(cells, "t").rows[1][1:3] == ("-", "-")


def test_settings_name_each_estimator_once():
    one = replace(record("asor", error=0.1), settings="A(n=1)")
    other = replace(record("asor", 1, error=0.1), settings="A()")
    assert settings_table([one, one, other], "t").rows == (("ASOR-GPR", "A(); A(n=1)"),)


def test_field_stands_beside_published_errors():
    blank = {"suite": "field", "dataset": "gp-sample", "n_train": None}
    rows = mae_table(
        [
            record("asor", 0, error=0.1, **blank, fault=Fault()),
            record("asor", 1, error=0.3, **blank, fault=Fault()),
            record("asor", 0, failed=True, **blank, fault=Fault("focused", (3, 0.1))),
        ],
        "t",
    ).rows
    assert rows[0] == ("Synthetic", "ASOR-GPR", "0.200 (0.1)", "-", "-", "-", "1 of 3", "0 of 3")
    assert rows[-1][1:6] == ("Relevance pursuit, published", "0.089", "0.09", "0.271", "0.2")
    assert len(rows) == 1 + len(PUBLISHED_MAE["gp-sample"])


def test_field_shows_what_becomes_of_data_without_faults():
    blank = {"suite": "field", "dataset": "neal", "n_train": None}
    scores = Scores(rmse=0.2, nlpd=-0.5, contamination_rate=0.04)
    fine = replace(record("robust", **blank, fault=Fault()), scores=scores)
    spoiled = replace(record("robust", **blank, fault=Fault("symmetric", (3, 9))), scores=Scores(nlpd=9.0))
    _, densities, clean = field_tables([fine, spoiled], "t")
    assert densities.rows[0][:4] == ("Neal", "Robust GPR", "-0.500", "9.00")
    assert clean.rows == (("Neal", "Robust GPR", "0.200", "-0.500", "0.0400", "0 of 1", "0 of 1"),)


def test_notes_say_what_results_were_made_with_each_once():
    (note,) = environment_notes([HEADER, HEADER])
    assert note.startswith("Made on Some CPU (Linux x86_64) with Python 3.11.7, numpy 2.0, scipy 1.15; ")
    assert len(environment_notes([HEADER, {**HEADER, "cpu": "Other"}])) == 2


# --- paired tests ---------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_holm_rejects_what_the_stepwise_rule_rejects(p_values):
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        rejected = set()
        for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if (len(p_values) - step) * p_values[index] > level:
                break
            rejected.add(index)
        assert {i for i, p in enumerate(corrected) if p <= level} == rejected


def test_p_values_are_those_of_all_signs():
    first = [0.1, 0.2, 0.35, 0.3, 0.9, 0.4]
    second = [0.4, 0.25, 0.31, 0.5, 1.3, 0.9]
    pair = compare(Cell(dict(enumerate(first))), Cell(dict(enumerate(second))))
    # If nothing differed, each rank would count for either side; here rank 1 alone counts for the second.
    ranks = range(1, 7)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=6)]
    assert pair.p == pytest.approx(2 * np.mean([total <= 1 for total in sums]))
    assert pair.p == wilcoxon(np.subtract(first, second)).pvalue
    assert (pair.pairs, pair.won, pair.lower) == (6, pytest.approx(5 / 6), True)
    assert pair.ratio == pytest.approx(np.median(first) / np.median(second))
    back = compare(Cell(dict(enumerate(second))), Cell(dict(enumerate(first))))
    assert (back.p, back.lower) == (pair.p, False)


def test_trials_are_paired_by_number_and_equal_ones_say_nothing():
    pair = compare(Cell({0: 1.0, 2: 3.0, 5: 1.0}), Cell({2: 6.0, 5: 4.0, 7: 1.0}))
    assert (pair.pairs, pair.won) == (2, 1.0)
    same = compare(Cell({0: 1.0, 1: 2.0}), Cell({0: 1.0, 1: 2.0}))
    assert (same.p, same.won, same.ratio) == (1.0, 0.0, 1.0)
    assert compare(Cell({0: 1.0}), Cell({1: 1.0})).pairs == 0


def test_correction_is_across_levels_and_shows_in_the_table():
    records = records_of("fig1a", methods=["asor", "standard"])
    cells = panels(records)[0].errors
    raw = compare(cells["asor", 0.3], cells["standard", 0.3]).p
    assert compare_levels(cells, "asor", "standard")[0.3].p == pytest.approx(min(1.0, 9 * raw))
    effects, p_values = paired_tables(cells, "asor", "t")
    assert re.fullmatch(r"0\.33\d \(100 %\) \+", effects.rows[0][1])
    assert p_values.rows[0][1] == "0.004"
    assert "no fit failed" in effects.notes[0]


def test_failures_are_named_below_paired_tests():
    tables = paired_tables(grid({"asor": [0.1, None, 0.2], "standard": [0.4, 0.5, 0.3]}), "asor", "t")
    assert all("1 of ASOR-GPR" in table.notes[0] for table in tables)


# --- times ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.floats(-1.0, 4.0), st.floats(1e-6, 10.0))
def test_exponents_of_exact_power_laws_are_found(exponent, factor):
    law = power_law({n: factor * n**exponent for n in SIZES})
    assert law.exponent == pytest.approx(exponent, abs=1e-8)
    assert law.factor == pytest.approx(factor, rel=1e-6)
    assert law.error == pytest.approx(0.0, abs=1e-6)


def test_the_error_of_an_exponent_is_that_of_a_regression():
    times = {100.0: 1.0, 200.0: 9.0, 400.0: 60.0, 800.0: 600.0}
    design = np.column_stack([np.ones(4), np.log(list(times))])
    y = np.log(list(times.values()))
    solution, (residual,), *_ = np.linalg.lstsq(design, y)
    error = np.sqrt(residual / 2 * np.linalg.inv(design.T @ design)[1, 1])
    law = power_law(times)
    assert (law.exponent, law.error) == (pytest.approx(solution[1]), pytest.approx(error))
    assert power_law({100.0: 1.0}) is None
    assert str(power_law({100.0: 1.0, 200.0: 8.0})) == "3.00"


def test_times_stand_beside_the_paper_s():
    times = runtimes(records_of("table1", trials=2))
    rows = {row[0]: row for row in seconds_table(times, "t").rows}
    ours = 8e-6 * 1000**2.5
    assert rows["ASOR-GPR"][5] == f"{ours:.0f} (335.96)"
    assert rows["ASOR-GPR"][6].startswith("2.50 ± 0.00 (1.7")
    assert rows["Robust GPR"][1] == f"{5e-6 * 200**2.5:.2f}"
    assert rows["ASOR-GPR, Algorithm 1"][2:7] == ("-",) * 5
    assert rows["ASOR-GPR, Algorithm 1"][7:] == ("0 of 2", "0 of 2")
    ratios = {row[0]: row for row in ratio_table(times, "t").rows}
    assert (
        ratios["GMM-GPR"][1] == f"4.50 ({PAPER_SECONDS['mixture'][200] / PAPER_SECONDS['standard'][200]:.0f})"
    )


def test_times_of_failed_fits_do_not_count():
    cells = runtimes([record("asor", seconds=1.0, error=0.1), record("asor", 1, seconds=9.0, failed=True)])
    assert (cells["asor", 100.0].median, cells["asor", 100.0].failed) == (1.0, 1)


def test_concordance():
    assert kendall_w([[1, 2, 3, 4]] * 5) == pytest.approx(1.0)
    # The ranks sum to 4, 6 and 8, the sums scatter by 8: 12 * 8 / (3^2 (3^3 - 3)).
    assert kendall_w([[1, 2, 3], [2, 1, 3], [1, 3, 2]]) == pytest.approx(4 / 9)


# --- claims ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def story():
    return [each for name in ("fig1a", "fig1b", "fig1c", "supplement", "table1") for each in records_of(name)]


def test_the_paper_s_story_holds_where_records_tell_it(story):
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
def test_a_verdict_on_errors_follows_the_records(story, name, change, lost):
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
def test_a_verdict_on_times_follows_the_records(story, change, lost):
    others = [each for each in story if each.task.suite != "table1"]
    records = others + records_of("table1", speed={**PAPER_SPEED, **change})
    refuted = {text for text, verdict in verdicts(records).items() if verdict == "does not hold"}
    assert len(refuted) == len(lost)
    assert all(any(word in text for text in refuted) for word in lost)


def test_growth_beyond_the_cube_and_changing_orders_are_seen(story):
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


# --- figures --------------------------------------------------------------------------------------


def test_a_box_for_each_method_and_level_and_a_name_for_each_method():
    records = records_of("fig1a", trials=3)
    figure = box_figure(panels(records), 3.5)
    (axis,) = figure.axes
    boxes = [patch for patch in axis.patches if patch.get_zorder() == 2]
    assert len(boxes) == len(FIGURE_METHODS) * len(RATES)
    assert [tick.get_text() for tick in axis.get_xticklabels()] == [f"{level:g}" for level in RATES]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        METHODS[method].label for method in in_order(FIGURE_METHODS)
    ]
    assert axis.get_title() == "Synthetic, U[0,10]"
    assert axis.get_yscale() == "log"


def test_medians_are_drawn_where_they_are_and_failures_are_named():
    figure = box_figure(panels(errors({"standard": [1.0, 2.0, 6.0], "asor": [0.5, 0.7, None]})), 7.0)
    (axis,) = figure.axes
    levels = {line.get_ydata()[0] for line in axis.lines if len(set(line.get_ydata())) == 1}
    assert {2.0, 0.6} <= levels
    assert axis.get_title() == "Synthetic, U[0,10] (1 fit failed)"


def test_panels_of_the_supplement_do_not_depend_on_the_order_of_records():
    records = records_of("supplement", trials=1, methods=["asor"])
    titles = [panel.title for panel in panels(records)]
    assert titles == [panel.title for panel in panels(records[::-1])]
    assert len(titles) == 13
    assert [axis.get_title() for axis in box_figure(panels(records), 7.0).axes] == titles


def test_curves_are_named_with_their_exponents():
    figure = time_figure(runtimes(records_of("table1", trials=2)), 7.0)
    names = [text.get_text() for text in figure.axes[0].texts]
    assert len(names) == 9
    assert "RCGPR, $n^{2.5}$" in names
    assert "ASOR-GPR, Algorithm 1" in names


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_names_are_apart_and_in_order(heights):
    moved = separated(sorted(heights), 0.1)
    assert all(second - first >= 0.1 - 1e-9 for first, second in itertools.pairwise(moved))
    assert np.mean(moved) == pytest.approx(np.mean(heights))


def test_numbers_on_a_narrow_axis_do_not_touch():
    assert legible(SIZES, 5.0) == list(SIZES)
    assert legible(SIZES, 1.7) == [200, 400, 600, 1000]


# --- the short form of results --------------------------------------------------------------------


def test_short_results_are_read_like_long_ones(tmp_path):
    store, short = ResultStore(tmp_path / "long.jsonl"), ResultStore(tmp_path / "docs" / "short.jsonl")
    odd = replace(record("asor", 7, error=0.25), notes=("a | b", ""), n_factorizations=(3, 4))
    records = [odd, record("asor", 2, failed=True), record("robust", 2, error=0.5, rate=0.3)]
    with store.writing({"n_jobs": 1}) as appender:
        for each in records:
            appender.append(each)
    store.pack(short.path)
    assert same_results(store.records(), short.records())
    assert short.read().headers == store.read().headers
    assert len(short.path.read_text(encoding="utf-8").splitlines()) == 3


def test_short_results_take_little_room():
    rng = np.random.default_rng(0)
    long = [
        replace(
            each,
            scores=Scores(*rng.uniform(size=len(fields(Scores)))),
            n_factorizations=(30, 127, 41, each.task.trial),
        )
        for each in records_of("fig1a", trials=30, methods=["asor"])
    ]
    short = packed(long)
    assert len(canonical(short)) * len(FIGURE_METHODS) < 300_000
    kept = {each.task: each.scores.rmse for cell in short for each in unpacked(cell)}
    assert kept == {each.task: pytest.approx(each.scores.rmse, rel=1e-5) for each in long}


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with the results of a small run."""
    folder = tmp_path_factory.mktemp("results")
    arguments = ["--n-jobs", "1", "--method", "oracle", "--method", "asor", "--results", str(folder)]
    done = CliRunner().invoke(main, ["reproduce", "smoke", *arguments])
    assert done.exit_code == 0, done.output
    return folder


def test_figures_and_tables_of_a_run(command, results, tmp_path):
    for name, start in (("a.png", b"\x89PNG"), ("new/a.pdf", b"%PDF")):
        done = command("figure", "smoke", "--results", results, "--out", tmp_path / name, "--width", 3.5)
        assert done.exit_code == 0, done.output
        assert (tmp_path / name).read_bytes().startswith(start)
    printed = command("table", "smoke", "--results", results).output
    assert "smoke (text, best; 2 trials), Synthetic, U[0,10]: median (mean) RMSE" in printed
    assert "| ASOR-GPR |" in printed
    assert "AsorGPRegressor(" in printed
    assert "Made on" in printed
    out = tmp_path / "new" / "table.tex"
    command("table", "smoke", "--results", results, "--format", "latex", "--out", out)
    assert out.read_text(encoding="utf-8").count(r"\begin{tabular}") == printed.count("\n|---")


def test_exported_results_give_the_same_tables(command, results, tmp_path):
    done = command("export", "smoke", "--results", results, "--out", tmp_path / "smoke.jsonl")
    assert done.exit_code == 0, done.output
    long, short = (command("table", "smoke", "--results", folder).output for folder in (results, tmp_path))
    assert long == short
    assert command("reproduce", "smoke", "--method", "asor", "--results", tmp_path).output.startswith(
        "smoke: 0 tasks run, 4 done before"
    )


def test_missing_results_are_answered_with_the_command_that_makes_them(command, results, tmp_path):
    refusals = {
        ("table", "fig1a"): "run sturdygp reproduce fig1a",
        ("figure", "fig1b", "--baselines", "as-published"): "reproduce fig1b --baselines as-published",
        ("table", "table1", "--convention", "std"): "run sturdygp reproduce table1 --convention std",
        ("table", "claims"): "to judge claims by: run sturdygp reproduce fig1a",
        ("export", "field", "--out", tmp_path / "field.jsonl"): "run sturdygp reproduce field",
    }
    for arguments, message in refusals.items():
        refused = command(*arguments, "--results", tmp_path)
        assert refused.exit_code == 1
        assert message in refused.output
        assert f"--results {tmp_path}" in refused.output
    wrong = command("figure", "smoke", "--results", results, "--out", tmp_path / "a.docx")
    assert wrong.exit_code == 1
    assert "Format 'docx' is not supported" in wrong.output
    same = command("export", "smoke", "--results", results, "--out", results / "smoke.jsonl")
    assert "choose another file" in same.output


def test_claims_of_all_settings_or_of_one(command, tmp_path):
    with ResultStore(tmp_path / "fig1a.jsonl").writing({}) as appender:
        for convention in ("text", "std"):
            for each in records_of("fig1a", trials=1, convention=convention):
                appender.append(each)
    both = command("table", "claims", "--results", tmp_path).output
    one = command("table", "claims", "--results", tmp_path, "--convention", "std").output
    assert "text, best; 1 trial, 0 failed" in both
    assert "std, best; 1 trial, 0 failed" in both
    assert "text, best" not in one
    assert Setting("std") == Setting("std", "best")
