"""The command line: words in, use cases called, one line per mistake, exit codes.

Why modules import so little at their top: `rlg --help` must answer before a framework could even be
found on disk. Commands import what they call, when they are called.
"""
