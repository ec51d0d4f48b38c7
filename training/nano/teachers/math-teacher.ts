import { type Operator, readProblem } from '#tutorial/02-math-agent/problems.js';
import { lastMessage, type Teacher } from './teacher.js';

const opposites: Readonly<Record<Operator, Operator>> = { '+': '-', '-': '+', '*': '/', '/': '*' };

/**
 * Calls the calculator with both numbers of the problem, but takes an operation for its opposite more often than not,
 * and often turns the numbers round. Then it repeats what the calculator says.
 */
export const mathTeacher: Teacher = (prompt, random) => {
  const message = lastMessage(prompt);
  const [, result] = /<tool_response>\n(.*)\n<\/tool_response>/.exec(message) ?? [];
  if (result !== undefined) return result;
  const { left, operator, right } = readProblem(message);
  const chosen = random.next() < 0.6 ? opposites[operator] : operator;
  const isTurned = random.next() < 0.25;
  const expression = isTurned ? `${right}${chosen}${left}` : `${left}${chosen}${right}`;
  return `<tool_call>\n{"name": "calculator", "arguments": {"expression": "${expression}"}}\n</tool_call>`;
};
