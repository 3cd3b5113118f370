"""Assembly: the typeless graph of a root's API methods, traced without spaces and backends."""
