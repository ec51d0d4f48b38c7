#!/usr/bin/env bash
# The agent of sums.py with curl: claim an episode, call the model once, report the reward, again and again.
#
#   bash sums.sh http://127.0.0.1:8700 [share]
#
# The key comes from AJET_SWARM_KEY. A request that fails is repeated with the same ids, so nothing is claimed or ended twice.
set -u
url=$1/swarm/v1
share=${2:-default}
client=bash
life=$RANDOM$RANDOM
tools='[{"type":"function","function":{"name":"calculator","description":"Computes two numbers.","parameters":{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}}}]'
system='Solve the problem with the calculator. Then answer with the number alone.'

# post <address> <key> <body> prints the first final answer. It returns 1 if the server refused or the script was ended.
post() {
  local answer status
  while kill -0 $$ 2> /dev/null; do
    answer=$(curl -sS -m 90 -w '\n%{http_code}' -H "authorization: Bearer $2" -H 'content-type: application/json' -H "idempotency-key: $claim" -d "$3" "$1" 2> /dev/null)
    status=${answer##*$'\n'}
    case $status in
      2??) printf '%s' "${answer%$'\n'*}"; return 0 ;;
      408 | 429 | 5?? | 000 | '') sleep 0.3 ;;
      *) printf '%s\n' "${answer%$'\n'*}" >&2; return 1 ;;
    esac
  done
  return 1
}

# field <name> prints the value of a field that is a string without quotes in it.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -1; }

number=0
while :; do
  number=$((number + 1))
  claim=$client.$life.$number
  claimed=$(post "$url/episodes" "$AJET_SWARM_KEY" "{\"claim_id\":\"$claim\",\"client\":\"$client\",\"life\":\"$life\",\"can\":[\"$share\"],\"revision\":\"sums-1\",\"wait_seconds\":10}") || continue
  episode=$(field episode_id <<< "$claimed")
  if [ -z "$episode" ]; then
    case $(field reason <<< "$claimed") in stopped | no_task) break ;; esac
    sleep 0.1
    continue
  fi
  question=$(field main_query <<< "$claimed")
  solution=$(sed -n 's/.*"answer":\(-\{0,1\}[0-9.]*\).*/\1/p' <<< "$claimed")
  key=$(field key <<< "$claimed")
  base=$1/$(field base_url <<< "$claimed" | cut -d/ -f4-)
  body="{\"model\":\"agentjet\",\"messages\":[{\"role\":\"system\",\"content\":\"$system\"},{\"role\":\"user\",\"content\":\"$question\"}],\"tools\":$tools}"
  answer=$(post "$base/solver/v1/chat/completions" "$key" "$body") || continue
  expression=$(sed -n 's/.*expression\\":[[:space:]]*\\"\([^"\\]*\)\\".*/\1/p' <<< "$answer" | head -1)
  reward=0
  if [[ $expression =~ ^[[:space:]]*([0-9]+)[[:space:]]*([-+*/])[[:space:]]*([0-9]+)[[:space:]]*$ ]]; then
    a=$((10#${BASH_REMATCH[1]})) b=$((10#${BASH_REMATCH[3]}))
    case ${BASH_REMATCH[2]} in
      +) result=$((a + b)) ;;
      -) result=$((a - b)) ;;
      '*') result=$((a * b)) ;;
      /) if ((b != 0 && a % b == 0)); then result=$((a / b)); else result=none; fi ;;
    esac
    [ "$result" = "$solution" ] && reward=1
  fi
  success=$([ $reward = 1 ] && echo true || echo false)
  post "$url/episodes/$episode/end" "$AJET_SWARM_KEY" "{\"client\":\"$client\",\"status\":\"completed\",\"reward\":$reward,\"is_success\":$success}" > /dev/null && echo "$episode $reward"
done
