"""``python -m sturdygp`` is the command ``sturdygp``."""

from sturdygp.cli.main import main

if __name__ == "__main__":
    main(prog_name="sturdygp")
