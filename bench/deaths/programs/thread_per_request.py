"""A load test with one thread per simulated client."""

import threading
import time

CLIENTS = 500


class Client(threading.Thread):
    def __init__(self, number, stop):
        super().__init__(name=f"client-{number}", daemon=True)
        self.stop = stop

    def run(self):
        while not self.stop.wait(0.5):
            pass


def start_clients(count):
    stop = threading.Event()
    clients = [Client(number, stop) for number in range(count)]
    for client in clients:
        client.start()  # <-- dies here
    return clients, stop


if __name__ == "__main__":
    running, stop = start_clients(CLIENTS)
    time.sleep(1)
    stop.set()
    print(len(running), "clients done")
