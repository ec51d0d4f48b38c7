import { createRandom, type Random } from '@agentjet/core';
import { endOf, rowsOf, tryClaim, type Answer, type Guarded } from './open-server.js';
import type { Tally } from './tally.js';

/** Sends the requests of ordinary clients, scorers and observers. None of them may be refused. */
export async function beHonest(server: Guarded, tally: Tally, count: number): Promise<void> {
  const random = createRandom(5);
  const expectTaken = (name: string, { status, body }: Answer): void =>
    tally.count(name, status >= 200 && status < 300, `${status} ${JSON.stringify(body).slice(0, 300)}`);
  for (let number = 0; number < count; number++) {
    const { key, share, episodeId } = await claimAny(server);
    const beat = { client: key, life: '1', episodes: [episodeId] };
    expectTaken('a heartbeat', await server.send(key, { method: 'POST', path: '/heartbeats', body: beat }));
    const end = endIn(random);
    expectTaken(`an end ${JSON.stringify(end)}`, await endOf(server, key, episodeId, end));
    expectTaken('an end again', await endOf(server, key, episodeId, end));
    if (number % 10 === 0) await bringTasks(server, { key, share, number }, expectTaken);
    if (number % 10 === 5) await look(server, episodeId, expectTaken);
  }
}

const workers = [
  { key: 'worker', share: 'a' },
  { key: 'other', share: 'b' },
] as const;

/** Claims an episode of any share. A batch needs both shares, so one of them has an open place soon. */
async function claimAny(server: Guarded): Promise<(typeof workers)[number] & { readonly episodeId: string }> {
  for (let tries = 0; tries < 400; tries++) {
    for (const worker of tries % 2 === 0 ? workers : workers.toReversed()) {
      const episodeId = await tryClaim(server, worker.key, worker.share);
      if (episodeId !== undefined) return { ...worker, episodeId };
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('No share has had an open place for ten seconds.');
}

type Expect = (name: string, answer: Answer) => void;

const metricNames = ['moves', 'tokens', 'score'];

/** Returns an end within the bounds of the key, in one of the forms that clients send. */
function endIn(random: Random): object {
  const reward = random.next() * 2 - 1;
  const metadata = { answer: 'x'.repeat(random.int(1500)), moves: random.int(100), nested: { list: [1, 2, 3] } };
  const log_metrics = Object.fromEntries(metricNames.slice(random.int(3)).map((name) => [name, random.next()]));
  const turns = Array.from({ length: 1 + random.int(20) }, (_none, turn) => ({
    agent: 'agent',
    turn,
    value: 0.5 / 20,
  }));
  const forms = [
    { reward },
    { reward, is_success: reward > 0, metadata, log_metrics },
    { reward: 0.5, turn_rewards: turns },
    { reward: -0.5, turn_rewards: turns.map((turn) => ({ ...turn, value: -turn.value })) },
    { reward, rewards: { wolf: 1, villager: -1 } },
    { reward, parts: { format: 0.2, answer: 0.8 }, reason: 'It is right.' },
    { status: 'failed', reward: null, error: 'The agent threw.', error_code: 'workflow_failed' },
    { status: 'outage', reward: null, error: 'The judge is away.' },
  ];
  return forms[random.int(forms.length)] ?? { reward };
}

type Bringing = { readonly key: 'worker' | 'other'; readonly share: string; readonly number: number };

/** Sends the same list again, and then edited lists, in one part and in several parts. */
async function bringTasks(server: Guarded, { key, share, number }: Bringing, expectTaken: Expect): Promise<void> {
  const post = (body: object): Promise<Answer> =>
    server.send(key, { method: 'POST', path: '/tasks', body: { share, ...body } });
  const whole = { tasks: rowsOf(40, `edited ${number}`), total: 40 };
  expectTaken('an edited list', await post(whole));
  expectTaken('the same list', await post(whole));
  const tasks = rowsOf(60, `longer ${number}`);
  const list = `list ${number}`;
  expectTaken('a part of a list', await post({ list, tasks: tasks.slice(0, 30) }));
  expectTaken('the rest of the list', await post({ list, tasks: tasks.slice(30), total: 60 }));
}

async function look(server: Guarded, episodeId: string, expectTaken: Expect): Promise<void> {
  const paths = ['/server', '/episodes?limit=5', `/episodes/${episodeId}`, '/metrics', '/openapi.json', '/events'];
  for (const path of paths) expectTaken(`GET ${path}`, await server.send('observer', { method: 'GET', path }));
  expectTaken('GET /groups', await server.send('scorer', { method: 'GET', path: '/groups?state=unscored' }));
  for (const path of ['/audit', '/keys'])
    expectTaken(`GET ${path}`, await server.send('commander', { method: 'GET', path }));
}
