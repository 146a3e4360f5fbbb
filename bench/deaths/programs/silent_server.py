"""Fetch features from a server that accepts the connection and never answers."""

import socket


def start_server():
    server = socket.create_server(("127.0.0.1", 0))
    return server, server.getsockname()


class FeatureClient:
    def __init__(self, address):
        self.connection = socket.create_connection(address)

    def fetch(self, user):
        self.connection.sendall(f"GET {user}\n".encode())
        return self.connection.recv(4_096)  # <-- dies here


def main():
    _server, address = start_server()
    print(FeatureClient(address).fetch(user=17))


if __name__ == "__main__":
    main()
