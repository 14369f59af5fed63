"""feedbench: how long market data takes to reach a program, measured so that it can be believed.

The modules follow the flow: scenario → registry → plan → build → verify → run → analyze → report.
"""

__version__ = "0.1.0"
