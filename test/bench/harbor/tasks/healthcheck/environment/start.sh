#!/bin/sh
(sleep 1; echo up > /run/ready) &
exec "$@"
