"""Watching a program: starting it, sampling it, asking for its last words, seeing its end."""
