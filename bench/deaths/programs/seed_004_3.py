import tensorflow as tf

class MyCustomLayer(tf.keras.layers.Layer):
    def __init__(self, units):
        super(MyCustomLayer, self).__init__()
        self.units = units
        self.w = self.add_weight(shape=(units, units), initializer='random_normal')
        #Missing crucial memory cleanup

    def call(self, x):
        return tf.matmul(x, self.w)

# ... (model incorporating MyCustomLayer) ...
