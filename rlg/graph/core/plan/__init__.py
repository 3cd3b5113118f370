"""Plans: what a built API method runs as, as emitted source or call by call (define-by-run)."""
