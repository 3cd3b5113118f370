"""Layers: one transformation of tensors each, with the API `call(inputs)`."""
