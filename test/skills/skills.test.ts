import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { shellOf } from './shell-of.js';

const root = path.resolve(import.meta.dirname, '../../skills');
const pages = readdirSync(root).map((name) => ({
  name,
  page: readFileSync(path.join(root, name, 'SKILL.md'), 'utf8'),
}));

describe('a skill', () => {
  it.each(pages)('$name says in its head what it is for, and has commands to run', ({ name, page }) => {
    const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(page) ?? [];
    const about: unknown = parse(head);
    expect(about).toMatchObject({ name, description: expect.stringMatching(/^.{40,1024}$/) });
    expect(body.trim()).toMatch(/^# /);
    expect(shellOf(page).commands).toBeGreaterThan(0);
  });

  it('is a script of all its sh blocks, without those of other kinds', () => {
    const page = 'a\n```sh\nnpx ajet x\n# why\n```\n```ts\nno\n```\n```sh\nls\n```\n';
    expect(shellOf(page)).toEqual({ script: 'npx ajet x\n# why\nls\n', commands: 2 });
  });
});
