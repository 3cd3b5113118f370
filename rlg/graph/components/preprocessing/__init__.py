"""Preprocessors: what happens to observations and rewards before a network sees them.

Each has the API `call(inputs)` and takes tensors or containers of them. Those with a memory say so:
`sequence` takes `resets`, `moving_standardize` `update`; a `preprocessor_stack` hands both on.
"""
