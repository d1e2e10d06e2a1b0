"""What can be wrong with a table."""

HOW_TO_INSTALL = "pip install 'sturdygp[tables]'"


class TableError(ValueError):
    """A table cannot be read, or does not have what was asked for; the message says what to change."""
