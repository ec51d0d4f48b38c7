import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';

import { attachCommand } from './attach-command.js';
import type { TorchBackbone } from './create-torch-backbone.js';
import { freePort, hasTorch, makeTinyModel, sftBatch, startTiny, testPython } from './testing-worker.js';

const launchers: ChildProcess[] = [];

/** Runs the printed line as a node would. `torchrun` is the test's interpreter, and HEAD is this machine. */
function launch(command: string, meetingPort: number): ChildProcess {
  const line = command
    .replace('torchrun', `exec ${testPython} -m torch.distributed.run`)
    .replace('HEAD:29500', `127.0.0.1:${meetingPort}`);
  const env = { ...process.env, OMP_NUM_THREADS: '1', GLOO_SOCKET_IFNAME: 'lo', CUDA_VISIBLE_DEVICES: '' };
  const child = spawn('bash', ['-c', `exec env ${line.replace('exec ', '')}`], {
    env,
    stdio: 'ignore',
    detached: true,
  });
  launchers.push(child);
  return child;
}

async function attachTwo(modelDir: string, sharedDir: string, numNodes = 2): Promise<TorchBackbone> {
  const meetingPort = await freePort();
  const onCommand = (command: string): void => [0, 1].forEach(() => void launch(command, meetingPort));
  return startTiny(modelDir, { numGpus: 1, attach: { numNodes, port: 0, sharedDir, onCommand } });
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once('exit', () => resolve());
  });

afterAll(() => {
  for (const { pid, exitCode, signalCode } of launchers)
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
});

test('the line for several nodes names where to connect, with which token, and how many processes', () => {
  const line = attachCommand({ address: 'head:4000', token: 'secret', numNodes: 2, gpusPerNode: 8 });
  expect(line).toMatch(/^AJET_CONNECT=head:4000 AJET_TOKEN=secret PYTHONPATH=.+torch'? PYTORCH/);
  expect(line).toContain('torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=HEAD:29500 ');
  expect(line).toMatch(/--nproc-per-node=8 --max-restarts=0 -m ajet_torch\.worker$/);
  expect(attachCommand({ address: 'head:4000', token: 'x', numNodes: 1, gpusPerNode: 8 })).toContain('--standalone');
});

test('the line can be pasted into a shell, wherever the worker is', () => {
  const dir = "/opt/it's ä ö/torch";
  const line = attachCommand({ address: 'head:4000', token: 'x', numNodes: 1, gpusPerNode: 1, dir });
  const pasted = `torchrun() { printenv PYTHONPATH; printf '%s\\n' "$@"; }; ${line}`;
  expect(execFileSync('sh', ['-c', pasted], { encoding: 'utf8' }).split('\n')).toEqual([
    dir,
    '--standalone',
    '--nproc-per-node=1',
    '--max-restarts=0',
    '-m',
    'ajet_torch.worker',
    '',
  ]);
});

describe.skipIf(!hasTorch)('a torch worker that launchers start', () => {
  test('on two nodes trains as one process does, and a node that dies ends the run with a way on', async () => {
    const modelDir = await makeTinyModel();
    const sharedDir = mkdtempSync(path.join(os.tmpdir(), 'ajet-attach-'));
    const [one, two] = await Promise.all([startTiny(modelDir), attachTwo(modelDir, sharedDir)]);
    expect(two.workerInfo).toMatchObject({ numRanks: 2, numNodes: 2 });
    expect(readdirSync(sharedDir)).toEqual([]);
    const rows = [{ ids: Int32Array.of(5, 6, 7, 8) }, { ids: Int32Array.of(3, 1, 4) }];
    for (let step = 0; step < 3; step++) {
      const [alone, together] = [await one.trainStep(sftBatch()), await two.trainStep(sftBatch())];
      expect(together.loss).toBeCloseTo(alone.loss, 5);
      expect(together.gradNorm).toBeCloseTo(alone.gradNorm ?? NaN, 5);
    }
    const [expected, found] = [await one.logprobs(rows), await two.logprobs(rows)];
    for (const [index, row] of found.entries())
      row.forEach((logprob, at) => expect(logprob).toBeCloseTo(expected[index]?.[at] ?? NaN, 4));
    const checkpoint = path.join(sharedDir, 'step-3');
    await two.save(checkpoint);
    const next = await two.trainStep(sftBatch());
    await one.load(checkpoint);
    expect((await one.trainStep(sftBatch())).loss).toBeCloseTo(next.loss, 5);
    await one.close();
    const waiting = two.engine.generate({
      promptIds: Int32Array.of(1, 2),
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 120, stopIds: [], seed: 1 },
    });
    const outcome = waiting.catch((error: unknown) => error);
    process.kill(-(launchers[1]?.pid ?? 0), 'SIGKILL');
    await outcome;
    await expect(two.trainStep(sftBatch())).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringContaining('last checkpoint') as unknown,
    });
    await two.close();
    await Promise.all(launchers.map(ended));
  });

  test('is refused if it has other processes than the configuration says', async () => {
    const sharedDir = mkdtempSync(path.join(os.tmpdir(), 'ajet-attach-'));
    const onCommand = (command: string): void => void launch(command.replace(/torchrun .* -m/, `${testPython} -m`), 0); // one process without a launcher
    const attached = startTiny(await makeTinyModel(), {
      numGpus: 2,
      attach: { numNodes: 1, port: 0, sharedDir, onCommand },
    });
    await expect(attached).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(/started 1 processes on 1 nodes.*num_nodes is 1.*n_gpus_per_node 2/) as unknown,
    });
  });
});
