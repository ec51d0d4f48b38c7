import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { configuration } from 'agentjet';
import { serveStandby } from '@agentjet/swarm-server';
import { expect, it } from 'vitest';
import { hasCurl } from './clients/curl-driver.js';
import { freePort } from './free-port.js';

const page = path.join(import.meta.dirname, '../../tutorial/swarm/http.md');

it.skipIf(!hasCurl)('the page of HTTP requests works from its first block to its last', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'http-page-'));
  const standby = await serveStandby({
    dir: path.join(dir, 'server'),
    port: await freePort(),
    composition: configuration,
    onNotice: () => undefined,
  });
  try {
    const blocks = [...(await readFile(page, 'utf8')).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block);
    expect(blocks).toHaveLength(12);
    const env = { ...process.env, URL: `${standby.url}/swarm/v1`, AJET_SWARM_KEY: standby.firstKey };
    const script = ['set -euxo pipefail', ...blocks].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: dir, env, timeout: 500_000 }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => {
        throw new Error(`${error.stdout.slice(-1000)}\n${error.stderr.slice(-1000)}`);
      },
    );
    const answers = stdout.split('\n');
    expect(answers.some((line) => line.includes('"state":"pooled"'))).toBe(true);
    expect(answers.some((line) => line.includes('"what":"configure"'))).toBe(true);
    expect(JSON.parse(answers.at(-2) ?? '')).toMatchObject({ wire: '1', step: 1, account: { trained: 2 } });
    expect(await readdir(dir)).toContain('model.safetensors');
  } finally {
    await standby.close();
    await rm(dir, { recursive: true, force: true });
  }
});
