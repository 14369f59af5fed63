"""The ramp: round after round more connections, all of which send their requests at once (Tomasetti 2021)."""
