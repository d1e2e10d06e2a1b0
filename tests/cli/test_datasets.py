"""The command for data sets."""


def test_datasets_lists_and_fetches(command, monkeypatch, tmp_path):
    monkeypatch.setenv("STURDYGP_DATA", str(tmp_path))
    monkeypatch.setenv("STURDYGP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "yacht_hydrodynamics.data").write_text("1 2\n", encoding="utf-8")
    lines = command("datasets", "list").output.splitlines()
    states = {line.split()[0]: line[13:28].strip() for line in lines}
    assert (states["yacht"], states["energy"], states["neal-200"]) == (
        "here",
        "to be fetched",
        "to be supplied",
    )
    assert "yacht_hydrodynamics.data" in command("datasets", "fetch", "yacht").output
    refused = command("datasets", "fetch", "neal-200")
    assert refused.exit_code == 1
    assert "no address is known" in refused.output
