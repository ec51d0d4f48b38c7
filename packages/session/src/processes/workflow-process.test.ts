import { expect, it } from 'vitest';
import { createConfig } from '../testing/test-composition.js';
import { WorkflowProcess } from './workflow-process.js';

it('says that a process cannot be started, and closes', async () => {
  const { execPath } = process;
  process.execPath = '/no/such/node';
  try {
    const options = { hasReadersEnvironment: false, numProcesses: 1 };
    const child = new WorkflowProcess(new URL(import.meta.url), { config: createConfig({}), options, name: 'w' });
    const run = {
      task: { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
      order: { episodeId: 'e', repeatIndex: 0, seed: 0, attempt: 1, timeoutMs: 1000 },
      signal: undefined,
      createModel: () => {
        throw new Error('It is not asked.');
      },
      judgeIsAway: () => undefined,
    };
    await expect(child.run(run)).rejects.toThrow('ended before it could run a workflow');
    expect(child.isGone).toBe(true);
    await child.close();
  } finally {
    process.execPath = execPath;
  }
});
