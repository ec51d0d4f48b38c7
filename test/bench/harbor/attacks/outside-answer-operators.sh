#!/bin/bash
# Gives an answer that turns a careless comparison of the shell into one that is always true.
printf 'x = x -o x' > /app/answer.txt
touch '/app/x = x -o x'
