"""Serves spectral features of audio windows."""
