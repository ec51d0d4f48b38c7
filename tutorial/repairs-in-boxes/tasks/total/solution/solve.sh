#!/bin/sh
echo 'echo $(($1 + $2))' > /app/total.sh
