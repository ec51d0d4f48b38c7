import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseJsonObject } from '@agentjet/core';
import { openRunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';
import { onlyRun } from '../e2e/support/read-run.js';
import { startAjet, type Running } from '../e2e/support/run-ajet.js';

/** `--take-over` took the store of a live server, but not its run folder, so neither of them trained any more. */

const pidOf = (file: string): unknown => parseJsonObject(readFileSync(file, 'utf8'))?.['pid'];

it('a server takes the run of a living one over and trains; that one says so and ends', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'taken-over-'));
  const servers: Running[] = [];
  const start = (...more: readonly string[]): Running => {
    const server = startAjet(dir, ['swarm', 'serve', '--conf', 'job.yaml', '--port', '0', '--no-keys', ...more]);
    servers.push(server);
    return server;
  };
  try {
    writeFileSync(path.join(dir, 'job.yaml'), 'ajet: { experiment_name: e2e, model: { path: nano } }\n');
    const first = start();
    await first.waitFor(/Serving the swarm at /);
    const run = onlyRun(dir);
    const claim = path.join(run, 'writer.json');
    await expect.poll(() => existsSync(path.join(run, 'model.json'))).toBe(true);
    const second = start('--run', run, '--take-over');
    const said = await first.finished;
    expect([said.code, said.stderr]).toEqual([1, expect.stringContaining('Another server has taken the store over')]);
    await expect.poll(() => pidOf(claim)).toBe(second.child.pid);
    const folder = await openRunFolder(run);
    await expect(folder.recordStep({ step: 1 })).rejects.toMatchObject({ code: 'run_in_use' });
    await folder.close(); // this does not release the folder of the new owner
    expect(pidOf(claim)).toBe(second.child.pid);
    const [, url = ''] = await second.waitFor(/Serving the swarm at (\S+)/);
    const stateOf = async (): Promise<unknown> =>
      parseJsonObject(await (await fetch(`${url}/swarm/v1/server`)).text())?.['state'];
    await expect.poll(stateOf).toBe('rolling');
    second.child.kill('SIGINT');
    expect((await second.finished).stdout).not.toContain('The model failed');
    expect(existsSync(claim)).toBe(false);
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
});
