"""The log bench: what the rules say about logs of real deaths, and how fast a large log is read."""
