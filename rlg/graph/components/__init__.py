"""Ready-made components: layers, memories, losses, policies, optimizers and what connects them."""
