"""The report of a run: one HTML page, and its figures as files."""

from feedbench.report.write import write_picture, write_report

__all__ = ["write_picture", "write_report"]
