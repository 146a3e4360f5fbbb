"""Waits, and counts how often it waited."""

import time

waited = 0
while waited < 100:
    time.sleep(0.01)
    waited += 1
