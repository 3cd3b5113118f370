"""The build: spaces flow through the assembled graph, variables are made, dry runs show shapes."""
