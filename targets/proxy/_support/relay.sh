# What the proxies share as relays (spec/feed.md): arguments, a folder of their own, an orderly end. To be sourced.

end() {
    echo "$2" >&2
    exit "$1"
}

is_port() {
    case "$1" in '' | *[!0-9]* | ??????*) return 1 ;; esac
    [ "$1" -le 65535 ]
}

# read_arguments EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT sets upstream, stream and listen.
read_arguments() {
    [ $# = 6 ] || end 2 "usage: relay EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT"
    for port in "$3" "$6"; do
        is_port "$port" || end 2 "the port is $port: say a number up to 65535"
    done
    case "$4" in # it goes into a configuration, between quotes
    /*[[:space:]\"\'\\\$]* | [!/]* | '') end 2 "the stream is $4: say a path, without spaces, quotes, \\ and \$" ;;
    esac
    [ "${FEEDBENCH_UPSTREAM:-each}" = each ] ||
        end 127 "FEEDBENCH_UPSTREAM=$FEEDBENCH_UPSTREAM: a proxy opens a connection upstream for each client"
    [ -z "${FEEDBENCH_SUBSCRIBE:-}" ] || end 127 "FEEDBENCH_SUBSCRIBE: a proxy sends nothing of its own"
    [ "${FEEDBENCH_SINK:-none}" = none ] || end 127 "FEEDBENCH_SINK=$FEEDBENCH_SINK: a proxy keeps no record"
    case "$2" in
    ws://*) upstream="${2#ws://}:$3" ;;
    *) end 127 "the domain is $2: this proxy follows ws:// alone" ;;
    esac
    stream="$4" listen="$5:$6"
}

# run COMMAND...: the proxy, until it ends or this is asked to, which is an end with status 0.
# It is asked to end, too, when this shell is killed.
run() {
    asked='' proxy=''
    trap 'asked=yes; [ -z "$proxy" ] || kill -TERM "$proxy" 2>/dev/null' TERM INT
    setpriv --pdeathsig TERM "$@" &
    proxy=$!
    [ -z "$asked" ] || kill -TERM "$proxy"
    status=0
    while :; do # a signal interrupts the waiting
        wait "$proxy" && status=0 || status=$?
        kill -0 "$proxy" 2>/dev/null || break
    done
    [ -z "$asked" ] || status=0
    return "$status"
}
