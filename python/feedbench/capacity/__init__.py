"""How much a server takes: the greatest load under which it still answers in time."""
