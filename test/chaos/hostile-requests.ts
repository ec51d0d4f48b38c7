import { connect } from 'node:net';
import type { Random } from '@agentjet/core';
import { drawBody } from './hostile-bodies.js';
import { startHost, type Host } from './start-host.js';
import { looksLikeStack, pick, type Attack, type Case, type World } from './world.js';

/**
 * Sends requests of a stranger without a valid key, and requests of an agent with a key that no agent should send. No
 * stranger's request may reach the model. Each request must get a readable answer in time, and none may delay the
 * others for long.
 */
type Access = { readonly baseUrl: string; readonly apiKey: string };

type Setting = { readonly world: World; readonly host: Host; readonly open: Access; readonly ended: Access };

const paths = [
  '/chat/completions',
  '/completions',
  '/responses',
  '/messages',
  '/messages/count_tokens',
  '/models',
] as const;
const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }], input: 'hi', prompt: 'hi', max_tokens: 9 };

type Headers = Readonly<Record<string, string>>;
const changeAt = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === 'x' ? 'y' : 'x'}${text.slice(at + 1)}`;

/** Requests without a valid key: their headers, and addresses with a key in the wrong place. */
const strangers: Readonly<Record<string, (setting: Setting, random: Random) => { headers: Headers; query?: string }>> =
  {
    none: () => ({ headers: {} }),
    altered: ({ open }, random) => ({
      headers: { 'x-api-key': changeAt(open.apiKey, random.int(open.apiKey.length)) },
    }),
    'cut short': ({ open }, random) => ({
      headers: { 'x-api-key': open.apiKey.slice(0, random.int(open.apiKey.length)) },
    }),
    longer: ({ open }) => ({ headers: { 'x-api-key': `${open.apiKey}x` } }),
    twice: ({ open }) => ({ headers: { 'x-api-key': `${open.apiKey}, ${open.apiKey}` } }),
    'of an episode that has ended': ({ ended }) => ({ headers: { authorization: `Bearer ${ended.apiKey}` } }),
    'of two episodes': ({ open, ended }) => ({
      headers: { 'x-api-key': `${open.apiKey.split('.')[0] ?? ''}.${ended.apiKey.split('.')[1] ?? ''}` },
    }),
    'of another scheme': ({ open }, random) => ({
      headers: { authorization: `${pick(random, ['Basic', 'Digest', 'Token', ''])} ${open.apiKey}`.trim() },
    }),
    'in the address': ({ open }) => ({ headers: {}, query: `?api_key=${open.apiKey}&key=${open.apiKey}` }),
    'in a cookie': ({ open }) => ({
      headers: { cookie: `x-api-key=${open.apiKey}; authorization=Bearer ${open.apiKey}` },
    }),
    'in capitals': ({ open }) => ({
      headers: { 'x-api-key': open.apiKey.toUpperCase() === open.apiKey ? '' : open.apiKey.toUpperCase() },
    }),
  };

const limitMs = 60_000;

/** The raw bytes of requests that no HTTP client would send. */
const rawRequests: Readonly<Record<string, (body: string) => string>> = {
  'two lengths': (body) => `Content-Length: ${body.length}\r\nContent-Length: 3\r\n\r\n${body}`,
  'a length and chunks': (body) =>
    `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${body}`,
  'a bare line feed': (body) => `X-A: b\nX-Api-Key: x\nContent-Length: ${body.length}\n\n${body}`,
  'a zero byte': (body) => `X-A: \u0000\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  'a negative length': (body) => `Content-Length: -1\r\n\r\n${body}`,
  'an upgrade': () => `Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  'two requests at once': (body) =>
    `Content-Length: ${body.length}\r\n\r\n${body}POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  'very many headers': (body) => `${'X-A: b\r\n'.repeat(5000)}Content-Length: ${body.length}\r\n\r\n${body}`,
  'a body that stops': (body) => `Content-Length: ${body.length + 50}\r\n\r\n${body}`,
};

/**
 * Sends bytes and reads until the other side closes, or is silent for a while, because the server waits for a body that
 * is incomplete.
 */
function sendRaw({ baseUrl }: Access, head: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve) => {
    let seen = '';
    const socket = connect(Number(port), hostname);
    socket.setTimeout(300, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(seen));
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${head}`);
  });
}

type Seen = { readonly status: number; readonly text: string } | 'hung' | 'closed';

async function send(url: string, init: RequestInit): Promise<Seen> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(limitMs) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError' ? 'hung' : 'closed';
  }
}

async function askAsStranger(setting: Setting, each: Case): Promise<void> {
  const name = pick(each.random, Object.keys(strangers));
  const path = pick(each.random, paths);
  const { headers, query = '' } = strangers[name]?.(setting, each.random) ?? { headers: {} };
  const before = await setting.host.ask({ kind: 'report' });
  const init = path === '/models' ? { headers } : { method: 'POST', headers, body: JSON.stringify(ask) };
  const seen = await send(`${setting.open.baseUrl}${path}${query}`, init);
  judge(each, { stranger: name, path }, seen);
  const { calls } = await setting.host.ask({ kind: 'report' });
  const isIn = typeof seen === 'object' && seen.status !== 401 && seen.status !== 410;
  if (isIn || calls > before.calls) each.found('let_in', { stranger: name, path }, JSON.stringify(seen));
}

async function askRaw(setting: Setting, each: Case): Promise<void> {
  const name = pick(each.random, Object.keys(rawRequests));
  const before = await setting.host.ask({ kind: 'report' });
  const text = await sendRaw(setting.open, rawRequests[name]?.(JSON.stringify(ask)) ?? '');
  if (looksLikeStack(text)) each.found('stack_traces', { raw: name }, text);
  const { calls } = await setting.host.ask({ kind: 'report' });
  if (calls > before.calls || /^HTTP\/1\.1 2/m.test(text)) each.found('let_in', { raw: name }, text.slice(0, 300));
}

async function askAsAgent({ open }: Setting, each: Case): Promise<void> {
  const path = pick(each.random, paths.slice(0, -1));
  const { name, body } = drawBody(each.random, ask);
  const headers = { 'x-api-key': open.apiKey, 'content-type': 'application/json' };
  judge(each, { body: name, path }, await send(open.baseUrl + path, { method: 'POST', headers, body }));
}

/** A status of 500 is always a defect, even with a readable message. */
function judge(each: Case, drawn: unknown, seen: Seen): void {
  if (seen === 'hung') each.found('hangs', drawn, `No answer in ${limitMs} ms.`);
  if (typeof seen !== 'object') return;
  if (looksLikeStack(seen.text) || seen.status === 500)
    each.found('stack_traces', drawn, `${seen.status}: ${seen.text.slice(0, 800)}`);
}

async function openAccess(host: Host) {
  const { episode = 0, baseUrl = '', apiKey = '' } = await host.ask({ kind: 'open' });
  return { episode, baseUrl, apiKey };
}

async function runOnce(common: Omit<Setting, 'open'>, each: Case): Promise<void> {
  const open = await openAccess(common.host);
  const setting = { ...common, open };
  common.world.counts.requests++;
  await pick(each.random, [askAsStranger, askAsStranger, askAsAgent, askAsAgent, askRaw])(setting, each);
  await common.host.ask({ kind: 'end', episode: open.episode });
}

export type HostileRequests = Attack & { readonly longestStallMs: () => Promise<number> };

export async function createHostileRequests(world: World): Promise<HostileRequests> {
  const host = await startHost({ collects: false });
  const ended = await openAccess(host);
  await host.ask({ kind: 'end', episode: ended.episode });
  const common = { world, host, ended };
  return {
    name: 'hostile-requests',
    runCase: (each) => runOnce(common, each),
    longestStallMs: async () => (await host.ask({ kind: 'report' })).longestStallMs,
    close: async () => host.close(),
  };
}
