#!/usr/bin/env bash
# A walker in bash: curl, sed, and nothing of AgentJet.
# Reads one observation per line (a JSON string), writes one move per line (a JSON string).
set -euo pipefail

messages='{"role":"system","content":"You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right."}'

while IFS= read -r observation; do
  messages+=",{\"role\":\"user\",\"content\":$observation}"
  reply=$(curl -sS --fail-with-body "$OPENAI_BASE_URL/chat/completions" \
    -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
    -d "{\"model\":\"$OPENAI_MODEL\",\"messages\":[$messages]}")
  # The answer's text, still a JSON string: the first "content" of the reply.
  answer=$(sed -E 's/^.*"message":\{"role":"assistant","content":("([^"\\]|\\.)*").*$/\1/' <<<"$reply")
  messages+=",{\"role\":\"assistant\",\"content\":$answer}"
  printf '%s\n' "$answer"
done
