"""A decoder as large language models are built: grouped attention, gated feed-forward. `huge` has 70 billion parameters."""

import keras
from keras import layers


def decoder(depth, width, heads, hidden, words, length):
    tokens = keras.Input((length,), dtype="int32")
    x = layers.Embedding(words, width)(tokens)
    for _ in range(depth):
        normed = layers.LayerNormalization(center=False)(x)
        attend = layers.GroupQueryAttention(width // heads, heads, max(1, heads // 8), use_bias=False)
        x = x + attend(normed, normed, use_causal_mask=True)
        normed = layers.LayerNormalization(center=False)(x)
        gate = layers.Dense(hidden, activation="silu", use_bias=False)(normed)
        x = x + layers.Dense(width, use_bias=False)(gate * layers.Dense(hidden, use_bias=False)(normed))
    logits = layers.Dense(words, use_bias=False)(layers.LayerNormalization(center=False)(x))
    model = keras.Model(tokens, logits)
    model.compile(keras.optimizers.AdamW(1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def small():
    return decoder(depth=2, width=64, heads=8, hidden=160, words=500, length=32)


def huge():
    return decoder(depth=80, width=8192, heads=64, hidden=28672, words=128256, length=2048)
