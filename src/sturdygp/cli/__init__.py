"""The command ``sturdygp``."""
