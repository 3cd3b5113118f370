"""The checks behind `rlg doctor`: whether this machine can run everything."""
