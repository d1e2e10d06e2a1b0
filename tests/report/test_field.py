"""The benchmark of the field beside its published errors."""

from dataclasses import replace

from references.records import record

from sturdygp.experiments import Fault, Scores
from sturdygp.report.field import PUBLISHED_MAE, field_tables, mae_table


def test_mae_table_stands_beside_published_errors():
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


def test_field_tables_show_clean_data():
    blank = {"suite": "field", "dataset": "neal", "n_train": None}
    scores = Scores(rmse=0.2, nlpd=-0.5, contamination_rate=0.04)
    fine = replace(record("robust", **blank, fault=Fault()), scores=scores)
    spoiled = replace(record("robust", **blank, fault=Fault("symmetric", (3, 9))), scores=Scores(nlpd=9.0))
    _, densities, clean = field_tables([fine, spoiled], "t")
    assert densities.rows[0][:4] == ("Neal", "Robust GPR", "-0.500", "9.00")
    assert clean.rows == (("Neal", "Robust GPR", "0.200", "-0.500", "0.0400", "0 of 1", "0 of 1"),)
