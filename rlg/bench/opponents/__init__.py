"""Other libraries' programs, run by the Python of the peers' environment, without rlg.

`serve.py NAME SETTINGS` imports the module NAME of this folder, calls its `make(**SETTINGS)`, and
answers each line `block` on stdin by the cost of one call of the `run` that it returned.
"""
