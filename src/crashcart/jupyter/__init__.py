"""crashcart in notebooks: kernels that are watched from their start, magics, and the extensions of server and Lab."""
