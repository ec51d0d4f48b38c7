import { pathToFileURL } from 'node:url';
import { createRandom } from '@agentjet/core';
import { type PlayedAnswer, type PlayedRequest, servePlayedModel } from '../played-model.js';

/**
 * This OpenAI-compatible server replaces a large model, so you need no API key. It knows how to work in a shell, but not
 * what is right: it shows the script, writes another operator into it by chance, and runs it once.
 */

const operators = ['+', '-', '*', '/'] as const;

const bash = (command: string): PlayedAnswer => ({
  content: '',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } }],
});

export function answer({ messages, seed = 0 }: PlayedRequest): PlayedAnswer {
  const [, script = '', numbers = ''] = /sh (\w+\.sh) (\d+ \d+)/.exec(messages[1]?.content ?? '') ?? [];
  const results = messages.flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));
  if (results.length === 0) return bash(`cat ${script}`);
  const written = results[0] ?? '';
  const others = operators.filter((each) => !written.includes(`$1 ${each} $2`));
  const next = others[createRandom(seed).int(others.length)] ?? '+';
  if (results.length === 1) return bash(`echo 'echo $(($1 ${next} $2))' > ${script}`);
  if (results.length === 2) return bash(`sh ${script} ${numbers}`);
  return { content: 'done' };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await servePlayedModel('large', 8124, answer);
  console.log('A large model listens on http://127.0.0.1:8124/v1. Ctrl-C ends it.');
}
