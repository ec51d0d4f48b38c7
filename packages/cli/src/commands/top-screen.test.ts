import { PassThrough } from 'node:stream';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import { serverAnswer } from '../testing/server-answer.js';
import { renderTop, type TopState } from './top-screen.js';
import { TopTerminal } from './top-terminal.js';

const waits_for = {
  reason: 'groups',
  text: 'Step 5 waits for 3 more groups; 5 episodes are open, the oldest for 40 s, of client "the machine with the long name".',
  since_seconds: 75,
} as const;

const state: TopState = {
  address: 'https://swarm.example.org/a/rather/long/address',
  server: {
    ...serverAnswer,
    run: 'frozen-lake/2026-11-27T17-20-31-with-a-long-name-that-does-not-fit',
    uptime_seconds: 7200,
    clients: 12,
    running: 5,
    places: { filled: 20, total: 32 },
    newest_step: { step: 3, episodes: 32, reward: 0.53125, success: 0.625, seconds: 4, age_seconds: 130 },
    waits_for,
  },
  elapsedSeconds: 5,
  nowMs: new Date(2026, 10, 27, 17, 20, 30).getTime(),
  rates: '120 episodes and 3.5 steps per minute',
  view: 'summary',
};

it.each([80, 50, 20])('shows the run in %i columns', (columns) => {
  const lines = renderTop(state, { columns, rows: 40 });
  for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(columns);
  const text = lines.join(' ').replaceAll(/\s+/g, ' ');
  for (const said of ['run frozen', 'at https://', 'up 2 h 0 min', 'rolling', 'step 3', 'reward 0.531', 'success 63%'])
    expect(text).toContain(said);
  for (const said of ['last step 2 min 15 s ago', 'clients 12', 'episodes 5/8', 'places 20/32', 'with the long name'])
    if (columns > 20) expect(text).toContain(said);
  expect(text).toContain('(for 1 min 20 s, since 17:19:10)');
});

it('shows each policy with what it waits for', () => {
  const { change: _change, wire: _wire, running: _running, capacity: _capacity, ...answer } = state.server;
  const {
    config_revision: _revision,
    tasks: _tasks,
    run: _run,
    uptime_seconds: _up,
    clients: _clients,
    ...own
  } = answer;
  const worker = { ...own, state: 'waiting' as const, gate_wait_seconds: 0 };
  const server = { ...state.server, policies: { worker } };
  const text = renderTop({ ...state, server }, { columns: 80, rows: 40 })
    .join(' ')
    .replaceAll(/\s+/g, ' ');
  expect(text).toContain('policy worker waiting step 3 reward 0.531 places 20/32 Step 5 waits for 3 more groups;');
});

it('lists clients and episodes without the characters that control a terminal, and counts those that do not fit', () => {
  const client = { client: 'evil\u001b[2J\u202e\nname 漢字漢字漢字漢字漢字漢字漢字', revision: 'r', shares: ['lake'] };
  const clients = {
    clients: Array.from({ length: 30 }, () => ({ ...client, running: 2, claims_waiting: 0, silent_seconds: 3 })),
  };
  const lines = renderTop({ ...state, view: 'clients', clients }, { columns: 50, rows: 20 });
  expect(lines).toHaveLength(20);
  for (const line of lines) {
    expect(stringWidth(line)).toBeLessThanOrEqual(50);
    expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
  }
  expect(lines.join('\n')).toMatch(/running {2}silent {2}client.*\n2 +3 s +evil␛\[2J/);
  expect(lines.at(-2)).toMatch(/^and \d+ more$/);
  const episodes = {
    episodes: [{ episode_id: 'e1', state: 'running', seconds: 40, client: 'lab', group_id: 'g1', place: 2 }],
  };
  expect(renderTop({ ...state, view: 'episodes', episodes }, { columns: 80, rows: 20 }).join('\n')).toMatch(
    /40 s +e1 +lab +g1 2/,
  );
});

it('a key shows clients or episodes, and q leaves', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const modes: boolean[] = [];
  const output = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  let screen = '';
  output.on('data', (chunk) => {
    screen = String(chunk);
  });
  let hasLeft = false;
  const clients = { clients: [] };
  const episodes = { episodes: [{ episode_id: 'e77', state: 'running', seconds: 1 }] };
  const terminal = new TopTerminal({
    input,
    output,
    address: 'http://here',
    operator: { clients: async () => clients, episodes: async () => episodes },
    leave: () => (hasLeft = true),
    describeRates: () => '',
    now: () => state.nowMs,
  });
  terminal.show(state.server);
  await expect.poll(() => screen).toContain('keys: c clients');
  input.write('c');
  await expect.poll(() => screen).toContain('no client is connected');
  input.write('e');
  await expect.poll(() => screen).toContain('e77');
  input.write('q');
  await expect.poll(() => hasLeft).toBe(true);
  terminal.away('It is away.\u001b[2J');
  await expect.poll(() => screen).toContain('It is away.␛[2J');
  terminal.close();
  expect(modes).toEqual([true, false]);
});
