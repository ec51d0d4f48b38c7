import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { jobs } from './nightly-job.js';

it('each job is a file here, and AGENTS.md names them all in this order', () => {
  const names = Object.keys(jobs);
  expect(names.filter((name) => !existsSync(path.join(import.meta.dirname, `${name}.ts`)))).toEqual([]);
  const page = readFileSync(path.resolve(import.meta.dirname, '../../AGENTS.md'), 'utf8');
  const listed = /^\| `\.ci\/nightly \[job \.\.\.\]` \| .*?\((.*?)\)/m.exec(page)?.[1] ?? '';
  expect(listed.split(', ')).toEqual(names.map((name) => `\`${name}\``));
});
