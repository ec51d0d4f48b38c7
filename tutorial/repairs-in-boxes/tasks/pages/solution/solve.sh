#!/bin/sh
echo 'echo $(($1 * $2))' > /app/pages.sh
