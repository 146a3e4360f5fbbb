"""Write a deeply nested comment thread as JSON."""

import json
import sys

sys.setrecursionlimit(1_000_000)


def thread_of_replies(depth):
    comment = {"text": "first"}
    for level in range(depth):
        comment = {"text": f"reply {level}", "replies": [comment]}
    return comment


def export(comment):
    return json.dumps(comment)  # <-- dies here


if __name__ == "__main__":
    print(len(export(thread_of_replies(300_000))), "characters")
