"""Tables of readings: reading files, turning columns into inputs, finding faults. Needs pandas."""
