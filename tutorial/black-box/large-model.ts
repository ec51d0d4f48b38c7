import { pathToFileURL } from 'node:url';
import type { Server } from 'node:http';
import { createRandom } from '@agentjet/core';
import { type PlayedAnswer, type PlayedRequest, servePlayedModel } from '../played-model.js';

/**
 * This OpenAI-compatible server replaces a large model, so you need no API key. It repairs code by trying.
 * It runs the test, reads the file, and writes an operator that it has not tried, until the test passes. One time in
 * eight it accepts a failure.
 */

const operators = ['+', '-', '*', '/'] as const;

const call = (name: string, given: object): PlayedAnswer => ({
  content: '',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(given) } }],
});

export function answer({ messages, seed = 0 }: PlayedRequest): PlayedAnswer {
  const random = createRandom(seed);
  const results = messages.flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));
  const seen = results.at(-1);
  if (seen === undefined) return call('run', { file: 'test.js' });
  if (results.length === 1) return call('read', { file: 'code.js' });
  const isTested = results.length > 2 && results.length % 2 === 0;
  if (results.length > 2 && !isTested) return call('run', { file: 'test.js' });
  const written = results[1] ?? '';
  const tried = triedIn(messages, written);
  const left = operators.filter((each) => !tried.includes(each));
  const next = left[random.int(Math.max(1, left.length))];
  if (isTested && (seen === 'ok' || next === undefined || random.next() < 1 / 8)) return { content: 'done' };
  return call('write', { file: 'code.js', text: written.replace(/. b$/, `${next} b`) });
}

/** Returns the operators that the file has had, the current one last. */
function triedIn(messages: PlayedRequest['messages'], read: string): readonly string[] {
  const texts = JSON.stringify(messages).matchAll(/text\\*":\\*"\w+ = .a, b. => a (.) b/g);
  return [/a (.) b/.exec(read)?.[1] ?? '', ...[...texts].map(([, operator = '']) => operator)];
}

/** Resolves when it listens on this machine. Port 0 picks a free port. */
export function openLargeModel(port: number): Promise<Server> {
  return servePlayedModel('large', port, answer);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await openLargeModel(8123);
  console.log('A large model listens on http://127.0.0.1:8123/v1. Ctrl-C ends it.');
}
