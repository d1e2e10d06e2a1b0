"""Files take their places when they are complete."""

from sturdygp.cli.table_work import replacing


def test_replacing_puts_a_file_in_its_place_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "out.csv"
    with replacing(path) as partial:
        partial.write_text("first")
        assert not path.exists()
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with replacing(link) as partial:
        partial.write_text("second")
    assert link.is_symlink()
    assert path.read_text() == "second"
    with replacing(tmp_path / "new") as same:
        assert same == tmp_path / "new"
