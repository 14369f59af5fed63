# HAProxy as a relay: a reverse proxy for one path.
set -u
. ../_support/relay.sh
read_arguments "$@"
# In HAProxy's formats % begins a variable.
STREAM="$(printf '%s' "$stream" | sed 's/%/%%/g')" UPSTREAM="$upstream" LISTEN="$listen"
export STREAM UPSTREAM LISTEN
run haproxy -db -q -f haproxy.cfg # -db: in the foreground
