"""From words to configurations: flags, Hydra's composition, and its errors in one line."""
