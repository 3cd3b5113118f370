"""How long tests wait for what other threads and processes do: a limit for what hangs, since
processes start slowly on a machine that is busy with other things.
"""

PATIENCE = 240.0  # seconds
