import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serveSwarm } from '@agentjet/swarm-server';
import { configuration } from 'agentjet';
import { afterEach, beforeEach, expect, it } from 'vitest';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'refused-server-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it.each([
  [false, 'keys_needed'],
  [true, 'tls_needed'],
])('a server that may not listen beyond loopback leaves no run folder, keys: %s', async (needsKey, code) => {
  const config = configuration.create({ model: { path: 'nano' }, experimentDir: dir, experimentName: 'swarm' });
  const open = { config, composition: configuration, isNew: true, hostname: '0.0.0.0', onNotice: () => undefined };
  await expect(serveSwarm({ ...open, app: { needsKey } })).rejects.toMatchObject({ code });
  expect(readdirSync(dir)).toEqual([]);
});
