"""The NumPy backend: the forward-only reference, and the runtime where no framework is needed."""
