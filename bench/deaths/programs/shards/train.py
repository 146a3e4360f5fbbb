"""Train a linear probe on embeddings that were stored in shards."""

import shards


def main():
    table = shards.load_all(count=12, rows=28_000, columns=512)
    labels = table[:, 0] > 0.5
    weights = table.T @ labels
    print("weights", weights.shape)


if __name__ == "__main__":
    main()
