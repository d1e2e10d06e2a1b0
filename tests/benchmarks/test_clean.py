"""The runs of ``benchmarks/clean.py``: tables, failures, and going on where one was stopped."""

from benchmarks import clean
from benchmarks.clean_data import VARIANTS

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


def test_run_counts_failed_fits_and_does_not_repeat_them(tmp_path, monkeypatch):
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


def test_tasks_of_large_data_sets_are_fewer():
    wanted = clean.tasks(TINY, [100, 300], 5, ["standard"])
    counted = [n for variant, n, _, _ in wanted if variant is TINY[0]]
    assert (counted.count(100), counted.count(300)) == (5, 2)
