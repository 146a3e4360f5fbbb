"""Run a fused LSTM cell over padded sequences, with the length of the unpadded batch."""

import tensorflow as tf

UNITS, FEATURES = 16, 8


def initial_state(batch):
    return tf.zeros([batch, UNITS]), tf.zeros([batch, UNITS])


def fused_lstm(sequence, longest):
    batch = int(sequence.shape[1])
    state, output = initial_state(batch)
    peephole = tf.zeros([UNITS])
    return tf.raw_ops.BlockLSTM(  # <-- dies here
        seq_len_max=tf.constant(longest, tf.int64),
        x=sequence,
        cs_prev=state,
        h_prev=output,
        w=tf.random.normal([FEATURES + UNITS, 4 * UNITS]),
        wci=peephole,
        wcf=peephole,
        wco=peephole,
        b=tf.zeros([4 * UNITS]),
    ).h


def main():
    padded = tf.random.normal([20, 4, FEATURES])
    for longest in (10, 20, 32):
        print(longest, fused_lstm(padded, longest).shape, flush=True)


if __name__ == "__main__":
    main()
