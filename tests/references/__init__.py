"""Plain reference implementations that the tests compare the library with, and problems that they share."""
