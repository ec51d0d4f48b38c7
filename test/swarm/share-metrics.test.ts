import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration } from 'agentjet';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { expect, it } from 'vitest';
import { sayOnce } from './say-once.js';

const tasks = Array.from({ length: 8 }, (_none, index) => ({ taskId: `t${index}`, mainQuery: `Say ${index}` }));

it('the metrics of a step say what each share should have had of its batch, and what it had', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'share-metrics-'));
  const config = configuration.create({
    experimentDir: dir,
    model: { path: 'nano' },
    swarm: {
      shares: [
        { name: 'lake', part: 0.75 },
        { name: 'sums', part: 0.25 },
      ],
      sharePatience: 1,
    },
    data: { trainBatchSize: 4 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { totalTrainingSteps: 2, valBeforeTrain: false, maxEmptySteps: null },
    onnx: { numThreads: 1 },
  });
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const { url, firstKey } = served.server;
    await new SwarmClient({ url, key: firstKey, share: 'lake' }).run(sayOnce, { tasks, parallel: 8 });
    await expect.poll(() => served.server.swarm?.describe().version).toBe(2);
    const lines = readFileSync(path.join(served.runDir, 'metrics.jsonl'), 'utf8').trim().split('\n');
    const lent = { 'share/lake/asked': 3, 'share/lake/got': 4, 'share/sums/asked': 1, 'share/sums/got': 0 };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([lent, lent]);
  } finally {
    await served.close();
    await rm(dir, { recursive: true, force: true });
  }
});
