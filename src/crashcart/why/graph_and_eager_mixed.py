"""W305 graph-and-eager-mixed."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Kind
from crashcart.why._statement import conclude, first_sentence
from crashcart.why._text import stated

_COMPAT = (
    "TF 1 code on TF 2: at the top, `import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()` (or"
    " tf.compat.v1.disable_eager_execution()); better, drop the Session and call the functions directly"
)
_SAME_GRAPH = "build and run in the same graph: `with graph.as_default():` around both, and one Session(graph=graph)"
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"devices? cannot be modified|after (?:being |it has been )?initiali|must be set (?:before|at)"
        r"|after initialization",
        "the runtime was configured after it had started",
        "set it before the first tensor or model is made, right after `import tensorflow`; in a notebook restart"
        " the kernel first",
        "configure once: a second call in the same process comes too late",
    ),
    advice(
        r"session graph is empty",
        "the session's graph is empty: the operations were made eagerly or in another graph",
        _COMPAT,
        _SAME_GRAPH,
    ),
    advice(
        r"fetch argument none|nonetype",
        "one of the fetches is None: it was never made as an operation of the graph",
        "print the list of fetches: tf.summary.merge_all() and similar return None when nothing was collected",
        _COMPAT,
    ),
    advice(
        r"fetch argument \[|fetch argument <|fetch argument .*list",
        "sess.run was given something that is no single tensor or operation of the graph",
        "pass a flat list of tensors; nested lists need a newer TensorFlow (upgrade), and eager tensors have no"
        " place there",
        _COMPAT,
    ),
    advice(
        r"not an element of this graph|same graph|for_fetch|elementfetchmapper|cannot be interpreted|feed_dict"
        r"|different graph|cannot use the default session|default session",
        "a tensor or operation is used under another graph than the one it was made in",
        _SAME_GRAPH,
        "in threads (web servers): keep the graph and session of the thread that loaded the model, and enter them with"
        " `with graph.as_default(), session.as_default():` before predict; TF 2 models need none of this",
        _COMPAT,
    ),
    advice(
        r"joining a group with size",
        "processes or devices do not agree on who takes part in a collective operation",
        "make one strategy per process, once, with the same devices and workers everywhere (TF_CONFIG alike but for the"
        " task); a second strategy meets the operations that the first has left",
        "restart all workers together; where it comes back, look at the worker that ended first",
    ),
    advice(
        r"replica|distribut|strategy",
        "code of a distribution strategy runs outside of it, or the other way round",
        "make the model, its optimizer and metrics inside `with strategy.scope():`, and run the step as"
        " strategy.run(step, args=(batch,)) (experimental_run_v2 before 2.2)",
        "do not mix keras with tf.keras there; what reduces over replicas goes outside the step: strategy.reduce(...)",
        "some of it works in newer versions only: upgrade TensorFlow, or try the step without a strategy first",
    ),
    advice(
        r"kerastensor cannot be used|could not build a typespec|intermediate keras symbolic|kerasvariable"
        r"|of type 'variable', not",
        "a TensorFlow function was called on a symbolic Keras tensor",
        "use the function of keras.ops or a Keras layer instead: tf.norm(x) → keras.ops.norm(x), tf.concat →"
        " keras.layers.Concatenate",
        "put TensorFlow functions into the call() of a layer of your own (or a keras.layers.Lambda), and use that layer",
        "code that was written for Keras 2: `pip install tf_keras` and TF_USE_LEGACY_KERAS=1 keep its version",
    ),
    advice(
        r"numpy\(\) is only available|no attribute '_?numpy'|python `?bool|iterating over|operatornotallowed"
        r"|only iterable|symbolic|tracer|inside tensorflow graph",
        "a symbolic tensor was asked for its value: the code runs inside a graph, not eagerly",
        "inside tf.function, map and layers use TensorFlow operations only (tf.cond, tf.shape, tf.print); what"
        " needs NumPy goes into tf.py_function",
        "do not switch eager mode off, and do not mix keras with tf.keras or compat.v1 with TF 2; while searching:"
        " tf.config.run_functions_eagerly(True)",
        "for Keras models wrap the operation in a layer (keras.layers.Lambda, keras.ops)",
    ),
    advice(
        r"out of scope|inaccessible|building a function|outer graph|graph tensor",
        "a tensor left the function in which it was made",
        "return the tensor from the tf.function instead of storing it in a list or attribute",
        "keep state in a tf.Variable made outside",
    ),
    advice(
        r"singleton tf\.variable|non-first call|create variables",
        "a variable is made anew in each call of a tf.function",
        "make variables, layers and optimizers once, outside the function (or in build and __init__)",
        "use a separate tf.function and optimizer for each model",
    ),
    advice(
        r"uninitialized|could not find variable|resource variable|table not initialized|failedprecondition"
        r"|not (?:yet )?been initialized",
        "a variable or table was used before it was initialised",
        "run sess.run([tf.global_variables_initializer(), tf.tables_initializer()]) in the same session, after all"
        " variables are made",
        "if two sessions or graphs are in play (keras and tf): use one, keras.backend.set_session(sess)",
    ),
    advice(
        r"inbound nodes|isn't built|been built|never been called",
        "a model or layer was asked for what it only has after it is built",
        "give it an input shape (an Input(shape=...) as the first layer), or call it once on a batch, or model.build((None, n)),"
        " before",
        "weights are loaded, and summaries and outputs asked for, after that",
    ),
    advice(
        r"must feed a value",
        "a placeholder was not fed",
        "give each placeholder a value in feed_dict; summaries and metrics that depend on it need it too",
        "make sure that only one graph exists: two copies of a placeholder have the same name",
    ),
    advice(
        r"optimizer cannot recognize",
        "an optimizer met a variable that it was not made for",
        "use an optimizer of its own for each model or part, or tell it of all variables before the loop:"
        " optimizer.build(model.trainable_variables)",
        "compile again after layers are frozen or unfrozen; tf.keras.optimizers.legacy.Adam does not ask",
    ),
    advice(
        r"already exists|reuse",
        "a variable of that name exists already in the graph",
        "build the model once; in a notebook tf.compat.v1.reset_default_graph() before building again",
        "share it on purpose with reuse=tf.compat.v1.AUTO_REUSE",
    ),
    advice(
        r"grad_fn|second time",
        "gradients are asked of a graph that does not have them any more, or never had",
        "do not detach or convert to NumPy between loss and parameters; run the forward pass again before a second"
        " backward",
    ),
    advice(
        r"eager",
        "graph code runs in eager mode, or eager code in a graph",
        _COMPAT,
        "replace placeholders by function arguments, tf.gradients by tf.GradientTape",
        "use one API throughout: all of tf.compat.v1, or all of TF 2; a mix of versions fails in this way",
    ),
    advice(r"", "", _SAME_GRAPH, _COMPAT, "in a notebook restart the kernel and run the cells in order once"),
)


@rule("W305", "graph-and-eager-mixed", Rank.KIND)
def graph_and_eager_mixed(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """Graph, session and eager code are mixed, or the runtime was configured after it had started.

    ## What it means

    A tensor belongs to the graph, the function or the session in which it was made. TF 1 code on TF 2, a model used
    from another thread, a tensor kept from inside a tf.function: each asks for a tensor where it does not exist.

    ## How we know

    The message states it: another graph, a symbolic tensor, an empty session graph, an uninitialised variable.

    ## What to do

    Use one style throughout; on TF 2 drop sessions and placeholders. Keep the making and the use of tensors together.
    """
    for statement in stated(Kind.GRAPH, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        headline = row.headline or f"graph and eager code are mixed: {first_sentence(statement.words)}"
        yield conclude(statement, headline, row.remedy)
