"""The guard: a program that was about to die of memory lives on, with an exception or on an airbag on disk."""
