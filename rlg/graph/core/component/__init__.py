"""What a component is: the class, its marks, the operations it is written against, its streams.

Nothing here knows a graph: a component can be written, composed and called as plain Python.
"""
