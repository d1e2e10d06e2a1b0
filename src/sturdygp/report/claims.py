"""Claims of the paper about its results, and verdicts on them by the records.

A number decides each claim. The table says which: it defines words such as "competitive". Only the methods
that the paper compares take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sturdygp.experiments.record import Record
from sturdygp.report.accuracy import SIGNIFICANT
from sturdygp.report.grid import Setting, setting_of
from sturdygp.report.table import Strong, Table, counted
from sturdygp.report.verdicts import (
    COMPETITIVE,
    COMPETITORS,
    CONCORDANT,
    LIKELIHOOD_COMPETITORS,
    ORACLE,
    PAPER_METHODS,
    SEVERAL,
    STANDARD,
    SUBJECT,
    Finding,
    NotEnoughError,
    better_than_standard,
    both,
    clear_gains,
    competitive_with,
    cubic,
    faster,
    lowest_at_most_levels,
    same_order_at_all_rates,
    several_wins,
    similar_trends,
)

FIGURES = ("fig1a", "fig1b", "fig1c")
QUICK, MODERATE, SLOW = (ORACLE, STANDARD), ("rcgp", "student-t"), (SUBJECT, "mixture")


@dataclass(frozen=True)
class Claim:
    """Statement of the paper: its source, its suites, and the rule that decides it, in words and in code."""

    source: str
    text: str
    suites: tuple[str, ...]
    decided_by: str
    judge: Callable[[Sequence[Record]], Finding]

    def about(self, records: Iterable[Record]) -> list[Record]:
        """Select the records that the claim is about."""
        return [record for record in records if record.task.suite in self.suites]

    def finding(self, records: Sequence[Record]) -> Finding:
        """Judge the claim by records of one setting."""
        present = {record.task.suite for record in records}
        absent = [suite for suite in self.suites if suite not in present]
        if absent:
            return Finding("undecided", f"no results of {', '.join(absent)}")
        try:
            return self.judge(records)
        except NotEnoughError as error:
            return Finding("undecided", str(error))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "Figure 1a",
        "ASOR-GPR remains competitive across the contamination range",
        ("fig1a",),
        f"median RMSE at most {COMPETITIVE:g} times the best of the other non-oracle methods at every level",
        competitive_with(COMPETITORS),
    ),
    Claim(
        "Figure 1a",
        "lowest RMSE among the compared non-oracle methods at most contamination levels",
        ("fig1a",),
        "lowest median RMSE at more than half of the levels",
        lowest_at_most_levels,
    ),
    Claim(
        "Figure 1b",
        "clear gains under asymmetric contamination",
        ("fig1b",),
        f"lower than every other non-oracle method (Wilcoxon, Holm-corrected p below {SIGNIFICANT:g}) at "
        "more than half of the contaminated levels",
        clear_gains,
    ),
    Claim(
        "Figure 1c",
        "competitive with robust likelihood-based methods under symmetric Gaussian outliers",
        ("fig1c",),
        f"median RMSE at most {COMPETITIVE:g} times the better of Student-t GPR and GMM-GPR at every level",
        competitive_with(LIKELIHOOD_COMPETITORS),
    ),
    Claim(
        "Supplement",
        "similar trends over a wider range of contamination intensity",
        ("supplement",),
        "as figure 1a for more than half of the asymmetric contaminations, and as figure 1c for more than "
        "half of the symmetric ones",
        similar_trends,
    ),
    Claim(
        "Abstract",
        "in several cases outperforms robust GPR baselines in prediction accuracy",
        FIGURES,
        f"lower than RCGPR, Student-t GPR and GMM-GPR (Holm-corrected p below {SIGNIFICANT:g}) at {SEVERAL} "
        "or more levels of the three figures",
        several_wins,
    ),
    Claim(
        "Conclusion",
        "enhanced robustness across a range of contamination settings",
        FIGURES,
        "median RMSE below that of standard GPR at more than half of the contaminated levels of each figure",
        better_than_standard,
    ),
    Claim(
        "Table I",
        "Oracle GPR and standard GPR have the lowest runtimes",
        ("table1",),
        "the slower of the two is faster than every other method at every n",
        faster(QUICK, (*MODERATE, *SLOW)),
    ),
    Claim(
        "Table I",
        "the Oracle benefits from known contamination information",
        ("table1",),
        "faster than the standard GPR at every n",
        faster((ORACLE,), (STANDARD,)),
    ),
    Claim(
        "Table I",
        "RCGPR and Student-t GPR incur moderate computational cost",
        ("table1",),
        "both between Oracle and standard GPR on one side, ASOR-GPR and GMM-GPR on the other, at every n",
        both(faster(QUICK, MODERATE), faster(MODERATE, SLOW)),
    ),
    Claim(
        "Table I",
        "ASOR-GPR and GMM-GPR exhibit the highest runtimes",
        ("table1",),
        "every other method is faster than the quicker of the two at every n",
        faster((*QUICK, *MODERATE), SLOW),
    ),
    Claim(
        "Table I",
        "ASOR-GPR consistently faster than GMM-GPR over the reported training sizes",
        ("table1",),
        "lower median time at every n",
        faster((SUBJECT,), ("mixture",)),
    ),
    Claim(
        "Table I",
        "relative computational behavior broadly consistent across contamination probabilities",
        ("fig1a",),
        f"Kendall's concordance of median times at the levels of figure 1a, n = 100: {CONCORDANT:g} or more",
        same_order_at_all_rates,
    ),
    Claim(
        "Table I",
        "all methods retain cubic complexity",
        ("table1",),
        "no fitted exponent of n above 3 by more than two standard errors",
        cubic,
    ),
)


def claims_table(records: Sequence[Record]) -> Table:
    """Judge every claim for each setting that has results."""
    rows: list[tuple[str, ...]] = []
    for claim in CLAIMS:
        about = claim.about(records)
        found = sorted({setting_of(record) for record in about})
        rows += [row(claim, each, each.of(about)) for each in found] or [row(claim, None, [])]
    return Table(
        "The paper's claims",
        ("source", "claim", "decided by", "setting", "verdict", "by how much"),
        tuple(rows),
        (
            "Setting: what the noise constants mean, how methods are set, trials, failed fits of the paper's "
            "methods. Robust GPR and the oracle with the mean removed are not in the paper and take no part.",
        ),
    )


def row(claim: Claim, setting: Setting | None, records: Sequence[Record]) -> tuple[str, ...]:
    """Judge one claim for one setting."""
    found = claim.finding(records)
    verdict = found.verdict if found.verdict == "undecided" else Strong(found.verdict)
    return (claim.source, claim.text, claim.decided_by, extent_of(setting, records), verdict, found.extent)


def extent_of(setting: Setting | None, records: Sequence[Record]) -> str:
    """Describe the setting, with the number of trials and of failed fits."""
    if setting is None:
        return "-"
    mine = [record for record in records if record.task.method in PAPER_METHODS]
    trials = len({record.task.trial for record in mine})
    return f"{setting}; {counted(trials, 'trial')}, {sum(record.failed for record in mine)} failed"
