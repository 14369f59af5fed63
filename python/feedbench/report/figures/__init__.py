"""What the report shows, as Altair charts: one family of figures a module, pure functions from findings to charts."""
