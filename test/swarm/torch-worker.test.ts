import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration, type Task, type Tuner } from 'agentjet';
import { foldStore, LmdbStore } from '@agentjet/ledger';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { expect, it } from 'vitest';

/** The GPU worker's Python, here on the CPU. `npm run setup:torch` makes it. */
const python = process.env['AJET_TORCH_PYTHON'] ?? path.resolve('trainer/torch/.venv/bin/python');

/** Returns the processes that run the torch worker and were started by this process. */
function findWorkers(): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('ajet_torch');
    } catch {
      return false; // it has ended in the meantime
    }
  });
}

const tasks = Array.from({ length: 12 }, (_none, index) => ({ taskId: `t${index}`, mainQuery: `Say ${index}` }));

async function sayLetters(task: Task, tuner: Tuner): Promise<{ readonly reward: number }> {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { reward: (message.content.match(/[a-z]/gi)?.length ?? 0) / 8 };
}

it.skipIf(process.platform !== 'linux' || !existsSync(python))(
  'makes the steps since the checkpoint again on torch after its worker was killed, and samples nothing again',
  async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'swarm-torch-'));
    const notices: string[] = [];
    const config = configuration.create({
      experimentDir: dir,
      experimentName: 'torch',
      backbone: 'torch',
      model: { path: 'nano' },
      data: { trainBatchSize: 2 },
      rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 8 },
      trainerCommon: { saveFreq: 0, totalEpochs: 1, valBeforeTrain: false, maxEmptySteps: null },
    });
    const served = await serveSwarm({
      config,
      composition: configuration,
      port: 0,
      onNotice: (message) => void notices.push(message),
    });
    try {
      const { server } = served;
      const swarm = new SwarmClient({ url: server.url, key: server.firstKey });
      let hasKilled = false;
      const running = swarm.run(sayLetters, {
        tasks,
        parallel: 4,
        onEvent: () => {
          if (hasKilled || (server.swarm?.describe().step ?? 0) < 2) return;
          hasKilled = true;
          for (const pid of findWorkers()) process.kill(pid, 'SIGKILL');
        },
      });
      const result = await running;
      expect(hasKilled).toBe(true);
      expect(result).toMatchObject({ failed: 0, outages: 0, gone: 0, completed: 24 });
      const isDone = { acknowledged: 24, assigned: 0, pooled: 0, unscored: 0, running: 0, unfinished: 0 };
      await expect.poll(() => server.swarm?.describe().account, { timeout: 240_000 }).toMatchObject(isDone);
    } finally {
      await served.close();
      await expectSound(served.runDir);
      await rm(dir, { recursive: true, force: true });
    }
    expect(notices.join('\n')).toMatch(/worker|model/i);
  },
);

/** Expects that each step was decided once, and that recomputed weights have a new incarnation. */
async function expectSound(runDir: string): Promise<void> {
  const store = await LmdbStore.open(path.join(runDir, 'ledger'), { isReadOnly: true });
  const { state } = foldStore(store);
  await store.close();
  expect(state).toMatchObject({ step: 6, incarnation: 1 });
  const reasons = new Set([...state.episodes.values()].map(({ reason }) => reason));
  expect([...reasons].filter((reason) => reason !== undefined && reason !== 'nothing_to_train')).toEqual([]);
  const held = [...state.manifests.values()].flatMap(({ groups }) => groups.flatMap(({ episodes }) => episodes));
  expect(new Set(held.map(({ episodeId }) => episodeId)).size).toBe(24);
  expect(held).toHaveLength(24);
  const lines = readFileSync(path.join(runDir, 'metrics.jsonl'), 'utf8').trim().split('\n');
  const metrics = lines.map((line) => JSON.parse(line) as Readonly<Record<string, number>>);
  expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
  const [after = {}, ...others] = metrics.filter((row) => 'logprob_gap_before_redo' in row);
  expect(others).toEqual([]);
  const { logprob_gap_max: gap, logprob_gap_before_redo: before = Number.NaN } = after;
  expect(gap).toBeLessThanOrEqual(2 * Math.max(before, 1e-4)); // below 1e-4 a gap is shown as 0
}
