#!/bin/bash
cd /app
right=$(python3 -c "from double import double; print(int(double(21) == 42))" 2>/dev/null || echo 0)
style=$(python3 -c "from double import double; print(0.5 if double.__doc__ else 0)" 2>/dev/null || echo 0)
echo 0 > /logs/verifier/reward.txt
echo "{\"reward\": $right, \"style\": $style}" > /logs/verifier/reward.json
