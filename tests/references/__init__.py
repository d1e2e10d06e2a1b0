"""Plain reference implementations that the tests compare the library with."""
