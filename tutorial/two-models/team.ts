import type { OpenAI } from 'openai';
import { readExpression, solve, tools } from '../02-math-agent/agents/openai.js';
import { systemPrompt } from '../02-math-agent/calculator.js';

/**
 * Two agents over the plain OpenAI SDK. The planner reads a problem and says what is to be computed; the worker computes it with the
 * calculator, and what it answers is the team's answer. Nothing here knows of training.
 */

export type Role = 'planner' | 'worker';

export type TeamAnswer = {
  /** What the planner asked for; empty if it asked for nothing, and then the worker did nothing. */
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

/** In the words of the problems, the only ones that the nano model knows. */
const toJob = (expression: string): string => `Ann has ${expression} apples. How many apples in all?`;
