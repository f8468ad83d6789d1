#!/usr/bin/env bash
# The inputs that fuzzing kept: one archive a target in the repository, a folder a target where a fuzzer runs.
#   corpus.sh unpack TARGET   makes the folder corpus/TARGET of the archive
#   corpus.sh pack TARGET     makes the archive of the folder; the same inputs give the same bytes
set -euo pipefail
cd "$(dirname "$0")/corpus"
target=${2:?"usage: corpus.sh unpack|pack TARGET"}
case ${1:-} in
  unpack) mkdir -p "$target" && tar -xzf "$target.tar.gz" -C "$target" ;;
  pack)
    (cd "$target" && find . -type f -printf '%P\n' | LC_ALL=C sort) |
      tar --mtime=@0 --mode=0644 --owner=0 --group=0 --numeric-owner --format=ustar -C "$target" -T - -cf - |
      gzip -9n >"$target.tar.gz"
    ;;
  *) echo 'usage: corpus.sh unpack|pack TARGET' >&2; exit 2 ;;
esac
