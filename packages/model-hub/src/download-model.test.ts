import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCachedModel, listCachedModels } from './cached-model.js';
import { downloadModel, type DownloadOptions } from './download-model.js';
import { readHubSettings, type HubSettings } from './hub-settings.js';
import { startLoopbackHub, type LoopbackHub, type LoopbackModel } from './testing/loopback-hub.js';

const name = { id: 'acme/tiny', revision: 'main' };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function randomBytes(size: number, seed: number): Uint8Array {
  const random = createRandom(seed);
  return Uint8Array.from({ length: size }, () => random.int(256));
}

const small = { 'config.json': bytes('{"a":1}'), 'tokenizer.json': bytes('{}'), 'tokenizer_config.json': bytes('{}') };
const model: LoopbackModel = {
  id: name.id,
  files: {
    ...small,
    'model.safetensors': randomBytes(300_000, 1),
    'README.md': bytes('not needed'),
    'pytorch_model.bin': randomBytes(1000, 2),
  },
};
const sharded: LoopbackModel = {
  id: name.id,
  files: {
    ...small,
    'model.safetensors.index.json': bytes(
      JSON.stringify({
        weight_map: { a: 'model-1-of-2.safetensors', b: 'model-2-of-2.safetensors', c: 'model-1-of-2.safetensors' },
      }),
    ),
    'model-1-of-2.safetensors': randomBytes(100_000, 3),
    'model-2-of-2.safetensors': randomBytes(50_000, 4),
    'consolidated.safetensors': randomBytes(1000, 5),
  },
};

let cacheDir: string;
let hub: LoopbackHub;
const settings = (more: Partial<HubSettings> = {}): HubSettings => ({
  endpoint: hub.endpoint,
  token: undefined,
  cacheDir,
  isOffline: false,
  stallMs: 10_000,
  ...more,
});
const get = (options: DownloadOptions = {}) => downloadModel(name, { settings: settings(), pauseMs: 1, ...options });
const sumOf = (content: Uint8Array | undefined): string =>
  createHash('sha256')
    .update(content ?? new Uint8Array())
    .digest('hex');
const weightsSum = sumOf(model.files['model.safetensors']);
/** Checksums of the files of a folder, so a difference is one line. */
const sumsOf = (dir: string): Readonly<Record<string, string>> =>
  Object.fromEntries(readdirSync(dir).map((file) => [file, sumOf(readFileSync(path.join(dir, file)))]));

beforeEach(async () => {
  cacheDir = mkdtempSync(path.join(tmpdir(), 'ajet-hub-'));
  hub = await startLoopbackHub(model);
});
afterEach(async () => {
  await hub.close();
  rmSync(cacheDir, { recursive: true, force: true });
});

describe('a download', () => {
  it('takes the files that are needed, in the layout that transformers reads', async () => {
    const { dir, commit } = await get();
    expect((await readdir(dir)).sort()).toEqual([
      'config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    const root = path.join(cacheDir, 'models--acme--tiny');
    expect(dir).toBe(path.join(root, 'snapshots', commit));
    expect(readFileSync(path.join(root, 'refs/main'), 'utf8')).toBe(commit);
    expect(readlinkSync(path.join(dir, 'config.json'))).toMatch(/^\.\.[/\\]\.\.[/\\]blobs[/\\][0-9a-f]{40}$/);
    expect(readlinkSync(path.join(dir, 'model.safetensors'))).toMatch(/[0-9a-f]{64}$/);
    expect(existsSync(path.join(root, '.no_exist', commit, 'chat_template.jinja'))).toBe(true);
    expect(
      readFileSync(path.join(dir, 'model.safetensors')).equals(Buffer.from(model.files['model.safetensors'] ?? [])),
    ).toBe(true);
    expect((await readdir(path.join(root, 'blobs'))).every((blob) => /^[0-9a-f]+$/.test(blob))).toBe(true);
  });

  it('is made once: from then on nothing is asked of the hub', async () => {
    const first = await get();
    const asked = hub.requests.length;
    expect(await get()).toEqual(first);
    expect(
      await downloadModel(name, { settings: settings({ isOffline: true, endpoint: 'http://127.0.0.1:1' }) }),
    ).toEqual(first);
    expect(hub.requests).toHaveLength(asked);
    expect((await listCachedModels(settings())).map(({ id, hasWeights }) => ({ id, hasWeights }))).toEqual([
      { id: name.id, hasWeights: true },
    ]);
  });

  it('continues at the byte at which the connection broke, however often it breaks', async () => {
    hub.cutAfter = (_, size) => Math.min(size, Math.max(3, Math.floor(size / 3)));
    const { dir } = await get();
    expect(sumsOf(dir)['model.safetensors']).toBe(weightsSum);
    const ranges = hub.requests.filter((request) => request.includes('safetensors bytes='));
    expect(ranges.length).toBeGreaterThan(20);
    expect(hub.sentBytes()).toBeLessThan(450_000); // a broken connection may lose bytes on the way
  });

  it('takes the shards that the index names, and no other weights', async () => {
    hub.put(sharded);
    hub.cutAfter = (request, size) => (request % 2 === 0 ? Math.floor(size / 2) : size);
    const { dir } = await get();
    const { 'consolidated.safetensors': _, ...wanted } = sharded.files;
    expect(sumsOf(dir)).toEqual(
      Object.fromEntries(Object.entries(wanted).map(([file, content]) => [file, sumOf(content)])),
    );
  });

  it('continues after the process that began it was killed', async () => {
    hub.cutAfter = (_, size) => (size > 1000 ? 100_000 : size);
    const controller = new AbortController();
    const onProgress = ({ doneBytes }: { readonly doneBytes: number }): void => {
      if (doneBytes >= 100_000) controller.abort(new Error('Ctrl-C'));
    };
    await expect(get({ signal: controller.signal, onProgress })).rejects.toThrow();
    expect(await findCachedModel(settings(), name)).toBeUndefined();
    const blobs = await readdir(path.join(cacheDir, 'models--acme--tiny/blobs'));
    const left = blobs.find((blob) => blob.endsWith('.incomplete')) ?? '';
    const kept = statSync(path.join(cacheDir, 'models--acme--tiny/blobs', left)).size;
    expect(kept).toBeGreaterThanOrEqual(100_000);
    expect(blobs.some((blob) => blob.endsWith('.writer'))).toBe(false);
    hub.cutAfter = (_, size) => size;
    const before = hub.sentBytes();
    expect(sumsOf((await get()).dir)['model.safetensors']).toBe(weightsSum);
    expect(hub.sentBytes() - before).toBe(300_000 - kept);
  });

  it('begins again if the server does not know ranges, or the rest on disk is too long', async () => {
    hub.cutAfter = (request, size) => (request === 3 ? 1000 : size);
    hub.ignoresRanges = true;
    const { dir } = await get();
    expect(sumsOf(dir)['model.safetensors']).toBe(weightsSum);
    const largeBlob = path.basename(readlinkSync(path.join(dir, 'model.safetensors')));
    rmSync(path.join(cacheDir, 'models--acme--tiny/snapshots'), { recursive: true });
    const blob = path.join(cacheDir, 'models--acme--tiny/blobs', largeBlob);
    rmSync(blob);
    writeFileSync(`${blob}.incomplete`, randomBytes(300_001, 9));
    hub.ignoresRanges = false;
    expect(sumsOf((await get()).dir)['model.safetensors']).toBe(weightsSum);
  });

  it('is one download for two callers', async () => {
    const [left, right] = await Promise.all([get(), get()]);
    expect(left).toEqual(right);
    expect(hub.sentBytes()).toBe(300_000 + 7 + 2); // two of the small files are equal, so they are one blob
  });

  it('takes over the claim of a process that was killed', async () => {
    const blobs = path.join(cacheDir, 'models--acme--tiny/blobs');
    mkdirSync(blobs, { recursive: true });
    const dead = { owner: 'x', host: 'elsewhere', pid: 1, boot: null, heartbeat: Date.now() - 60_000 };
    await get({ withWeights: false });
    rmSync(path.join(cacheDir, 'models--acme--tiny/snapshots'), { recursive: true });
    for (const blob of await readdir(blobs)) {
      rmSync(path.join(blobs, blob));
      writeFileSync(path.join(blobs, `${blob}.writer`), JSON.stringify(dead));
    }
    expect((await get({ withWeights: false })).hasWeights).toBe(false);
  });

  it('asks for each file if the hub lists names alone', async () => {
    hub.listsNamesAlone = true;
    expect(sumsOf((await get()).dir)['model.safetensors']).toBe(weightsSum);
  });

  it('waits and asks again if the hub is busy', async () => {
    hub.refusals.push(429, 503, 500);
    expect((await get()).hasWeights).toBe(true);
  });

  it('reports its progress', async () => {
    const seen: number[] = [];
    await get({ onProgress: ({ doneBytes, totalBytes }) => void (totalBytes === 300_000 && seen.push(doneBytes)) });
    expect(seen.at(-1)).toBe(300_000);
    expect(seen).toEqual(seen.toSorted((left, right) => left - right));
  });

  it('gets a new commit only when asked to, and keeps the old one', async () => {
    const old = await get();
    hub.put({ ...model, files: { ...model.files, 'config.json': bytes('{"a":2}') } });
    expect((await get()).commit).toBe(old.commit);
    const fresh = await get({ isRefresh: true });
    expect(readFileSync(path.join(fresh.dir, 'config.json'), 'utf8')).toBe('{"a":2}');
    expect(hub.requests.filter((request) => request.includes('safetensors'))).toHaveLength(1);
    expect(await downloadModel({ ...name, revision: old.commit }, { settings: settings() })).toMatchObject({
      dir: old.dir,
    });
    const listed = await listCachedModels(settings());
    expect(listed.map(({ revision, commit }) => [revision, commit])).toEqual([
      ['main', fresh.commit],
      [old.commit, old.commit],
    ]);
  });

  it('completes what another program took a part of', async () => {
    const { dir, commit } = await get();
    rmSync(path.join(dir, 'tokenizer_config.json'));
    expect((await get()).isWhole).toBe(true);
    expect(lstatSync(path.join(dir, 'tokenizer_config.json')).isSymbolicLink()).toBe(true);
    rmSync(path.join(cacheDir, 'models--acme--tiny/.no_exist', commit), { recursive: true });
    expect(await downloadModel(name, { settings: settings({ isOffline: true }) })).toMatchObject({ isWhole: false });
  });
});

describe('a download that cannot be made says why', () => {
  it.each([
    [
      'no such model',
      { id: 'acme/none', revision: 'main' },
      'model_not_found',
      /no model acme\/none at .* or it is private/,
    ],
    ['no such revision', { ...name, revision: 'v9' }, 'model_not_found', /acme\/tiny has no revision v9/],
  ])('%s', async (_, wanted, code, message) => {
    const failing = downloadModel(wanted, { settings: settings(), pauseMs: 1 });
    await expect(failing).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('terms that were not accepted', async () => {
    hub.put({ ...model, gatedBy: 'secret' });
    await expect(get()).rejects.toMatchObject({
      code: 'model_gated',
      message: expect.stringContaining('set HF_TOKEN'),
    });
    const other = get({ settings: settings({ token: 'wrong' }) });
    await expect(other).rejects.toMatchObject({
      code: 'model_gated',
      message: expect.stringContaining('with the account of your token'),
    });
    await expect(get({ settings: settings({ token: 'secret' }) })).resolves.toMatchObject({ hasWeights: true });
  });

  it('no network', async () => {
    const failing = get({ settings: settings({ endpoint: 'http://127.0.0.1:1' }) });
    await expect(failing).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('HF_ENDPOINT'),
    });
    const offline = downloadModel(name, { settings: settings({ isOffline: true }) });
    await expect(offline).rejects.toMatchObject({ code: 'hub_offline' });
  });

  it('a hub that accepts connections and says nothing', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const failing = get({ settings: settings({ endpoint: `http://127.0.0.1:${port}`, stallMs: 20 }) });
    await expect(failing).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('it does not answer'),
    });
    silent.closeAllConnections();
    silent.close();
  });

  it('a connection that always breaks before the first byte', async () => {
    hub.cutAfter = () => 0;
    await expect(get()).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('continues from there'),
    });
  });

  it('content that was changed on its way, which it removes', async () => {
    hub.isTampering = true;
    await expect(get()).rejects.toMatchObject({
      code: 'checksum',
      message: expect.stringContaining('config.json of acme/tiny'),
    });
    hub.isTampering = false;
    await expect(get()).resolves.toMatchObject({ hasWeights: true });
  });

  it('weights in another format, and an index that leaves the folder', async () => {
    hub.put({ id: name.id, files: { ...small, 'model.gguf': bytes('x') } });
    await expect(get()).rejects.toMatchObject({
      code: 'bad_model_files',
      message: expect.stringContaining('It has model.gguf.'),
    });
    hub.put({
      id: name.id,
      files: { ...small, 'model.safetensors.index.json': bytes('{"weight_map":{"a":"../../x.safetensors"}}') },
    });
    await expect(get()).rejects.toMatchObject({
      code: 'bad_model_files',
      message: expect.stringContaining('names "../../x.safetensors"'),
    });
  });
});

it('settings come from the variables of Hugging Face', () => {
  const home = path.resolve('/h');
  expect(
    readHubSettings({ HF_HOME: home, HF_ENDPOINT: 'https://mirror/', HF_TOKEN: 't', HF_HUB_OFFLINE: '1' }),
  ).toEqual({
    endpoint: 'https://mirror',
    token: 't',
    cacheDir: path.join(home, 'hub'),
    isOffline: true,
    stallMs: 30_000,
  });
  expect(readHubSettings({ HF_HUB_CACHE: home, HF_HOME: '/other', HF_HUB_OFFLINE: '0' })).toMatchObject({
    cacheDir: home,
    isOffline: false,
  });
});
