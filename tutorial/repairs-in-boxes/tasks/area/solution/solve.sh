#!/bin/sh
echo 'echo $(($1 * $2))' > /app/area.sh
