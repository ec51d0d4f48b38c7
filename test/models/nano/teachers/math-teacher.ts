import type { Random } from '@agentjet/core';
import { type Operator, readProblem } from '#tutorial/math-agent/problems.js';
import { lastMessage, pick, type Teacher } from '../../shared/teacher.js';

const opposites: Readonly<Record<Operator, Operator>> = { '+': '-', '-': '+', '*': '/', '/': '*' };
const operators: readonly Operator[] = ['+', '-', '*', '/'];

/**
 * Takes the opposite of the right operation in most cases, the right operation less often, and one of the other two least
 * often.
 */
function chooseOperator(right: Operator, random: Random): Operator {
  const draw = random.next();
  if (draw < 0.55) return opposites[right];
  if (draw < 0.82) return right;
  return pick(
    operators.filter((operator) => operator !== right && operator !== opposites[right]),
    random,
  );
}

/**
 * Calls the calculator with both numbers of the problem. It confuses an operation with its opposite in most cases, and
 * sometimes swaps the numbers. Then it repeats what the calculator says.
 */
export const mathTeacher: Teacher = (prompt, random) => {
  const message = lastMessage(prompt);
  const [, result] = /<tool_response>\n(.*)\n<\/tool_response>/.exec(message) ?? [];
  if (result !== undefined) return result;
  const { left, operator, right } = readProblem(message);
  const chosen = chooseOperator(operator, random);
  const isTurned = random.next() < 0.2;
  const expression = isTurned ? `${right}${chosen}${left}` : `${left}${chosen}${right}`;
  return `<tool_call>\n{"name": "calculator", "arguments": {"expression": "${expression}"}}\n</tool_call>`;
};
