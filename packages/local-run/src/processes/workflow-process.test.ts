import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { createConfig } from '@agentjet/inputs/testing';
import { WorkflowProcess, type RemoteRun } from './workflow-process.js';

const options = { hasReadersEnvironment: false, numProcesses: 1 };
const run: RemoteRun = {
  task: { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
  order: { episodeId: 'e', repeatIndex: 0, seed: 0, attempt: 1, timeoutMs: 1000 },
  signal: undefined,
  createModel: () => {
    throw new Error('It is not asked.');
  },
};

it('says that a process cannot be started, and closes', async () => {
  const { execPath } = process;
  process.execPath = '/no/such/node';
  try {
    const child = new WorkflowProcess(new URL(import.meta.url), { config: createConfig({}), options, name: 'w' });
    await expect(child.run(run)).rejects.toThrow('ended before it could run a workflow');
    expect(child.isGone).toBe(true);
    await child.close();
  } finally {
    process.execPath = execPath;
  }
});

it('notifies a process once that the judge of its episode is back, as long as the episode runs', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'judged-'));
  const listeners = new Set<() => void>();
  const onJudgeBack = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  try {
    const file = path.join(dir, 'judged.mjs');
    writeFileSync(
      file,
      `import { createBirpc } from ${JSON.stringify(import.meta.resolve('birpc'))};
      const said = [];
      let end;
      const run = createBirpc(
        {
          open: () => {},
          close: () => process.exit(0),
          run: (_task, { episodeId }) => {
            for (const message of ['no quota', 'still none']) run.judgeAway.asEvent(episodeId, message);
            return new Promise((resolve) => (end = resolve));
          },
          judgeBack: (episodeId) => {
            said.push(episodeId);
            setImmediate(() => end({ said }));
          },
        },
        { on: (listener) => void process.on('message', listener), post: (message) => void process.send(message) },
      );`,
    );
    const child = new WorkflowProcess(pathToFileURL(file), { config: createConfig({}), options, name: 'w' });
    let numAway = 0;
    const judgeIsAway = (): void => {
      if (++numAway === 2) for (const wake of listeners) wake();
    };
    const keeper = { scorePatienceMs: null, judgeIsAway, onJudgeBack };
    expect(await child.run({ ...run, keeper })).toEqual({ said: ['e'] });
    expect(listeners.size).toBe(0);
    await child.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

it('gives a process up whose module is never imported, and says so', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'endless-'));
  try {
    const file = path.join(dir, 'endless.mjs');
    writeFileSync(file, 'setInterval(() => undefined, 1000); await new Promise(() => undefined);');
    const started = { config: createConfig({}), options, name: 'w', startTimeoutMs: 200 };
    const child = new WorkflowProcess(pathToFileURL(file), started);
    await expect(child.run(run)).rejects.toMatchObject({
      code: 'process_failed',
      message: expect.stringContaining('it was not ready after 0.2 s: the import of a module'),
    });
    await child.close();
    expect(child.isGone).toBe(true);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
