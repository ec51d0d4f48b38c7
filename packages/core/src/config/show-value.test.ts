import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { quoteForShell } from './show-value.js';

const words = [
  'plain',
  '/tmp/ä ö/run',
  "it's",
  '',
  '$HOME',
  '`id`',
  '"quoted"',
  '*.tgz',
  'a;b',
  '~',
  '-x',
  'two\nlines',
  '#1',
  '\\',
];

it.skipIf(process.platform === 'win32')('a shell reads a quoted word as it is', () => {
  const command = `printf '%s\\0' ${words.map((word) => quoteForShell(word)).join(' ')}`;
  expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(words);
});

it('leaves a word that needs no quotes', () => {
  for (const word of ['/tmp/ä/run-1', 'ajet_torch.worker', '--nnodes=2', 'head:4000', 'zod@4.6.7'])
    expect(quoteForShell(word, 'linux')).toBe(word);
});

it('takes double quotes on Windows, and leaves backslashes', () => {
  expect(quoteForShell('C:\\runs\\one', 'win32')).toBe('C:\\runs\\one');
  expect(quoteForShell('C:\\my runs\\one', 'win32')).toBe('"C:\\my runs\\one"');
});
