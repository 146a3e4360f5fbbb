"""Deaths of real kernels under nbclient and papermill: what the exception, the notebook and the report say."""
