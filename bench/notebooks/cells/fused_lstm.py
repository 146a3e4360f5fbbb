# %%
import tensorflow as tf

UNITS, FEATURES = 16, 8
padded = tf.random.normal([20, 4, FEATURES])
zeros = tf.zeros([UNITS])
weights = tf.random.normal([FEATURES + UNITS, 4 * UNITS])

# %%
longest = tf.constant(32, tf.int64)
state = tf.zeros([4, UNITS])

output = tf.raw_ops.BlockLSTM(  # <-- dies here
    seq_len_max=longest, x=padded, cs_prev=state, h_prev=state, w=weights,
    wci=zeros, wcf=zeros, wco=zeros, b=tf.zeros([4 * UNITS]),
).h
