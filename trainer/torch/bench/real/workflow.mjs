// The agents of `real`, on the messages that `tasks.py` wrote. The rewards are those of its `is_right`.

const operators = { '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b };

/** One answer, which must be the JSON object of the task. */
export async function extract(task, tuner) {
  const { messages, answer } = task.metadata;
  return toOutput(sameJson(await say(tuner, messages), answer));
}

/** A call of the calculator, its result, and a number, which must be that of the task. */
export async function calculate(task, tuner) {
  const { messages, answer } = task.metadata;
  const call = await say(tuner, messages);
  const [, a, operator, b] = /calc:\s*(\d+)\s*([-+*])\s*(\d+)\s*$/.exec(call) ?? [];
  if (operator === undefined) return toOutput(false);
  const result = `result: ${operators[operator](Number(a), Number(b))}`;
  const last = await say(tuner, [...messages, { role: 'assistant', content: call }, { role: 'user', content: result }]);
  return toOutput(last.trim() === answer);
}

async function say(tuner, messages) {
  const model = tuner.selectModel({ agentName: 'agent' }, (own) => own, ['generate']);
  const { message } = await model.generate({ messages }, { signal: tuner.signal });
  return message.content ?? '';
}

const toOutput = (isSuccess) => ({ reward: isSuccess ? 1 : 0, isSuccess });

/** Compares JSON values without the order of keys, as `is_right` does in Python. */
function sameJson(said, wanted) {
  try {
    return JSON.stringify(sorted(JSON.parse(said))) === JSON.stringify(sorted(JSON.parse(wanted)));
  } catch {
    return false;
  }
}

const sorted = (value) =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    : value;
