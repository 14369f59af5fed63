"""What a FIX acceptor must answer, message by message: definitions, a runner, verdicts."""
