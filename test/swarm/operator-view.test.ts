import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { SwarmServer, SwarmServerOptions } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { SwarmOperator, SwarmClient, type ServerAnswer } from '@agentjet/swarm-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/** These tests check what operators and their tools see of a server. */

let servers = new MemoryServers();
let commander = '';

beforeEach(() => {
  servers = new MemoryServers();
});
afterEach(() => servers.close());

async function start(options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> {
  const server = await servers.start(options);
  commander = server.firstKey ?? commander;
  return server;
}

function ask({ url }: SwarmServer, method: string, route: string, body?: unknown): Promise<Response> {
  return fetch(`${url}/swarm/v1${route}`, {
    method,
    headers: { authorization: `Bearer ${commander}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function send(server: SwarmServer, method: string, route: string, body?: unknown) {
  return (await (await ask(server, method, route, body)).json()) as Readonly<Record<string, unknown>>;
}

async function postTasks(server: SwarmServer, count = 4): Promise<void> {
  const tasks = Array.from({ length: count }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await send(server, 'POST', '/tasks', { tasks, total: count });
}

async function claim(server: SwarmServer, count = 1, client = 'lab'): Promise<readonly string[]> {
  const claim_id = `c${Math.random()}`;
  const { episodes } = await send(server, 'POST', '/episodes', { claim_id, client, life: 'one', count });
  return (episodes as readonly { readonly episode_id: string }[]).map(({ episode_id }) => episode_id);
}

async function end(server: SwarmServer, id: string, more: object = {}): Promise<void> {
  const body = { client: 'lab', status: 'completed', reward: 1, is_success: true, ...more };
  expect((await ask(server, 'POST', `/episodes/${id}/end`, body)).status).toBe(200);
}

const told = async (server: SwarmServer): Promise<ServerAnswer> =>
  (await send(server, 'GET', '/server')) as unknown as ServerAnswer;

async function wait(server: SwarmServer): Promise<readonly [string, string]> {
  const { reason, text } = (await told(server)).waits_for ?? { reason: '', text: '' };
  return [reason, text];
}

describe('what a step waits for', () => {
  it('is said in words from the first task to the last step', async () => {
    const server = await start({ settings: { ...testSettings, maxSteps: 1 } });
    expect(await wait(server)).toEqual([
      'tasks',
      'Step 1 waits for 2 more groups, and no client has sent all tasks yet.',
    ]);
    await postTasks(server);
    expect(await wait(server)).toEqual(['clients', 'Step 1 waits for 2 more groups, and no client is connected.']);
    const [first = '', second = ''] = await claim(server, 2, 'la\u001b[2Jb');
    expect(await wait(server)).toEqual([
      'groups',
      'Step 1 waits for 2 more groups; 2 episodes are open, the oldest for 0.0 s, of client "la␛[2Jb".',
    ]);
    await end(server, first, { client: 'la\u001b[2Jb' });
    await end(server, second, { client: 'la\u001b[2Jb', reward: null });
    expect(await wait(server)).toEqual([
      'rewards',
      'Step 1 waits for 2 more groups; 1 episode waits for a reward from a scorer.',
    ]);
    const [third = '', fourth = ''] = await claim(server, 2);
    await end(server, third);
    expect((await told(server)).places).toEqual({ filled: 2, total: 4 });
    await send(server, 'POST', '/run/pause');
    expect(await wait(server)).toEqual(['paused', 'Step 1 waits for the end of the pause: "ajet swarm resume".']);
    await send(server, 'POST', '/run/resume');
    await end(server, fourth, { reward: 0, is_success: false });
    expect(await wait(server)).toEqual([
      'rewards',
      'Step 1 waits for 1 more group; 1 episode waits for a reward from a scorer.',
    ]);
    const { groups } = (await send(server, 'GET', '/groups?state=unscored')) as {
      readonly groups: readonly { readonly group_id: string }[];
    };
    const rewards = [first, second].map((episode_id) => ({ episode_id, reward: 1 }));
    await send(server, 'PUT', `/groups/${groups[0]?.group_id}/rewards`, { revision: 'r', replaces: null, rewards });
    await expect.poll(() => wait(server)).toEqual(['complete', 'All 1 steps are made.']);
    const { newest_step: newest } = await told(server);
    expect(newest).toMatchObject({ step: 1, episodes: 4, reward: 0.75, age_seconds: 0 });
    expect(newest?.success).toBeCloseTo(0.5, 1);
  });

  it('grows older while nothing changes, and begins anew with another reason', async () => {
    const server = await start();
    await postTasks(server);
    const since = async (): Promise<number> => (await told(server)).waits_for?.since_seconds ?? -1;
    await expect.poll(since).toBeGreaterThan(0.1);
    await send(server, 'POST', '/run/pause');
    expect(await since()).toBeLessThan(0.1);
  });
});

it('clients and running episodes are listed with their ages', async () => {
  const server = await start({ name: 'lake/1' });
  await postTasks(server);
  const [id] = await claim(server, 1);
  const operator = new SwarmOperator({ url: server.url, key: commander });
  expect(await operator.clients()).toEqual({
    clients: [
      {
        client: 'lab',
        revision: '',
        shares: ['default'],
        running: 1,
        claims_waiting: 0,
        silent_seconds: expect.any(Number),
      },
    ],
  });
  const { episodes } = await operator.episodes({ state: 'running' });
  expect(episodes).toMatchObject([{ episode_id: id, client: 'lab', seconds: 0 }]);
  expect(await operator.server()).toMatchObject({ run: 'lake/1', clients: 1, uptime_seconds: expect.any(Number) });
});

describe('readyz', () => {
  const ready = async ({ url }: SwarmServer): Promise<readonly [number, unknown]> => {
    const response = await fetch(`${url}/swarm/v1/readyz`);
    return [response.status, await response.json()];
  };

  it('is 503 while the server drains, until it draws tasks again', async () => {
    const server = await start();
    expect(await ready(server)).toEqual([200, { ok: true, state: 'rolling' }]);
    await send(server, 'POST', '/run/drain');
    expect(await ready(server)).toEqual([503, { ok: false, state: 'draining' }]);
    await send(server, 'POST', '/run/start');
    expect(await ready(server)).toEqual([200, { ok: true, state: 'rolling' }]);
    const finishing = server.finish(0); // as after SIGTERM
    expect(await ready(server)).toEqual([503, { ok: false, state: 'draining' }]);
    await finishing;
  });

  it('is 503 after training has failed', async () => {
    const server = await start();
    server.swarm?.stopTraining('The device is gone.');
    expect(await ready(server)).toEqual([503, { ok: false, state: 'failed' }]);
  });
});

it('server, claims and clients agree that a run is complete, even if it drains', async () => {
  const server = await start({ settings: { ...testSettings, maxSteps: 1 } });
  const tasks = ['a', 'b', 'c'].map((taskId) => ({ taskId, mainQuery: taskId }));
  const client = new SwarmClient({ url: server.url, key: commander, client: 'lab' });
  const run = () => client.run(async () => ({ reward: 1 }), { tasks, parallel: 2 });
  expect((await run()).reason).toBe('complete');
  expect(await told(server)).toMatchObject({ state: 'complete', waits_for: { reason: 'complete' } });
  await send(server, 'POST', '/run/drain');
  expect((await told(server)).state).toBe('complete');
  expect(await run()).toMatchObject({ reason: 'complete', ended: 0 });
});

/** Parses the text format of Prometheus strictly. Throws for a malformed line. */
function parseMetrics(
  text: string,
): ReadonlyMap<string, { readonly type: string; readonly samples: Map<string, number> }> {
  expect(text.endsWith('\n')).toBe(true);
  const families = new Map<string, { type: string; samples: Map<string, number> }>();
  let family = '';
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name, rest = ''] = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP' && name !== undefined) {
      expect(families.has(name)).toBe(false);
      families.set(name, { type: '', samples: new Map() });
      family = name;
    } else if (kind === 'TYPE') {
      const found = families.get(family);
      expect([name, found?.type]).toEqual([family, '']);
      if (found !== undefined) found.type = rest;
    } else {
      const label = '[a-z_]+="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
      const [, sample = '', , value = ''] =
        new RegExp(`^(([a-z_]+)(?:\\{${label}(?:,${label})*\\})?) (\\S+)$`).exec(line) ?? [];
      expect(sample, line).toMatch(new RegExp(`^${family}(_bucket|_sum|_count)?(\\{|$)`));
      expect(Number.isNaN(Number(value.replace('+Inf', 'Infinity'))), line).toBe(false);
      expect(families.get(family)?.samples.has(sample)).toBe(false);
      families.get(family)?.samples.set(sample, Number(value));
    }
  }
  return families;
}

async function serveOneStep(): Promise<SwarmServer> {
  const disks = { run: process.cwd(), gone: '/there/is/no/such/folder' };
  const server = await start({ app: { disks } });
  await postTasks(server);
  const ids = await claim(server, 4);
  for (const [index, id] of ids.entries()) await end(server, id, { reward: index % 2 });
  await expect.poll(async () => (await told(server)).version).toBe(1);
  await ask(server, 'GET', '/episodes/unknown');
  return server;
}

const rulesFile = 'deploy/agentjet-alerts.yml';

describe('metrics', () => {
  it('have durations, rewards, errors by code and free disk space, in the format of Prometheus', async () => {
    const server = await serveOneStep();
    const response = await ask(server, 'GET', '/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4; charset=utf-8/);
    const families = parseMetrics(await response.text());
    const valueOf = (sample: string): number | undefined =>
      families
        .get(/^agentjet_swarm_[a-z_]+?(?=(_bucket|_sum|_count)?(\{|$))/.exec(sample)?.[0] ?? '')
        ?.samples.get(sample);
    expect(valueOf('agentjet_swarm_claim_seconds_count{share="default"}')).toBe(1);
    expect(valueOf('agentjet_swarm_end_seconds_count{share="default",status="completed"}')).toBe(4);
    expect(valueOf('agentjet_swarm_end_seconds_bucket{le="+Inf",share="default",status="completed"}')).toBe(4);
    expect(valueOf('agentjet_swarm_step_seconds_count{policy="default"}')).toBe(1);
    expect(valueOf('agentjet_swarm_episode_reward_sum{share="default"}')).toBe(2);
    expect(valueOf('agentjet_swarm_episode_reward_bucket{le="0.5",share="default"}')).toBe(2);
    expect(valueOf('agentjet_swarm_policy_reward{policy="default"}')).toBe(0.5);
    expect(valueOf('agentjet_swarm_policy_success{policy="default"}')).toBe(1);
    expect(valueOf('agentjet_swarm_errors_total{code="gone"}')).toBe(1);
    expect(valueOf('agentjet_swarm_state{state="rolling"}')).toBe(1);
    expect(valueOf('agentjet_swarm_state{state="failed"}')).toBe(0);
    expect(valueOf('agentjet_swarm_disk_free_bytes{disk="run"}')).toBeGreaterThan(0);
    expect(valueOf('agentjet_swarm_disk_free_bytes{disk="gone"}')).toBeUndefined();
    expect(valueOf('agentjet_swarm_store_has_room')).toBe(1);
    for (const [name, { type }] of families)
      expect([name, type]).toEqual([name, expect.stringMatching(/^(gauge|counter|histogram)$/)]);
  });

  it('include each metric that the alert rules name', async () => {
    const families = parseMetrics(await (await ask(await serveOneStep(), 'GET', '/metrics')).text());
    const named = readFileSync(rulesFile, 'utf8').match(/agentjet_swarm_\w+/g) ?? [];
    expect(named.length).toBeGreaterThan(8);
    for (const name of named) expect([...families.keys()]).toContain(name.replace(/_bucket$/, ''));
  });
});

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;

it.skipIf(!hasPromtool)('promtool accepts the alert rules (skipped without promtool: apt install prometheus)', () => {
  expect(execFileSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' })).toContain('SUCCESS');
});
