"""The black box: the recording on disk, written while the program lives and read after its death."""
