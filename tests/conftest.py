"""Stands here so that every test finds what tests share (`synthetic_run`), whatever folder it lies in."""

from hypothesis import HealthCheck, settings

# A property holds or it doesn't: no test may fail because the machine was slow.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
