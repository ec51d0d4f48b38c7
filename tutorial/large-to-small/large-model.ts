import type { Server } from 'node:http';
import { pathToFileURL } from 'node:url';
import { createRandom } from '@agentjet/core';
import { type Operator, readProblem } from '../math-agent/problems.js';
import { type PlayedAnswer, type PlayedRequest, servePlayedModel } from '../played-model.js';

/**
 * This OpenAI-compatible server replaces a large model, so you need no API key. It parses the problems instead of
 * understanding them. Like a large model, it is good but not perfect: it confuses one operation in eight, and its
 * wording varies.
 */

const names: Readonly<Record<Operator, string>> = { '+': 'add', '-': 'subtract', '*': 'multiply', '/': 'divide' };
const thoughts = ['', '', 'I will compute it.', 'Let me see.'];

function answer({ messages, seed = 0 }: PlayedRequest): PlayedAnswer {
  const last = messages.at(-1);
  if (last?.role === 'tool') return { content: `The result is ${last.content ?? ''}.` };
  const random = createRandom(seed);
  const { left, operator, right } = readProblem(last?.content ?? '');
  const others = Object.values(names).filter((name) => name !== names[operator]);
  const operation = random.next() < 1 / 8 ? others[random.int(others.length)] : names[operator];
  const written = JSON.stringify({ operation, a: left, b: right });
  return {
    content: thoughts[random.int(thoughts.length)] ?? '',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'compute', arguments: written } }],
  };
}

/** Resolves when it listens on this machine. Port 0 picks a free port. */
export function openLargeModel(port: number): Promise<Server> {
  return servePlayedModel('large', port, answer);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await openLargeModel(8123);
  console.log('A large model listens on http://127.0.0.1:8123/v1. Ctrl-C ends it.');
}
