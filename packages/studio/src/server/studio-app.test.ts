import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, type Random } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StudioRuns } from '../runs/studio-runs.js';
import { writeSyntheticRun } from '../testing/write-synthetic-run.js';
import { createStudioApp } from './studio-app.js';

const token = 'a-token-of-this-test';
const cookie = 'ajet_studio_7007';
const base = 'http://127.0.0.1:7007';
const page = new Map([
  ['/index.html', { type: 'text/html; charset=utf-8', body: new TextEncoder().encode('<!doctype html>SECRET PAGE') }],
  ['/assets/app.js', { type: 'text/javascript; charset=utf-8', body: new TextEncoder().encode('SECRET SCRIPT') }],
]);
const ended = new AbortController();

let dir: string;
let runId: string;
let app: ReturnType<typeof createStudioApp>;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'studio-app-'));
  await writeSyntheticRun({ experimentDir: dir, name: 'SECRET', seed: 1, steps: 2, words: ' SECRET WORDS' });
  const runs = new StudioRuns(dir);
  runId = (await runs.list()).runs[0]?.id ?? '';
  app = createStudioApp({ token, cookie, hosts: [], page, runs, signal: ended.signal });
});
afterAll(async () => {
  ended.abort();
  await rm(dir, { recursive: true, force: true });
});

const own = { host: '127.0.0.1:7007', cookie: `${cookie}=${token}` };
const ask = async (place: string, headers: Readonly<Record<string, string>> = own, init: RequestInit = {}) =>
  app.request(`${base}${place}`, { ...init, headers });

describe('the first visit', () => {
  it('brings the token in the address and gets a cookie that scripts cannot read', async () => {
    const answer = await ask(`/?token=${token}`, {
      host: '127.0.0.1:7007',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toBe(`${cookie}=${token}; Path=/; HttpOnly; SameSite=Strict`);
    expect(await answer.text()).toContain('SECRET PAGE');
  });

  it('is refused without the token, or with another one, and says what to do', async () => {
    for (const place of [
      '/',
      '/?token=',
      '/?token=another',
      `/index.html?token=${token}`,
      `/api/runs?token=${token}`,
    ]) {
      const answer = await ask(place, { host: '127.0.0.1:7007' });
      expect([place, answer.status, answer.headers.get('set-cookie')]).toEqual([place, 401, null]);
      expect(await answer.json()).toEqual({ error: expect.stringContaining('ajet studio') });
    }
  });
});

describe('an answer', () => {
  it('forbids scripts, styles and data from elsewhere, embedding, sniffing and keeping', async () => {
    for (const place of ['/', '/api/runs', '/api/runs/none', '/nothing']) {
      const { headers } = await ask(place);
      expect(headers.get('content-security-policy')).toMatch(
        /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
      );
      expect(headers.get('content-security-policy')).not.toContain('unsafe');
      expect([headers.get('x-content-type-options'), headers.get('cache-control')]).toEqual(['nosniff', 'no-store']);
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('is given to the page itself, under each name of this machine and through a tunnel', async () => {
    for (const host of ['127.0.0.1:7007', 'localhost:7007', 'LOCALHOST:9', '[::1]:7007'])
      expect((await ask('/api/runs', { ...own, host })).status).toBe(200);
    expect((await ask('/api/runs', { ...own, origin: base, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });

  it('is given under each address of this machine if it listens on all of them, and under no foreign name', async () => {
    const open = createStudioApp({
      token,
      cookie,
      hosts: ['box'],
      allowsAddresses: true,
      page,
      runs: new StudioRuns(dir),
      signal: ended.signal,
    });
    const statusOf = async (host: string) =>
      (await open.request(`${base}/api/runs`, { headers: { ...own, host } })).status;
    expect(
      await Promise.all(['192.168.0.7:7007', '[fe80::1]:7007', 'box:7007', 'evil.example:7007'].map(statusOf)),
    ).toEqual([200, 200, 200, 421]);
  });

  it('says what is missing in place of a run or a part of it', async () => {
    const answers = await Promise.all(
      ['/api/runs/none', `/api/runs/${runId}/episode?id=none`].map((place) => ask(place)),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { error: expect.stringMatching(/no such run/) },
      { error: expect.stringMatching(/does not have this/) },
    ]);
  });
});

describe('a program on this machine', () => {
  const bearer = { host: '127.0.0.1:7007', authorization: `Bearer ${token}` };
  const post = (body: string, headers: Readonly<Record<string, string>> = bearer) =>
    ask(
      '/api/view',
      { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
      {
        method: 'POST',
        body,
      },
    );

  it('reads every view as JSON with the token alone, and learns the routes from the address', async () => {
    const read = async (place: string) => (await ask(place, bearer)).json() as Promise<Record<string, unknown>>;
    const { routes } = await read('/api');
    expect(await (await ask('/', { ...bearer, accept: 'application/json' })).json()).toEqual(await read('/api'));
    const rows = await read(`/api/runs/${runId}/rows?result=failure&limit=2`);
    expect(rows).toMatchObject({
      of: 2 * 16 + 20,
      rows: [{ success: false, question: expect.stringContaining('SECRET'), expected: expect.any(String) }, {}],
    });
    const step = await read(`/api/runs/${runId}/step?step=1`);
    expect(step).toMatchObject({ step: 1, metrics: { step: 1 }, groups: expect.arrayContaining([expect.anything()]) });
    for (const place of Object.keys(routes as object)) {
      const [method = '', route = ''] = place.split(' ');
      const answer = await ask(route.replace('<id>', runId).replace(/\?.*/, ''), bearer);
      expect([place, answer.status === 405 || answer.headers.get('content-type')]).toEqual([
        place,
        method === 'POST' ? expect.anything() : 'application/json',
      ]);
    }
  });

  it('changes what an open page shows, with the token and nothing else', async () => {
    const stream = await ask(`/api/events`);
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read(); // ready
    const address = `#/run/${runId}/episode/e1-t4-r0`;
    const answer = await post(JSON.stringify({ address: `http://127.0.0.1:7007/${address}`, quote: 'What is' }));
    expect(await answer.json()).toEqual({ address: `${address}?quote=What+is`, pages: 1 });
    let said = '';
    while (!said.includes('event: view')) said = (await reader?.read())?.value ?? 'event: view is missing';
    expect(said).toContain(JSON.stringify({ address: `${address}?quote=What+is` }));
    await reader?.cancel();
    for (const body of ['{}', 'no JSON', '{"address":"#/elsewhere"}', '{"address":"javascript:alert(1)"}'])
      expect((await post(body)).status).toBe(422);
  });

  it.each([
    ['a cookie without an origin', { host: '127.0.0.1:7007', cookie: `${cookie}=${token}` }, 403],
    ['a foreign origin', { ...bearer, origin: 'http://evil.example' }, 403],
    ['another token', { ...bearer, authorization: 'Bearer another' }, 401],
    ['a foreign host', { ...bearer, host: 'evil.example' }, 421],
  ])('changes nothing with %s', async (_what, headers, status) => {
    expect((await post('{"address":"#/"}', headers)).status).toBe(status);
  });
});

describe('a request', () => {
  it.each([
    ['another method', '/api/runs', own, { method: 'POST' }, 405],
    ['a body', '/api/runs', { ...own, 'content-length': '4' }, {}, 413],
    ['a body of unknown length', '/api/view', { ...own, 'transfer-encoding': 'chunked' }, { method: 'POST' }, 413],
    ['a long body', '/api/view', { ...own, 'content-length': '99999' }, { method: 'POST' }, 413],
    ['a form', '/api/view', { ...own, 'content-length': '4', 'content-type': 'text/plain' }, { method: 'POST' }, 415],
    ['a long address', `/api/runs?${'x'.repeat(9000)}`, own, {}, 414],
    ['a foreign host', '/api/runs', { ...own, host: 'evil.example:7007' }, {}, 421],
    ['a host that begins like this machine', '/api/runs', { ...own, host: 'localhost.evil.example' }, {}, 421],
    ['a foreign origin', '/api/runs', { ...own, origin: 'http://evil.example' }, {}, 403],
    ['an opaque origin', '/api/runs', { ...own, origin: 'null' }, {}, 403],
    ['another port as origin', '/api/runs', { ...own, origin: 'http://127.0.0.1:9' }, {}, 403],
    ['another page', '/api/runs', { ...own, 'sec-fetch-site': 'same-site' }, {}, 403],
    [
      'a visit from another page to data',
      '/api/runs',
      { ...own, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      {},
      403,
    ],
    ['no cookie', '/api/runs', { host: '127.0.0.1:7007' }, {}, 401],
    ['the cookie of another port', '/api/runs', { host: '127.0.0.1:7007', cookie: `ajet_studio_1=${token}` }, {}, 401],
  ] as const)('with %s is refused', async (_what, place, headers, init, status) => {
    const answer = await ask(place, headers, init);
    expect(answer.status).toBe(status);
    expect(Object.keys((await answer.json()) as object)).toEqual(['error']);
  });

  it('gets no content in any of 10,000 hostile forms', async () => {
    const random = createRandom(20_261_127);
    for (let number = 0; number < 10_000; number++) {
      const { place, init } = hostileRequest(random, runId);
      const answer = await app.request(place, init);
      const text = await answer.text();
      if (answer.status < 400 || text.includes('SECRET'))
        throw new Error(`${JSON.stringify({ place, init })}: ${answer.status} ${text.slice(0, 200)}`);
    }
  });
});

const pick = <T>(random: Random, values: readonly T[]): T => values[random.int(values.length)] as T;

const places = ['/', '/index.html', '/assets/app.js', '/api/runs', '/api/events'];
const climbs = [
  '/../',
  '/..%2f',
  '/%2e%2e/',
  '/....//',
  '/%00',
  '/assets/../../',
  '/assets/..%5c..%5c',
  '//etc/passwd',
  '/api/runs/..%2f..%2fetc%2fpasswd',
  '/~/',
  '/.git/config',
  '/api/runs/%2e%2e/episodes',
];

/** Each request has at least one fault. The others are drawn from right and wrong values. */
function hostileRequest(random: Random, run: string): { readonly place: string; readonly init: RequestInit } {
  const faults = ['method', 'host', 'origin', 'token', 'site', 'size', 'path'] as const;
  const fault = pick(random, faults);
  const has = (name: (typeof faults)[number]): boolean => fault === name || random.next() < 0.15;
  const headers: Record<string, string> = { ...own };
  let place = pick(random, [
    ...places,
    `/api/runs/${run}`,
    `/api/runs/${run}/episodes`,
    `/api/runs/${run}/episode?id=e1-t4-r0`,
    `/api/runs/${run}/search?words=SECRET`,
    `/api/runs/${run}/rows`,
    '/api/view',
    '/api/chat',
    '/api',
  ]);
  if (has('path'))
    place =
      pick(random, climbs) + pick(random, ['etc/passwd', 'package.json', 'config.yaml', `${run}/config.yaml`, '.env']);
  if (has('host'))
    headers['host'] = pick(random, [
      'evil.example',
      'evil.example:7007',
      '127.0.0.1.evil.example',
      'localhost@evil.example',
      '',
      '192.168.0.7:7007',
      '0.0.0.0',
    ]);
  if (has('origin'))
    headers['origin'] = pick(random, [
      'http://evil.example',
      'null',
      'file://',
      'https://127.0.0.1:7007',
      'http://localhost.evil.example',
    ]);
  if (has('site')) headers['sec-fetch-site'] = pick(random, ['cross-site', 'same-site', 'other']);
  if (has('token'))
    headers['cookie'] = pick(random, [
      '',
      `${cookie}=`,
      `${cookie}=${token}x`,
      `${cookie}=${token.slice(1)}`,
      `other=${token}`,
      `${cookie}=${token.toUpperCase()}`,
    ]);
  if (has('token') && random.next() < 0.5)
    headers['authorization'] = pick(random, ['Bearer', 'Bearer x', `Basic ${token}`, `Bearer ${token} x`, token]);
  if (has('size')) place += `${place.includes('?') ? '&' : '?'}x=${'a'.repeat(8200 + random.int(2000))}`;
  const method = has('method') ? pick(random, ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND']) : 'GET';
  if (method === 'POST' && random.next() < 0.5) {
    headers['content-type'] = pick(random, ['application/json', 'text/plain', 'application/x-www-form-urlencoded']);
    headers['content-length'] = pick(random, ['20', '0', '-1', '99999999', 'x']);
  }
  // A visit of the page from a link elsewhere is allowed with the cookie; only data is not.
  if (fault === 'site' && !place.startsWith('/api') && !place.startsWith('/assets')) headers['cookie'] = '';
  return { place: `${base}${place}`, init: { method, headers } };
}
