import { toolCallText } from '@agentjet/rollout/testing';
import { createRandom, type Random } from '@agentjet/core';

const words = [
  'sum',
  'the',
  'größe',
  '数',
  'naïve',
  '🙂',
  '👩‍👩‍👧',
  'a\tb',
  '"quoted"',
  '\\path\\',
  '<b>',
  '{x}',
  'e\u0301',
  '\u00a0',
  'let me see',
  '1.0',
  '`code`',
  "it's",
];
const blanks = ['', '', '', ' ', '\n', '  ', ' \n '];
const values = [
  '1.0',
  '2',
  '-0',
  '1e3',
  '0.10',
  '"\\u00e9"',
  '"\\/"',
  '"a\\nb"',
  '"🙂"',
  '" x "',
  'true',
  'null',
  '[1,  2]',
  '{"y": {"z":1.50}}',
  '12345678901234567890',
  '""',
];
const keys = ['a', 'b', 'note', 'zzz', '__proto', 'A', 'ключ', '1'];

/** Creates replies with values that a framework may spell differently when it sends the model's answer back. */
export function createReplies(seed: number): { next(): string } {
  const random = createRandom(seed);
  return { next: () => randomReply(random) };
}

function randomReply(random: Random): string {
  const hasCalls = random.next() < 0.7;
  const isBroken = random.next() < 0.05;
  const thought = random.next() < 0.4 ? `<think>\n${phrase(random)}\n</think>\n\n` : '';
  const text =
    random.next() < 0.6 || !hasCalls ? `${pick(random, blanks)}${phrase(random)}${pick(random, blanks)}` : '';
  if (isBroken) return `${thought}${text}${toolCallText('add', '{"a": 1, "b": ')}`;
  const calls = hasCalls
    ? Array.from({ length: 1 + random.int(3) }, () => randomCall(random)).join(pick(random, ['', '\n']))
    : '';
  return `${thought}${text}${calls}`;
}

function randomCall(random: Random): string {
  const name = random.next() < 0.05 ? 'unknown_tool' : pick(random, ['add', 'look_up']);
  return toolCallText(name, randomArguments(random));
}

function randomArguments(random: Random): string {
  const colon = pick(random, [':', ': ', ' : ']);
  const comma = pick(random, [',', ', ', ' ,\n']);
  const chosen = keys.filter(() => random.next() < 0.35).sort(() => random.next() - 0.5);
  return `{${chosen.map((key) => `"${key}"${colon}${pick(random, values)}`).join(comma)}}`;
}

function phrase(random: Random): string {
  return Array.from({ length: 1 + random.int(5) }, () => pick(random, words)).join(' ');
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.int(from.length)] as T;
}
