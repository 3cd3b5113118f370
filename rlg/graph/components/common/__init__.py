"""What connects other components: containers apart and together, slices, synced variables."""
