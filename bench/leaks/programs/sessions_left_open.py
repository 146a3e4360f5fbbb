"""A prediction service from TensorFlow 1 days: each request imports the frozen graph into a session that nobody closes."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def frozen_model():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 256], name="x")
        weights = tf.constant(np.random.RandomState(0).rand(256, 1024).astype(np.float32))
        tf.nn.softmax(tf.matmul(x, weights), name="y")
    return graph.as_graph_def()


class Service:
    def __init__(self):
        self.model = frozen_model()
        self.sessions = {}

    def predict(self, request_id, rows):
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(self.model, name="")
        session = tf.Session(graph=graph)  # <-- or here
        self.sessions[request_id] = session  # <-- grows here
        return session.run("y:0", {"x:0": rows})


def main():
    service = Service()
    rng = np.random.RandomState(1)
    for request in range(int(sys.argv[1])):
        answer = service.predict(f"request-{request}", rng.rand(16, 256))
        if request % 20 == 0:
            print(request, int(answer.argmax()), flush=True)


main()
