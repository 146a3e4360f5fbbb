"""What the guard loads into a guarded program: standard library only."""
