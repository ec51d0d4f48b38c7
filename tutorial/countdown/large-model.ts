import type { Server } from 'node:http';
import { pathToFileURL } from 'node:url';
import { createRandom } from '@agentjet/core';
import { type PlayedAnswer, type PlayedRequest, servePlayedModel } from '../played-model.js';

/**
 * This OpenAI-compatible server replaces a large model, so you need no API key. It plays by trying. It puts
 * the larger number first, takes an operation that it has not tried, and tries again if the result is not the target.
 * One time in eight it accepts a wrong result.
 */

const operators = ['+', '-', '*', '/'] as const;

/** Returns the operations that it has not tried yet. */
function listTries(messages: PlayedRequest['messages']): readonly string[] {
  const question = messages.find(({ role }) => role === 'user')?.content ?? '';
  const [first = 0, second = 0] = (question.match(/\d+/g) ?? []).map(Number);
  const said = JSON.stringify(messages);
  const tries = operators.map((operator) => `${Math.max(first, second)}${operator}${Math.min(first, second)}`);
  return tries.filter((expression) => !said.includes(expression));
}

function answer({ messages, seed = 0 }: PlayedRequest): PlayedAnswer {
  const random = createRandom(seed);
  const last = messages.at(-1);
  const result = last?.role === 'tool' ? (last.content ?? '') : null;
  const tries = listTries(messages);
  const expression = tries[random.int(Math.max(1, tries.length))];
  const isContent = result !== null && (!result.includes('not') || random.next() < 1 / 8);
  if (isContent || expression === undefined) return { content: result ?? '' };
  const call = { name: 'calculator', arguments: JSON.stringify({ expression }) };
  return { content: '', tool_calls: [{ id: 'call_1', type: 'function', function: call }] };
}

/** Resolves when it listens on this machine. Port 0 picks a free port. */
export function openLargeModel(port: number): Promise<Server> {
  return servePlayedModel('large', port, answer);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await openLargeModel(8123);
  console.log('A large model listens on http://127.0.0.1:8123/v1. Ctrl-C ends it.');
}
