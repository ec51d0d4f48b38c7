import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRunFolder, openRunFolder, type RunFolder } from '@agentjet/run-folder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTinyTaskBackbone } from '../testing/tiny-task.js';

let dir: string;
let run: RunFolder;
const stateOf = (step: number) => ({ step, policyVersion: step, groupsDrawn: step * 4 });

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'checkpoints-'));
  run = await createRunFolder({ experimentDir: dir, experimentName: 'lake', configYaml: 'ajet: {}\n' });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the checkpoints of a run', () => {
  it('save what the backbone loads', async () => {
    const backbone = createTinyTaskBackbone(1);
    const { dir: saved } = await run.save(backbone, stateOf(1));
    const other = createTinyTaskBackbone(2);
    const rows = [{ ids: Int32Array.of(0, 1, 2) }];
    expect(await other.logprobs(rows)).not.toEqual(await backbone.logprobs(rows));
    await other.load(saved);
    expect(await other.logprobs(rows)).toEqual(await backbone.logprobs(rows));
  });

  it.each([0, 4, 9, 17])('survive a kill %i ms into writing', async (delayMs) => {
    await run.save(createTinyTaskBackbone(1), stateOf(1));
    await run.close(); // from here on the other process writes
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', fileURLToPath(new URL('../testing/save-forever.ts', import.meta.url)), run.dir],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, TSX_TSCONFIG_PATH: path.join(import.meta.dirname, '../../../tsconfig.check.json') },
      },
    );
    const exited = new Promise((resolve) => child.once('exit', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    child.kill('SIGKILL');
    await exited;
    const reopened = await openRunFolder(run.dir);
    const checkpoint = await reopened.checkpoints.latest();
    if (checkpoint === undefined) throw new Error('The checkpoint is gone.');
    await createTinyTaskBackbone(2).load(checkpoint.dir);
    await reopened.rewind(checkpoint.state);
    expect(await readFile(path.join(reopened.checkpoints.dir, 'latest'), 'utf8')).toBe(
      `${path.basename(checkpoint.dir)}\n`,
    );
    expect((await readdir(reopened.checkpoints.dir)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});
