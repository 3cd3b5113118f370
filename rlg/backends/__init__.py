"""Local backends: `numpy`, `torch` and `tf`, one folder each with the same file names.

Why a folder per framework: each is imported by its own folder only, so processes that need none
(replay actors) and commands like `rlg --help` never load one. All of them fulfil the contract in
`rlg.graph.core.component.ops`; what plain Python can do for several of them lies in `numpy`.
"""
