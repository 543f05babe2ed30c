#!/bin/sh
set -eu
echo "$1"
