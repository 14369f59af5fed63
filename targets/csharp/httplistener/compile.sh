#!/bin/sh
# Compiles a program of that name into the folder given, against the runtime that lies there among the wheels.
set -eu
build=$1
program=$2
wheels=$build/wheels
framework=$wheels/dotnetcore2/bin/shared/Microsoft.NETCore.App/3.1.23

# The runtime asks for OpenSSL 1.1 by this name; the wheel's own file names carry a hash, by which libssl finds libcrypto.
mkdir -p "$build/openssl"
cp "$wheels"/psycopg2_binary.libs/libssl-*.so.1.1 "$wheels"/psycopg2_binary.libs/libcrypto-*.so.1.1 "$build/openssl"
(cd "$build/openssl" && ln -sf libssl-*.so.1.1 libssl.so.1.1)

# -nostdlib and -noconfig keep Mono's own class library out.
set --
for library in "$framework"/System*.dll "$framework"/Microsoft.Win32.*.dll "$framework"/mscorlib.dll; do
    case $library in *WindowsRuntime*) continue ;; esac # its extension methods want Windows' own types
    set -- "$@" "-reference:$library"
done
# 1701 and 1702 doubt that two references to one assembly of the runtime are the same.
mcs -nologo -nostdlib -noconfig -langversion:7.2 -optimize+ -warnaserror -nowarn:1701,1702 "$@" -out:"$build/$program.dll" ./*.cs ../_support/*.cs
cp "$program.runtimeconfig.json" "$build"
