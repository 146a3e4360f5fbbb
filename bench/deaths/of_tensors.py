"""The deaths of tensors, graphs, names and saved models: Python exceptions with a framework's meaning."""

from __future__ import annotations

from bench.deaths.death import Death
from crashcart.finding import Cause

DEATHS: tuple[Death, ...] = (
    Death("labels_wrong_width", Cause.SHAPE_MISMATCH, 1),
    Death("matmul_in_function", Cause.SHAPE_MISMATCH, 1),
    Death("image_channels", Cause.SHAPE_MISMATCH, 1),
    Death("fusion_layer", Cause.SHAPE_MISMATCH, 1, program="fusion/train.py", file="fusion/layers.py"),
    Death(
        "forecast_console_script",
        Cause.SHAPE_MISMATCH,
        1,
        program="forecast/forecast",
        file="forecast/pricing/model.py",
    ),
    Death("generator_signature", Cause.SHAPE_MISMATCH, 1),
    Death("batch_ragged_images", Cause.SHAPE_MISMATCH, 1),
    Death("int_plus_float", Cause.DTYPE_MISMATCH, 1),
    Death("custom_loss_dtype", Cause.DTYPE_MISMATCH, 1),
    Death("mixed_table", Cause.DTYPE_MISMATCH, 1),
    Death("map_dtype", Cause.DTYPE_MISMATCH, 1),
    Death("label_out_of_range", Cause.VALUE_RANGE, 1),
    Death("embedding_index", Cause.VALUE_RANGE, 1),
    Death("nan_in_training", Cause.VALUE_RANGE, 1),
    Death("gather_neighbours", Cause.VALUE_RANGE, 1),
    Death("second_gpu", Cause.DEVICE_PLACEMENT, 1),
    Death("memory_growth_first_gpu", Cause.DEVICE_PLACEMENT, 1, also_ok=(Cause.PYTHON_ERROR,)),
    Death("channels_first", Cause.DEVICE_PLACEMENT, 1, env={"TF_ENABLE_ONEDNN_OPTS": "0"}),  # oneDNN's kernels can
    Death("eager_in_session", Cause.GRAPH_SESSION_MISUSE, 1),
    Death("tensor_out_of_scope", Cause.GRAPH_SESSION_MISUSE, 1),
    Death("numpy_in_map", Cause.GRAPH_SESSION_MISUSE, 1),
    Death("placeholder_in_tf2", Cause.GRAPH_SESSION_MISUSE, 1),
    Death("threads_after_start", Cause.GRAPH_SESSION_MISUSE, 1),
    Death("tf_op_on_keras_input", Cause.GRAPH_SESSION_MISUSE, 1),
    Death("old_session_call", Cause.API_REMOVED, 1),
    Death("optimizer_lr", Cause.API_REMOVED, 1),
    Death("numpy_float", Cause.API_REMOVED, 1),
    Death("predict_classes", Cause.API_REMOVED, 1),
    Death("contrib_layers", Cause.API_REMOVED, 1),
    Death("frame_append", Cause.API_REMOVED, 1),
    Death("scikit_wrapper", Cause.API_REMOVED, 1, also_ok=(Cause.LIBRARY_CONFLICT,)),
    Death("weights_other_architecture", Cause.SAVED_MODEL_MISMATCH, 1),
    Death("load_saved_model_dir", Cause.SAVED_MODEL_MISMATCH, 1),
    Death("unknown_custom_layer", Cause.SAVED_MODEL_MISMATCH, 1, program="scorer/serve.py"),
)
