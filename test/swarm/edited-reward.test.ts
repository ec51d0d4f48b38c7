import type { Evaluated, TrainerPort } from '@agentjet/swarm-server/swarm';
import type { SwarmServer, SwarmServerOptions } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { claimRequestSchema, endRequestSchema, type ClaimedEpisode } from '@agentjet/swarm-wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/** Edits the code of the reward while an evaluation is open. */

let servers = new MemoryServers();
let recorded: (Evaluated & { readonly step: number })[] = [];
let notices: string[] = [];
beforeEach(() => {
  servers = new MemoryServers();
  recorded = [];
  notices = [];
});
afterEach(() => servers.close());

async function openTrainer(): Promise<TrainerPort> {
  const trainer = await servers.trainer.open();
  return { ...trainer, recordEvaluation: async (step, evaluated) => void recorded.push({ step, ...evaluated }) };
}

const settings = {
  ...testSettings,
  numEvaluationTasks: Infinity,
  evaluatesFirst: true,
  evaluationPatienceMs: 600_000,
};

const start = (options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> =>
  servers.start({ settings, openTrainer, onNotice: (message) => void notices.push(message), ...options });

async function tell({ swarm }: SwarmServer, share?: string): Promise<void> {
  const shared = share === undefined ? {} : { share };
  const toTasks = (ids: readonly string[]) => ids.map((task_id, index) => ({ task_id, index, hash: 'h' }));
  const held = toTasks(['v0', 'v1', 'v2']);
  await swarm?.addTasks({ tasks: held, total: held.length, split: 'evaluation', ...shared });
  const tasks = toTasks(['t0', 't1']);
  await swarm?.addTasks({ tasks, total: tasks.length, ...shared });
}

let numClaims = 0;

async function claim(
  { swarm }: SwarmServer,
  client: string,
  { revision, count = 3, life = 'one' }: { readonly revision: string; readonly count?: number; readonly life?: string },
): Promise<readonly ClaimedEpisode[]> {
  const claim_id = `claim-${numClaims++}`;
  const request = claimRequestSchema.parse({ claim_id, client, life, count, revision });
  return (await swarm?.claim(request))?.episodes ?? [];
}

const end = ({ swarm }: SwarmServer, client: string, episode: ClaimedEpisode | undefined, more: object) =>
  swarm?.end(episode?.episode_id ?? '', endRequestSchema.parse({ client, status: 'completed', ...more }));

const tasksOf = (episodes: readonly ClaimedEpisode[]): readonly string[] => episodes.map(({ task_id: id }) => id);
const rewardsOf = ({ groups }: Evaluated): readonly (number | null)[] =>
  groups.flatMap(({ attempts }) => attempts.map(({ reward }) => reward));

it('a client with a new revision takes over the open evaluation at once, what has ended too', async () => {
  const server = await start();
  await tell(server);
  const old = await claim(server, 'old', { revision: 'r1' });
  expect(tasksOf(old)).toEqual(['v0', 'v1', 'v2']);
  await end(server, 'old', old[0], { reward: 0 });

  const taken = await claim(server, 'new', { revision: 'r2' });
  expect(tasksOf(taken)).toEqual(['v0', 'v1', 'v2']);
  await expect(end(server, 'old', old[1], { reward: 0 })).rejects.toMatchObject({ code: 'gone' });
  for (const episode of taken) await end(server, 'new', episode, { reward: 1 });

  await expect.poll(() => recorded).toHaveLength(1);
  expect(recorded.map(rewardsOf)).toEqual([[1, 1, 1]]);
  expect(server.swarm?.context.ledger.state.evaluations.get(0)).toMatchObject({ restsOn: 3 });
});

it('the client that still has the old revision does not take the evaluation back', async () => {
  const server = await start();
  await tell(server);
  await claim(server, 'old', { revision: 'r1' });
  const taken = await claim(server, 'new', { revision: 'r2', count: 2 });
  expect(tasksOf(taken)).toEqual(['v0', 'v1']);
  const back = await claim(server, 'old', { revision: 'r1' });
  expect(back.filter(({ purpose }) => purpose === 'evaluation')).toEqual([]);
  expect(tasksOf(await claim(server, 'new', { revision: 'r2', count: 1 }))).toEqual(['v2']);
});

it('an edit that is undone takes over as soon as no client has the edited reward', async () => {
  const server = await start();
  await tell(server);
  for (const [life, revision] of ['r1', 'r2', 'r1'].entries()) {
    const taken = await claim(server, 'me', { revision, life: String(life) });
    expect(tasksOf(taken), `${life}`).toEqual(['v0', 'v1', 'v2']);
  }
});

it('a client that came before the tasks were added, and was killed, does not hold up the evaluation', async () => {
  const server = await start();
  expect(await claim(server, 'me', { revision: 'r1', life: 'killed' })).toEqual([]);
  await tell(server);
  expect(tasksOf(await claim(server, 'me', { revision: 'r2', life: 'two' }))).toEqual(['v0', 'v1', 'v2']);
});

it('groups that an operator supersedes are evaluated again by the new revision', async () => {
  const server = await start();
  await tell(server);
  const old = await claim(server, 'old', { revision: 'r1' });
  for (const episode of old.slice(0, 2)) await end(server, 'old', episode, { reward: 0 });
  await server.swarm?.supersede('r2');
  const taken = await claim(server, 'new', { revision: 'r2' });
  expect(tasksOf(taken)).toEqual(['v0', 'v1', 'v2']);
  for (const episode of taken) await end(server, 'new', episode, { reward: 1 });
  await expect.poll(() => recorded.map(rewardsOf)).toEqual([[1, 1, 1]]);
});

it('an evaluation goes to the new revision after a restart of the server as well', async () => {
  const first = await start();
  await tell(first);
  await claim(first, 'old', { revision: 'r1' });
  await first.close();
  const server = await start();
  expect(tasksOf(await claim(server, 'new', { revision: 'r2' }))).toEqual(['v0', 'v1', 'v2']);
});

it('an evaluation whose rewards are of two revisions is not used, and says so', async () => {
  const server = await start();
  await tell(server);
  const episodes = await claim(server, 'me', { revision: 'r1' });
  await end(server, 'me', episodes[0], { reward: 0 });
  await end(server, 'me', episodes[1], { reward: 1, revision: 'edited' });
  await end(server, 'me', episodes[2], { reward: 1, revision: 'edited' });
  await expect.poll(() => server.swarm?.context.ledger.state.evaluations.size).toBe(1);
  expect(recorded).toEqual([]);
  expect(notices.join('\n')).toMatch(/evaluation after step 0 is not used.*two revisions.*"edited".*"r1"/s);
});

it('says how many places nobody has filled when the patience is over', async () => {
  const server = await start({ settings: { ...settings, evaluationPatienceMs: 200 } });
  await tell(server);
  const [first] = await claim(server, 'me', { revision: 'r1' });
  await end(server, 'me', first, { reward: 1 });
  await expect.poll(() => recorded).toHaveLength(1);
  expect(notices.join('\n')).toContain('The evaluation after step 0 has waited for 0.2 s');
  expect(notices.join('\n')).toContain('2 of 3 places');
});
