import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration } from 'agentjet';
import { LmdbStore, verifyStore } from '@agentjet/ledger';
import { readableFormats } from '@agentjet/ledger/testing';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createServedConfig } from '../kills/served-config.js';
import { formatOf, keptStores, restoreStore, trainedTokensOf, type KeptEpisode, type KeptStore } from './kept-store.js';

/**
 * Stores that servers of older versions really wrote, killed in the middle of an episode. Present code makes their steps again,
 * answers what was acknowledged, goes on with the episode, and trains it.
 */

let dir = '';
let served: ServedSwarm | undefined;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'migration-'));
});
afterEach(async () => {
  await served?.close();
  served = undefined;
  await rm(dir, { recursive: true, force: true });
});

it('has a store of every format that the present code says it reads, but for its own', () => {
  const kept = keptStores().map(({ format }) => format);
  expect(kept).toEqual(expect.arrayContaining(readableFormats.slice(0, -1)));
  expect(readableFormats).toEqual(expect.arrayContaining(kept));
});

async function serve({ run, modelDir }: Restored): Promise<string> {
  const config = createServedConfig(dir, 1);
  served = await serveSwarm({
    config: { ...config, model: { ...config.model, path: modelDir } },
    composition: configuration,
    run,
    app: { needsKey: false },
    onNotice: () => {},
  });
  const { server } = served;
  await expect.poll(() => server.swarm?.describe().state, { timeout: 60_000 }).toBe('rolling');
  return server.url;
}

type Restored = Awaited<ReturnType<typeof restoreStore>>;

async function ask(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function call(url: string, { episode_id, key }: KeptEpisode, { index, messages }: Call): Promise<object> {
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': `call ${index}` };
  const answer = await ask(`${url}/e/${episode_id}/main/v1/chat/completions`, { model: 'm', messages }, headers);
  return (answer as { readonly choices: readonly { readonly message: object }[] }).choices[0]?.message ?? {};
}

type Call = { readonly index: number; readonly messages: readonly object[] };

async function verify(run: string) {
  const store = await LmdbStore.open(path.join(run, 'ledger'), { isReadOnly: true });
  const verdict = verifyStore(store);
  await store.close();
  return verdict;
}

it.each(keptStores().map((kept): [string, KeptStore] => [kept.format, kept]))(
  'goes on with a store of format %s: nothing is lost, sampled or trained again',
  async (_format, kept) => {
    const restored = await restoreStore(kept, dir);
    const { run } = restored;
    expect(await verify(run)).toMatchObject({ isSound: true, account: { acknowledged: 17, trained: 16 }, steps: 2 });
    const url = await serve(restored);
    expect(served?.server.swarm?.describe()).toMatchObject({ step: kept.step, account: kept.account });

    const { last, running } = kept;
    expect(await ask(`${url}/swarm/v1/episodes/${last.episode.episode_id}/end`, last.end)).toEqual(last.receipt);
    const { episode, messages, answer } = running;
    expect(await call(url, episode, { index: 0, messages })).toEqual(answer);
    const grown = [...messages, answer, { role: 'user', content: 'and?' }];
    expect(await call(url, episode, { index: 1, messages: grown })).toMatchObject({ role: 'assistant' });
    const end = { client: 'keeper', status: 'completed', reward: episode.place };
    expect(await ask(`${url}/swarm/v1/episodes/${episode.episode_id}/end`, end)).toMatchObject({ state: 'pooled' });

    await finishStep(url);
    await expect.poll(() => served?.server.swarm?.describe().version, { timeout: 60_000 }).toBe(3);
    expect(trainedTokensOf(run).slice(0, 2)).toEqual(kept.trainedTokens);
    await served?.close();
    served = undefined;
    expect(await formatOf(run)).toBe(readableFormats.at(-1));
    expect(await verify(run)).toMatchObject({
      isSound: true,
      account: { acknowledged: 24, trained: 24, dropped: 0 },
      steps: 3,
    });
  },
  120_000,
);

/** Three more groups of two: with the group that was begun, the batch of a step. */
async function finishStep(url: string): Promise<void> {
  for (let index = 0; index < 6; index++) {
    const claim = { client: 'newcomer', life: 'one', claim_id: `n${index}`, revision: 'r1', wait_seconds: 5 };
    const { episodes } = (await ask(`${url}/swarm/v1/episodes`, claim)) as {
      readonly episodes: readonly KeptEpisode[];
    };
    const [episode] = episodes;
    if (episode === undefined) throw new Error('There is no place.');
    await call(url, episode, { index: 0, messages: [{ role: 'user', content: 'Go on.' }] });
    const end = { client: 'newcomer', status: 'completed', reward: episode.place };
    await ask(`${url}/swarm/v1/episodes/${episode.episode_id}/end`, end);
  }
}
