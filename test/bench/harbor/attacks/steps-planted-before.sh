# Plants rewards in both steps, where only one of them is emptied by a verifier that thinks of the first step only.
echo '{"reward": 1}' > /logs/verifier/reward.json
# second step
mkdir -p /logs/verifier && echo '{"reward": 1}' > /logs/verifier/reward.json
