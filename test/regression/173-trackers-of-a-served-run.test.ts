import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SwarmClient } from '@agentjet/swarm-client';
import { expect, it } from 'vitest';
import { onlyRun } from '../e2e/support/read-run.js';
import { startAjet, type Running } from '../e2e/support/run-ajet.js';
import { sayOnce } from '../swarm/say-once.js';

/** `ajet swarm serve` accepted `trainer_common.logger` but sent no metrics. */

const tasks = Array.from({ length: 8 }, (_none, index) => ({ taskId: `t${index}`, mainQuery: `Say ${index}` }));

const yaml = `ajet:
  experiment_name: e2e
  model: { path: nano }
  data: { train_batch_size: 4 }
  rollout: { num_repeat: 2, max_response_length_in_one_turn: 4 }
  trainer_common: { logger: [console, tensorboard], total_training_steps: 2, val_before_train: false, max_empty_steps: null }
  onnx: { num_threads: 1 }
`;

/** Counts how often the event files of a run contain the figure. */
function countOf(figure: string, run: string): number {
  const dir = path.join(run, 'tensorboard');
  const texts = existsSync(dir) ? readdirSync(dir).map((name) => readFileSync(path.join(dir, name), 'latin1')) : [];
  return texts.join('').split(figure).length - 1;
}

it('the trackers of the configuration follow a run while it is served', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'served-trackers-'));
  let server: Running | undefined;
  try {
    writeFileSync(path.join(dir, 'job.yaml'), yaml);
    server = startAjet(dir, ['swarm', 'serve', '--conf', 'job.yaml', '--port', '0', '--no-keys']);
    const [, url = ''] = await server.waitFor(/Serving the swarm at (\S+)/);
    await new SwarmClient({ url }).run(sayOnce, { tasks, parallel: 8 });
    const run = onlyRun(dir);
    await expect.poll(() => countOf('train/reward_mean', run)).toBe(2);
    server.child.kill('SIGTERM');
    expect((await server.finished).code).toBe(0);
    expect(countOf('train/reward_mean', run)).toBe(2);
  } finally {
    server?.child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
});
