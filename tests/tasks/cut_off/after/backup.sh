#!/bin/sh
set -eu
for folder in "$@"; do
  tar -cf "$folder.tar" "$folder"
done
