"""What recording costs: step time beside plain runs, the watcher's own use, import time, time from death to verdict."""
