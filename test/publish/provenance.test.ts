import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { tryPublishing } from './try-publishing.js';

const root = path.resolve(import.meta.dirname, '../..');
let dir = '';
/** Makes a repository with one package, and an npm that only notes what it would publish. */
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'provenance-'));
  for (const name of ['publish.mjs', 'workspaces.mjs', 'refuse-old-node.mjs'])
    cpSync(path.join(root, '.ci', name), path.join(dir, '.ci', name));
  writeFileSync(path.join(dir, '.ci/arrows.mjs'), 'export const arrows = {};\n');
  mkdirSync(path.join(dir, 'packages/one'), { recursive: true });
  const write = (name: string, value: unknown): void => writeFileSync(path.join(dir, name), JSON.stringify(value));
  write('package.json', { version: '1.2.3', workspaces: ['packages/*'] });
  write('packages/one/package.json', { name: 'one', version: '1.2.3' });
  const npm = '#!/bin/sh\nif [ "$1" = view ]; then echo E404 >&2; exit 1; fi\necho "$@" > published\n';
  writeFileSync(path.join(dir, 'npm'), npm, { mode: 0o755 });
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

/** Returns the arguments of `npm publish`. */
function publish(env: Readonly<Record<string, string>>): readonly string[] {
  const PATH = `${dir}${path.delimiter}${process.env['PATH'] ?? ''}`;
  execFileSync(process.execPath, [path.join(dir, '.ci/publish.mjs')], { env: { PATH, ...env }, stdio: 'pipe' });
  return readFileSync(path.join(dir, 'published'), 'utf8').trim().split(' ');
}

/** The variables of a workflow that may ask for tokens of its identity. */
const identity = {
  GITHUB_ACTIONS: 'true',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.invalid',
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'a token',
};

it.skipIf(process.platform === 'win32')('publishes with provenance in a workflow that has an identity', () => {
  expect(publish({})).toEqual(expect.arrayContaining(['publish', './packages/one', '--access', 'public']));
  expect(publish({})).not.toContain('--provenance');
  const workflow = {
    ...identity,
    GITHUB_SERVER_URL: 'https://git.invalid',
    GITHUB_REPOSITORY: 'us/ours',
  };
  expect(publish(workflow)).toContain('--provenance');
  expect(JSON.parse(readFileSync(path.join(dir, 'packages/one/package.json'), 'utf8'))).toMatchObject({
    repository: { url: 'git+https://git.invalid/us/ours.git', directory: 'packages/one' },
  });
});

it.skipIf(process.platform === 'win32')('hides the identity from every command of a trial', async () => {
  for (const name of ['node', 'npm', 'npx'])
    writeFileSync(path.join(dir, name), `#!/bin/sh\necho "as $0 $1" >> ${dir}/ran\nenv >> ${dir}/ran\n`, {
      mode: 0o755,
    });
  const inherited = { ...identity, PATH: `${dir}${path.delimiter}${process.env['PATH'] ?? ''}` };
  for (const [name, value] of Object.entries(inherited)) vi.stubEnv(name, value);
  await tryPublishing(() => undefined);
  const ran = readFileSync(path.join(dir, 'ran'), 'utf8').split('\n');
  const commands = ran.flatMap((line) => /^as .*\/(\w+ \S+)$/.exec(line)?.[1] ?? []);
  expect(new Set(commands)).toEqual(new Set(['npm config', 'node .ci/publish.mjs', 'npm install', 'npx ajet']));
  expect(ran.filter((line) => Object.keys(identity).some((name) => line.startsWith(`${name}=`)))).toEqual([]);
});
