import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
let dir = '';
/** A repository with one package, and an npm that only writes down what it is to publish. */
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'provenance-'));
  for (const name of ['publish.mjs', 'workspaces.mjs'])
    cpSync(path.join(root, '.ci', name), path.join(dir, '.ci', name));
  writeFileSync(path.join(dir, '.ci/arrows.mjs'), 'export const arrows = {};\n');
  mkdirSync(path.join(dir, 'packages/one'), { recursive: true });
  const write = (name: string, value: unknown): void => writeFileSync(path.join(dir, name), JSON.stringify(value));
  write('package.json', { version: '1.2.3', workspaces: ['packages/*'] });
  write('packages/one/package.json', { name: 'one', version: '1.2.3' });
  const npm = '#!/bin/sh\nif [ "$1" = view ]; then echo E404 >&2; exit 1; fi\necho "$@" > published\n';
  writeFileSync(path.join(dir, 'npm'), npm, { mode: 0o755 });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The arguments of `npm publish`. */
function publish(env: Readonly<Record<string, string>>): readonly string[] {
  const PATH = `${dir}${path.delimiter}${process.env['PATH'] ?? ''}`;
  execFileSync(process.execPath, [path.join(dir, '.ci/publish.mjs')], { env: { PATH, ...env }, stdio: 'pipe' });
  return readFileSync(path.join(dir, 'published'), 'utf8').trim().split(' ');
}

it.skipIf(process.platform === 'win32')('publishes with provenance in a workflow that has an identity', () => {
  expect(publish({})).toEqual(expect.arrayContaining(['publish', './packages/one', '--access', 'public']));
  expect(publish({})).not.toContain('--provenance');
  const workflow = {
    GITHUB_ACTIONS: 'true',
    ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.invalid',
    GITHUB_SERVER_URL: 'https://git.invalid',
    GITHUB_REPOSITORY: 'us/ours',
  };
  expect(publish(workflow)).toContain('--provenance');
  expect(JSON.parse(readFileSync(path.join(dir, 'packages/one/package.json'), 'utf8'))).toMatchObject({
    repository: { url: 'git+https://git.invalid/us/ours.git', directory: 'packages/one' },
  });
});
