"""The command line: one small module per command, each with `configure(parser)` and `run(arguments) -> int`."""
