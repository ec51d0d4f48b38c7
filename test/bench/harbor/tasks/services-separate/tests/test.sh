#!/bin/bash
if [ "$(cat /var/orders.txt)" = "$(printf 'apple\npear')" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
