#!/bin/sh
echo 'echo $(($1 - $2))' > /app/rest.sh
