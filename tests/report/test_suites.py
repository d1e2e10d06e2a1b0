"""Notes on how results were made."""

from dataclasses import replace

from references.records import HEADER, record

from sturdygp.report.suites import environment_notes, settings_table


def test_settings_table_names_each_estimator_once():
    one = replace(record("asor", error=0.1), settings="A(n=1)")
    other = replace(record("asor", 1, error=0.1), settings="A()")
    assert settings_table([one, one, other], "t").rows == (("ASOR-GPR", "A(); A(n=1)"),)


def test_environment_notes_name_each_environment_once():
    (note,) = environment_notes([HEADER, HEADER])
    assert note.startswith("Made on Some CPU (Linux x86_64) with Python 3.11.7, numpy 2.0, scipy 1.15; ")
    assert len(environment_notes([HEADER, {**HEADER, "cpu": "Other"}])) == 2
