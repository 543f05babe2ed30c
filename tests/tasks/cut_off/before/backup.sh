#!/bin/sh
set -eu
tar -cf "$1.tar" "$1"
