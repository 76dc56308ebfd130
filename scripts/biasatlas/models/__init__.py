"""Model kinds: a table of requests in, a table of responses out."""
