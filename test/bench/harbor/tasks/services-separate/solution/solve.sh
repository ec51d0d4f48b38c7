#!/bin/bash
order() { exec 3<> "/dev/tcp/$1/9000"; echo "$2" >&3; read -r answer <&3; [ "$answer" = ordered ]; }
order shop pear && order store apple
