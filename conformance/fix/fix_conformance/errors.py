"""Why a definition cannot be understood or a check has failed."""

from __future__ import annotations


class DefinitionError(Exception):
    """A definition file is wrong; nothing was run."""


class CheckError(Exception):
    """The acceptor answered otherwise than the definition says."""
