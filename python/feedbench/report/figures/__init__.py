"""What the report shows, as Altair charts: pure functions from findings to figures, one family a module."""
