"""Keeps feed clients following their exchanges for days, as Papík's management script did every ten seconds.

task        what is to be kept running: clients × exchanges, from a file
folder      what stands where in a supervisor's folder
backoff     when a client that died is started again: pure
child       one client as a process that outlives its supervisor, and is found again
journal     outages, one line each
supervisor  the loop
status      what a folder tells of itself
"""
