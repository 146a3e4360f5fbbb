"""A kernel with a stopwatch.

Covers: starting one from a folder of its own (`bench.kernels`), its first answer, single cells.
Does not cover: statistics. The client's sockets try to connect every 2 ms instead of every 100, which would hide what is measured.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from bench import kernels, processes

RECONNECT_MS = 2
MOST_S = 60.0


class TimedKernel:
    """One kernel, from its start on."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        places = KernelSpecManager(kernel_dirs=[str(folder / "jupyter" / "kernels")], ensure_native_kernel=False)
        self.manager = KernelManager(kernel_name=kernels.NAME, kernel_spec_manager=places)
        self.manager.connection_file = str(folder / f"kernel-{time.monotonic_ns()}.json")
        began_s = time.perf_counter()
        self.manager.start_kernel(env=kernels.variables(folder))
        self.client = self.manager.client()
        self.client.context.setsockopt(_reconnect_option(), RECONNECT_MS)
        self.client.start_channels(hb=False, stdin=False, control=False)
        self._await_reply(self.client.kernel_info())
        self.started_ms = (time.perf_counter() - began_s) * 1e3
        self.client.get_iopub_msg(timeout=MOST_S)

    def cell_ms(self, code: str) -> float:
        """Run a cell until the reply and the `idle` status are there."""
        began_s = time.perf_counter()
        request = self.client.execute(code)
        self._await_reply(request)
        while not self._is_idle(self.client.get_iopub_msg(timeout=MOST_S), request):
            continue
        return (time.perf_counter() - began_s) * 1e3

    def lead_resident_bytes(self) -> int:
        """Of the process that was started: the watcher where there is one."""
        lead: Any = self.manager.provisioner  # local, so that it has a pid
        return processes.resident_bytes(lead.pid)

    def close(self) -> None:
        """Shut it down."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def _await_reply(self, request: str) -> None:
        while self.client.get_shell_msg(timeout=MOST_S)["parent_header"].get("msg_id") != request:
            continue

    @staticmethod
    def _is_idle(message: dict[str, Any], request: str) -> bool:
        if message["msg_type"] != "status" or message["parent_header"].get("msg_id") != request:
            return False
        return bool(message["content"]["execution_state"] == "idle")


def _reconnect_option() -> int:
    import zmq

    return int(zmq.RECONNECT_IVL)
