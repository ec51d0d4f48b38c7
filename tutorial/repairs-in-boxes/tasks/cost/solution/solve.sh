#!/bin/sh
echo 'echo $(($1 * $2))' > /app/cost.sh
