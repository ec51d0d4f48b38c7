#!/usr/bin/env bash
# A walker in bash. It uses curl and sed, and nothing from AgentJet.
#
# It reads lines. A line with `walk`, an address, a key and a model name, separated by tabs, begins a walk. Every other line is an
# observation (a JSON string). The answer is a line with a move (a JSON string).
set -euo pipefail

for program in curl sed; do
  command -v "$program" >/dev/null || { echo "agent.sh needs $program, which is not installed." >&2; exit 69; }
done

system='{"role":"system","content":"You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right."}'

while IFS=$'\t' read -r line url key model_name; do
  if [[ $line == walk ]]; then
    base_url=$url api_key=$key model=$model_name messages=$system
    continue
  fi
  messages+=",{\"role\":\"user\",\"content\":$line}"
  reply=$(curl -sS --fail-with-body "$base_url/chat/completions" \
    -H "Authorization: Bearer $api_key" -H 'Content-Type: application/json' \
    -d "{\"model\":\"$model\",\"messages\":[$messages]}") || { echo "$reply" >&2; exit 1; }
  # The text of the answer is the first "content" of the reply. It is still a JSON string.
  answer=$(sed -E 's/^.*"message":\{"role":"assistant","content":("([^"\\]|\\.)*").*$/\1/' <<<"$reply")
  messages+=",{\"role\":\"assistant\",\"content\":$answer}"
  printf '%s\n' "$answer"
done
