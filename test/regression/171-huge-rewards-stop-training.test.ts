import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration } from 'agentjet';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { endRequestSchema, parseRequest, type ClaimedEpisode } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, expect, it } from 'vitest';

/**
 * Two finite rewards of 1.7e308 and 1.6e308 in one group were accepted. Their sum is not finite, so the advantages of
 * the group were not finite either. The model failed three times and training stopped, also after every restart.
 */

let dir = '';
let swarm: ServedSwarm | undefined;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'huge-rewards-'));
});
afterEach(async () => {
  await swarm?.close();
  swarm = undefined;
  rmSync(dir, { recursive: true, force: true });
});

const settings = {
  model: { path: 'nano' },
  data: { trainBatchSize: 2 },
  rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
  trainerCommon: { totalTrainingSteps: 1, valBeforeTrain: false, testFreq: 0, maxEmptySteps: null },
  onnx: { numThreads: 1 },
} as const;

const end = { client: 'me', status: 'completed', reward: 0 } as const;

async function post(route: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${swarm?.server.url}${route}`, { method: 'POST', body: JSON.stringify(body) });
  return response.json();
}

/** Claims one episode and lets its agent get one answer. */
async function runOne(index: number): Promise<ClaimedEpisode> {
  const claim = { claim_id: `c${index}`, client: 'me', life: '1', wait_seconds: 20 };
  const { episodes } = (await post('/swarm/v1/episodes', claim)) as { readonly episodes: readonly ClaimedEpisode[] };
  const [episode] = episodes;
  if (episode === undefined) throw new Error('There is no episode.');
  await fetch(`${episode.base_url}/main/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${episode.key}` },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return episode;
}

it('refuses them at the wire, wherever they come', () => {
  const bodies = [
    { reward: 1.7e308 },
    { rewards: { wolf: -1.7e308 } },
    { turn_rewards: [{ agent: 'main', turn: 0, value: 2e12 }] },
  ];
  for (const more of bodies)
    expect(() => parseRequest(endRequestSchema, { ...end, ...more })).toThrow(/from -1e12 to 1e12/);
  expect(parseRequest(endRequestSchema, { ...end, reward: -1e12 }).reward).toBe(-1e12);
});

it('leaves a group out that a store has them of, and trains the others', async () => {
  const config = configuration.create({ ...settings, experimentDir: dir, experimentName: 'swarm' });
  const open = { config, composition: configuration, onNotice: () => undefined, app: { needsKey: false } };
  swarm = await serveSwarm(open);
  const tasks = [0, 1].map((index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await post('/swarm/v1/tasks', { tasks, total: 2 });
  for (let index = 0; index < 4; index++) {
    const { episode_id, task_id, place } = await runOne(index);
    const reward = task_id === 't0' ? [1.7e308, 1.6e308][place] : place;
    const defaults = { is_success: null, metadata: {}, log_metrics: {} };
    // End the episode without HTTP, so that the reward is not checked.
    await swarm.server.swarm?.end(episode_id, { ...end, ...defaults, reward: reward ?? 0 });
  }
  await expect.poll(() => swarm?.server.swarm?.describe().version).toBe(1);
  const { state, account, dropped_by_reason: dropped } = swarm.server.swarm?.describe() ?? {};
  expect(state).not.toBe('failed');
  expect([account, dropped]).toMatchObject([{ trained: 2, dropped: 2 }, { non_finite_gradient: 2 }]);
});
