# nginx as a relay: a reverse proxy for one path, with all of its files in a folder of its own.
set -u
. ../_support/relay.sh
read_arguments "$@"
folder="$(mktemp -d)" || end 1 "no folder for nginx's files is to be had"
trap 'rm -rf "$folder"' EXIT
sed -e "s|@folder@|$folder|" -e "s|@listen@|$listen|" -e "s|@upstream@|$upstream|" nginx.conf >"$folder/nginx.conf" &&
    printf 'proxy_pass "http://%s%s";\n' "$upstream" "$stream" >"$folder/upstream.conf" ||
    end 1 "cannot write to $folder"
run nginx -p "$folder/" -c nginx.conf
