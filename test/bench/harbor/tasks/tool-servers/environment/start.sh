#!/bin/sh
python3 /srv/desk.py number 8765 > /dev/null 2>&1 &
exec "$@"
