"""The TensorFlow backend: static graphs, traced into tf.function or into a `tf.Graph` for sessions.

Why variables are made where they are asked for: one made eagerly can never enter a session, so the
mode is chosen before any variable exists and nothing here makes one on its own.
"""
