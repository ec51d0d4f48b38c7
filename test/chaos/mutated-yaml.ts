import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '@agentjet/core';
import { createJobYaml } from '../e2e/support/job-files.js';
import { createSubject, type Subject } from './start-subject.js';
import { looksLikeStack, pick, type Attack, type Case, type World } from './world.js';

/** Makes one or two hostile changes to a job file. The command must load the file or refuse it with a short message. */
const values = [
  '&a [*a]',
  '&a {b: *a}',
  '*nowhere',
  '[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]',
  '{__proto__: {polluted: 1}}',
  '{constructor: {prototype: {polluted: 1}}}',
  '1e999',
  '-0',
  '.nan',
  '.inf',
  '9007199254740993',
  '2147483648',
  '!!binary aGVsbG8=',
  '!!set {a, b}',
  '!!js/function "function () {}"',
  '2026-01-01',
  '"\\u0000"',
  '"\\ud800"',
  '"../../.."',
  '/dev/zero',
  'null',
  '~',
  '{}',
  '[]',
  'yes',
  '0x10',
  '0o17',
  '? {a: 1}\n  : 2',
  '|\n    long',
  '<<',
] as const;

const edits = ['value', 'key', 'line', 'character', 'indent', 'long', 'aliases', 'document'] as const;
type YamlCase = { readonly edits: readonly (typeof edits)[number][]; readonly text: string };

const anchors = (count: number): string =>
  Array.from(
    { length: count },
    (_, index) => `x${index}: &x${index} [${index === 0 ? '1' : `*x${index - 1}, *x${index - 1}`}]`,
  ).join('\n');

function editLine(line: string, edit: (typeof edits)[number], random: Random): string {
  const [, key = '', value = ''] = /^(\s*[^:]+:)(.*)$/.exec(line) ?? [line, line, ''];
  const at = random.int(line.length + 1);
  if (edit === 'value') return `${key} ${pick(random, values)}`;
  if (edit === 'key')
    return `${key.replace(/\S+:/, `${pick(random, ['__proto__', 'constructor', 'toString', '"\\0"', '<<', '?'])}:`)}${value}`;
  if (edit === 'line') return pick(random, [`${line}\n${line}`, '', `${line}\n\t${line}`, `- ${line}`]);
  if (edit === 'character')
    return `${line.slice(0, at)}${pick(random, [':', '"', "'", '[', '}', '&', '*', '\t', '\u0000', '\uFEFF', '%', '@', '#'])}${line.slice(at + random.int(2))}`;
  if (edit === 'indent') return `${' '.repeat(random.int(9))}${line.trimStart()}`;
  if (edit === 'long') return `${key} "${'x'.repeat(1_000_000)}"`;
  if (edit === 'aliases') return `${line}\n${anchors(1 + random.int(200))}`;
  return `${line}\n---\n${line}`;
}

function drawYaml(base: string, random: Random): YamlCase {
  const chosen = Array.from({ length: 1 + random.int(2) }, () => pick(random, edits));
  const lines = base.trimEnd().split('\n');
  for (const edit of chosen) {
    const at = random.int(lines.length);
    lines[at] = editLine(lines[at] ?? '', edit, random);
  }
  return { edits: chosen, text: `${lines.join('\n')}\n` };
}

const limitMs = 60_000;
const mostWords = 4000;

async function runOnce(world: World, subject: Subject, each: Case): Promise<void> {
  const drawn = drawYaml(createJobYaml('nano'), each.random);
  const shown = { edits: drawn.edits };
  const file = path.join(world.folder, 'yaml', 'job.yaml');
  writeFileSync(file, drawn.text);
  world.counts.mutations++;
  const answer = await subject.ask({ kind: 'configure', file }, limitMs);
  if ('hung' in answer) return each.found('hangs', shown, `No answer in ${limitMs} ms: ${drawn.text}`);
  if ('died' in answer) return each.found('stack_traces', shown, answer.died);
  if (answer.ok) return;
  if (answer.stack !== null || looksLikeStack(answer.message))
    return each.found('stack_traces', shown, answer.stack ?? answer.message);
  if (answer.message.length > mostWords)
    each.found('stack_traces', shown, `A message of ${answer.message.length} characters: ${answer.message}`);
}

export async function createMutatedYaml(world: World): Promise<Attack> {
  mkdirSync(path.join(world.folder, 'yaml'), { recursive: true });
  const subject = createSubject();
  return {
    name: 'mutated-yaml',
    runCase: (each) => runOnce(world, subject, each),
    close: async () => subject.close(),
  };
}
