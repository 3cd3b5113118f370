"""The packaged configurations, installed as `rlg.conf`; Hydra composes them for every command."""
