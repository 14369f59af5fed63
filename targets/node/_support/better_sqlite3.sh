#!/bin/sh
# better-sqlite3 for the clients' sinks, unless Node brings SQLite itself (22.13). Usage: better_sqlite3.sh SHARED BUILD
# It is compiled, once for all targets, since its own installer would download a binary that no lock file knows.
set -eu
shared=$1/better-sqlite3-$(node -p process.versions.modules)
build=$2
node -e "import('node:sqlite').catch(() => process.exit(1))" 2>/dev/null && exit

mkdir -p "$shared" "$build/node"
exec 9>"$shared/lock"
flock 9
if ! cmp -s package-lock.json "$shared/built"; then
    cp package.json package-lock.json "$shared"
    npm ci --ignore-scripts --omit=dev --no-audit --no-fund --silent --prefix "$shared"
    JOBS=1 npm run build-release --silent --prefix "$shared/node_modules/better-sqlite3" >"$shared/compiled.log" 2>&1 || {
        tail -n 20 "$shared/compiled.log" >&2
        exit 1
    }
    cp package-lock.json "$shared/built"
fi
ln -sfn "$shared/node_modules" "$build/node/node_modules"
