import type { OpenAI } from 'openai';
import { readExpression, solve, tools } from '../math-agent/agents/openai.js';
import { systemPrompt } from '../math-agent/calculator.js';

/**
 * Two agents over the plain OpenAI SDK. The planner reads a problem and says what to compute. The worker computes it
 * with the calculator, and its answer is the team's answer. This file has no code for training.
 */

export type Role = 'planner' | 'worker';

export type TeamAnswer = {
  /**
   * The computation that the planner asked for. It is empty if the planner asked for none; the worker then did nothing.
   */
  readonly expression: string;
  readonly answer: string;
};

export type Team = (question: string, signal?: AbortSignal) => Promise<TeamAnswer>;

/** `clientOf` gives each of the two agents a model. */
export function createTeam(clientOf: (role: Role) => OpenAI): Team {
  const [planner, worker] = [clientOf('planner'), clientOf('worker')];
  return async (question, signal) => {
    const expression = await plan(question, planner, signal);
    return { expression, answer: expression === '' ? '' : await solve(toJob(expression), worker, signal) };
  };
}

async function plan(question: string, client: OpenAI, signal?: AbortSignal): Promise<string> {
  const messages = [
    { role: 'system' as const, content: systemPrompt },
    { role: 'user' as const, content: question },
  ];
  const { choices } = await client.chat.completions.create(
    { model: 'gpt-4o-mini', messages, tools },
    signal === undefined ? {} : { signal },
  );
  const call = choices[0]?.message.tool_calls?.find(({ type }) => type === 'function');
  return call?.type === 'function' ? readExpression(call.function.arguments) : '';
}

const jobs: Readonly<Record<string, (left: string, right: string) => string>> = {
  '+': (left, right) => `Ann has ${left} apples and finds ${right} more. How many apples are there now?`,
  '-': (left, right) => `Ann has ${left} apples and loses ${right}. How many apples are left?`,
  '*': (left, right) => `Ann fills ${left} bags with ${right} apples each. How many apples in the bags?`,
  '/': (left, right) => `Ann shares ${left} apples among ${right} friends. How many apples for each friend?`,
};

/**
 * Writes the operation in the words of the problems, because nano has learned no signs. A request that is not an
 * operation on two numbers is passed on unchanged.
 */
function toJob(expression: string): string {
  const [, left = '', operator = '', right = ''] = /^\s*(\d+)\s*([-+*/])\s*(\d+)\s*$/.exec(expression) ?? [];
  return jobs[operator]?.(left, right) ?? `What is ${expression}?`;
}
