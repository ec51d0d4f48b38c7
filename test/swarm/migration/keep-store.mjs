/**
 * Keeps what the code of a commit wrote: `node test/swarm/migration/keep-store.mjs <checkout> <fixture.json.gz>`. A server of that checkout,
 * with its packages installed, is played with over HTTP and killed with SIGKILL. The fixture holds its run folder: small files
 * as base64, the ledger as the keys and values of its LMDB file. Nothing of the present code takes part. Not kept: which machine it
 * was, the model's weights, and what only people read. Kept so far: format 1 of 5b56f7b^, format 2 of 1fe5417^, format 3 of 684880f, format 4 of
 * fd43580, format 5 of 9d07d56.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { open } from 'lmdb';

const [checkout = '', fixture = ''] = process.argv.slice(2);
const dir = mkdtempSync(path.join(tmpdir(), 'keep-store-'));
const port = 20_000 + (process.pid % 20_000);
const url = `http://127.0.0.1:${port}`;
const life = { client: 'keeper', life: 'one' };

const server = await startServer();
try {
  const played = await play();
  server.kill('SIGKILL');
  await once(server, 'exit');
  const [run] = readdirSync(path.join(dir, 'kills')).filter((name) => !name.startsWith('.'));
  const kept = { ...readRun(path.join(dir, 'kills', run)), ...played };
  writeFileSync(fixture, gzipSync(JSON.stringify(kept), { level: 9 }));
  console.log(`${fixture}: ${kept.format}, ${statSync(fixture).size} bytes`);
} finally {
  server.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}

async function startServer() {
  const root = path.resolve(checkout);
  const loader = path.join(root, 'node_modules/tsx/dist/loader.mjs');
  const child = spawn(
    process.execPath,
    ['--import', loader, path.join(root, 'test/swarm/kills/server-child.ts'), dir, String(port)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json') },
    },
  );
  for await (const chunk of child.stdout) if (String(chunk).includes('ready')) return child;
  throw new Error('The server ended before it was ready.');
}

/** Two steps of four groups of two, one episode that waits for its group, and one that runs and has had an answer. */
async function play() {
  const tasks = Array.from({ length: 16 }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await ask('/swarm/v1/tasks', { tasks, total: tasks.length });
  let last;
  for (let index = 0; index < 17; index++) {
    const episode = await claim(index);
    const first = await call(episode, 0, [question(episode)]);
    await call(episode, 1, [question(episode), first, { role: 'user', content: 'and?' }]);
    const end = { client: life.client, status: 'completed', reward: episode.place, is_success: episode.place === 1 };
    last = { episode, end, receipt: await ask(`/swarm/v1/episodes/${episode.episode_id}/end`, end) };
  }
  const episode = await claim(17);
  const running = { episode, messages: [question(episode)], answer: await call(episode, 0, [question(episode)]) };
  for (let round = 0; ; round++) {
    const { step, account } = await ask('/swarm/v1/server');
    if (step === 2 && account.trained === 16) return { step, account, last, running };
    if (round > 300) throw new Error(`The server is at step ${step}: ${JSON.stringify(account)}`);
    await sleep(100);
  }
}

async function claim(index) {
  for (;;) {
    const body = { ...life, claim_id: `c${index}`, revision: 'r1', count: 1, lease_seconds: 3600, wait_seconds: 5 };
    const { episodes } = await ask('/swarm/v1/episodes', body);
    if (episodes.length > 0) return episodes[0];
  }
}

function question({ task_id }) {
  return { role: 'user', content: `task ${task_id}` };
}

async function call({ base_url, key }, index, messages) {
  const body = { model: 'm', messages };
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': `call ${index}` };
  const at = base_url.startsWith('http') ? base_url : `${url}${base_url}`;
  const { choices } = await ask(`${at}/main/v1/chat/completions`, body, headers);
  return choices[0].message;
}

async function ask(address, body, headers = {}) {
  const response = await fetch(new URL(address, url), {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...headers },
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${address}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

function readRun(run) {
  const files = ['config.yaml', 'episode-keys.secret', 'log.jsonl'].map((name) => [
    name,
    readFileSync(path.join(run, name)).toString('base64'),
  ]);
  const [file, ...others] = readdirSync(path.join(run, 'ledger')).filter((name) => name.endsWith('.mdb'));
  if (others.length > 0) throw new Error('The run was too long for one file.');
  const database = open({ path: path.join(run, 'ledger', file), encoding: 'binary', readOnly: true });
  const model = path.join(checkout, 'packages/nano/model');
  const modelFiles = readdirSync(model).filter((name) => name.endsWith('.json'));
  return {
    format: JSON.parse(String(database.get(['meta', 'format']))),
    name: path.basename(run),
    files: Object.fromEntries(files),
    trainedTokens: lines(path.join(run, 'metrics.jsonl')).map(({ trained_tokens }) => trained_tokens),
    model: Object.fromEntries(
      modelFiles.map((name) => [name, readFileSync(path.join(model, name)).toString('base64')]),
    ),
    ledger: { file, entries: [...database.getRange()].map(toEntry) },
  };
}

function lines(file) {
  const text = readFileSync(file, 'utf8').trimEnd();
  return text.split('\n').map((line) => JSON.parse(line));
}

function toEntry({ key, value }) {
  const isOwner = key[0] === 'meta' && key[1] === 'owner';
  const kept = isOwner
    ? Buffer.from(JSON.stringify({ ...JSON.parse(String(value)), host: 'keeper', pid: 1, heartbeat: 0 }))
    : value;
  return [...key, kept.toString('base64')];
}
