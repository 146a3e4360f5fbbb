"""Two threads take two locks in opposite order."""

import threading
import time


class Account:
    def __init__(self, name, balance):
        self.name = name
        self.balance = balance
        self.lock = threading.Lock()


def transfer(source, target, amount):
    with source.lock:
        time.sleep(0.2)
        with target.lock:  # <-- dies here
            source.balance -= amount
            target.balance += amount


def main():
    savings, current = Account("savings", 100), Account("current", 50)
    back = threading.Thread(target=transfer, args=(current, savings, 5), name="back")
    back.start()
    transfer(savings, current, 10)
    back.join()
    print(savings.balance, current.balance)


if __name__ == "__main__":
    main()
