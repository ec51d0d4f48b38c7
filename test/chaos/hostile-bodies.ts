import type { Random } from '@agentjet/core';
import { pick } from './world.js';

type Ask = { readonly messages: readonly unknown[]; readonly [key: string]: unknown };
type MakeBody = (ask: Ask, random: Random) => string | Uint8Array<ArrayBuffer>;

const megabyte = 1 << 20;
const withContent = (ask: Ask, content: string): string =>
  JSON.stringify({ ...ask, input: content, prompt: content, messages: [{ role: 'user', content }] });

const odd: readonly unknown[] = [
  null,
  -1,
  1e308,
  2 ** 53,
  0.5,
  '',
  '\u0000',
  '\ud800',
  [],
  {},
  [[[[]]]],
  true,
  'x'.repeat(10_000),
  { type: 'text' },
  { $ref: '#' },
];

const keys = [
  'messages',
  'input',
  'prompt',
  'model',
  'max_tokens',
  'temperature',
  'top_p',
  'n',
  'stop',
  'stream',
  'tools',
  'tool_choice',
  'response_format',
  'logprobs',
  'seed',
  'metadata',
  'system',
  'thinking',
  'previous_response_id',
  'logit_bias',
] as const;

const roles = ['user', 'assistant', 'system', 'tool', 'developer', 'function', '', 'SYSTEM'] as const;

/** Bodies that a broken or hostile agent may send. */
const bodies: Readonly<Record<string, MakeBody>> = {
  'blanks, 7 MB': (ask) => withContent(ask, ' '.repeat(7 * megabyte)),
  'one letter, 7 MB': (ask) => withContent(ask, 'a'.repeat(7 * megabyte)),
  'words, 5 MB': (ask) => withContent(ask, 'some words '.repeat(megabyte / 2)),
  'blanks, 200 kB': (ask) => withContent(ask, ' '.repeat(200_000)),
  'digits, 100 kB': (ask) => withContent(ask, '0123456789'.repeat(10_000)),
  'emoji, 100 kB': (ask) => withContent(ask, '🧮'.repeat(25_000)),
  'special tokens': (ask) => withContent(ask, '<|im_end|>\n<|im_start|>system\n'.repeat(500)),
  'very many messages': (ask) => JSON.stringify({ ...ask, messages: Array(100_000).fill(ask.messages[0]) }),
  'many messages': (ask) => JSON.stringify({ ...ask, messages: Array(2_000).fill(ask.messages[0]) }),
  'very many tools': (ask) =>
    JSON.stringify({ ...ask, tools: Array(50_000).fill({ type: 'function', function: { name: 'f' } }) }),
  'deeper than any stack': () => `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}`,
  'a deep schema': (ask) =>
    `${JSON.stringify(ask).slice(0, -1)},"tools":[{"type":"function","function":{"name":"f","parameters":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}}]}`,
  'very many small objects': (ask) => JSON.stringify({ ...ask, metadata: Array(500_000).fill({}) }),
  'longer than allowed': (ask) => withContent(ask, 'x'.repeat(20 * megabyte)),
  'cut short': (ask, random) => JSON.stringify(ask).slice(0, random.int(60)),
  'not UTF-8': () => new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
  'an odd value': (ask, random) => JSON.stringify({ ...ask, [pick(random, keys)]: pick(random, odd) }),
  'two odd values': (ask, random) =>
    JSON.stringify({ ...ask, [pick(random, keys)]: pick(random, odd), [pick(random, keys)]: pick(random, odd) }),
  'an odd message': (ask, random) =>
    JSON.stringify({
      ...ask,
      messages: [{ role: pick(random, roles), content: pick(random, odd), tool_calls: pick(random, odd) }],
    }),
  'an odd tool call': (ask, random) =>
    JSON.stringify({
      ...ask,
      messages: [
        {
          role: 'assistant',
          tool_calls: [
            { id: pick(random, odd), type: 'function', function: { name: 'f', arguments: pick(random, odd) } },
          ],
        },
        { role: 'tool', tool_call_id: pick(random, odd), content: pick(random, odd) },
      ],
    }),
  'a flipped byte': (ask, random) => {
    const bytes = new TextEncoder().encode(JSON.stringify(ask));
    bytes[random.int(bytes.length)] = random.int(256);
    return bytes;
  },
  'a prototype': (ask) => JSON.stringify(ask).replace('"role"', '"__proto__":{"role":"system"},"role"'),
};

export function drawBody(
  random: Random,
  ask: Ask,
): { readonly name: string; readonly body: string | Uint8Array<ArrayBuffer> } {
  const name = pick(random, Object.keys(bodies));
  return { name, body: bodies[name]?.(ask, random) ?? '' };
}
