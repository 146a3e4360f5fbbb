"""What a test program does to be asked for its largest objects at a moment of its own choice, as the watcher would ask it."""

from __future__ import annotations

from crashcart.record.inside._crashcart_hook import HOLDERS_SIGNAL

ASK = f"os.kill(os.getpid(), {HOLDERS_SIGNAL})"
"""Wants `import os` before it."""
