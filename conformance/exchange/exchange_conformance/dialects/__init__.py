"""How each exchange words its messages."""
