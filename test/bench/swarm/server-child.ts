/**
 * A server in its own process: `server-child.ts <echo|endpoint|swarm|nano> <folder>`. It prints `{ url, key }` when it
 * listens, and answers `usage` with its processor time, its memory and its longest stall.
 */
import { serve } from '@hono/node-server';
import { configuration } from 'agentjet';
import { startEndpointServer } from '@agentjet/endpoint';
import { createRules, LmdbStore } from '@agentjet/ledger';
import { openEpisode, type OpenEpisode } from '@agentjet/rollout';
import { serveSwarm, SwarmServer, type SwarmServerOptions } from '@agentjet/swarm-server';

import { Hono } from 'hono';
import { existsSync, readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { measureStalls } from '../loop/cpu-stalls.js';
import { startSoaked } from '../soak/soaked-swarm.js';
import { fillStore } from './fill-store.js';
import { chatTokenizer, openSteadyModel, steadyEngine } from './steady-run.js';

const [kind = '', dir = ''] = process.argv.slice(2);

type Serving = {
  readonly url: string;
  readonly key: string;
  readonly fill?: (request: FillRequest) => Promise<object>;
  readonly open?: (count: number) => object;
  readonly failOnce?: () => void;
};
type FillRequest = { readonly episodes: number; readonly calls: number };

const settings: SwarmServerOptions['settings'] = {
  rules: { ...createRules(), batchSize: 1_000_000, oversubscribe: 1, maxStaleness: 1_000_000 },
  numPlaces: 8,
  capacity: 1_000_000,
  tickMs: 500,
  leaseMs: 3_600_000,
  aliveMs: 0,
  stragglerPatienceMs: null,
  testFreq: 0,
  numEvaluationTasks: 0,
  evaluationPlaces: 1,
  evaluationPatienceMs: 1000,
  saveFreq: 1_000_000,
  keptCheckpoints: 2,
  maxSteps: Infinity,
  totalEpochs: 1_000_000,
  seed: 1,
  maxFileBytes: 256 * 2 ** 20,
  maxFileEntries: 1_000_000,
};

/** Starts a server that does only what every server does: it reads a JSON body and writes one. */
async function startEcho(): Promise<Serving> {
  const app = new Hono();
  app.post('/echo', async (context) => context.json(await context.req.json<object>()));
  const port = await new Promise<number>((resolve) => {
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () =>
      resolve((server.address() as AddressInfo).port),
    );
    if ('keepAliveTimeout' in server) server.keepAliveTimeout = 600_000;
  });
  return { url: `http://127.0.0.1:${port}`, key: '' };
}

/** Serves the model calls of an ordinary run, without a swarm. */
async function startEndpoint(): Promise<Serving> {
  const host = await startEndpointServer();
  // Keep the process alive with a timer, because the endpoint does not.
  setInterval(() => undefined, 60_000);
  let episodes: readonly OpenEpisode[] = [];
  const open = (count: number): readonly { readonly url: string; readonly key: string }[] => {
    for (const episode of episodes) episode.finish();
    episodes = Array.from({ length: count }, () =>
      openEpisode(
        {
          policy: { kind: 'engine', engine: steadyEngine, chatTokenizer },
          sampling: { temperature: 1, topP: 1, topK: -1, maxTokens: 256 },
          endpointHost: host,
        },
        { episodeId: `e${numOpened++}`, seed: 1 },
      ),
    );
    return episodes.map((episode) => {
      const { baseUrl, apiKey } = episode.createTuner().asOpenAIEndpoint({ agentName: 'main' });
      return { url: baseUrl, key: apiKey };
    });
  };
  return { url: '', key: '', open };
}

let numOpened = 0;

/** Starts a server that refuses requests without a key. */
const startGuarded = (): Promise<Serving> => startSwarm({ needsKey: true, limits: { maxMs: 2000 } });

async function startSwarm(app: SwarmServerOptions['app'] = { needsKey: false }): Promise<Serving> {
  const server = await SwarmServer.start({
    openStore: () => LmdbStore.open(`${dir}/ledger`, { takeOver: true }),
    openModel: (records) => openSteadyModel(dir, records),
    settings,
    app,
  });
  const { swarm } = server;
  if (swarm === undefined) throw new Error('There is no swarm.');
  return { url: server.url, key: server.firstKey ?? '', fill: (request) => fillStore(swarm, request) };
}

async function startNano(): Promise<Serving> {
  const config = configuration.create({
    experimentDir: dir,
    model: { path: 'nano' },
    data: { trainBatchSize: 4 },
    rollout: { numRepeat: 4, maxResponseLengthInOneTurn: 32 },
    trainerCommon: { saveFreq: 1000, totalEpochs: 1000 },
    onnx: { numThreads: 1 },
  });
  const options = { config, composition: configuration, port: 0, takeOver: true, app: { needsKey: false } };
  const { server } = await serveSwarm({ ...options, onNotice: () => undefined });
  return { url: server.url, key: '' };
}

const kinds: Readonly<Record<string, () => Promise<Serving>>> = {
  echo: startEcho,
  endpoint: startEndpoint,
  swarm: () => startSwarm(),
  guarded: startGuarded,
  soak: async () => ({ key: '', ...(await startSoaked(dir, settings)) }),
  nano: startNano,
};

const start = kinds[kind];
if (start === undefined) throw new Error(`There is no server of the kind "${kind}".`);
const { fill, open, failOnce, ...serving } = await start();
/** Stalls are measured only on request, because this reads a file of the kernel every ten milliseconds. */
let stopStalls: (() => readonly number[]) | undefined;

type Question = { readonly ask: string; readonly id: number; readonly count: number } & FillRequest;

process.on('message', (message: Question) => {
  const answer = (value: object): void => void process.send?.({ id: message.id, ...value });
  if (message.ask === 'usage') answer(readUsage());
  if (message.ask === 'fail') answer({ failed: failOnce?.() !== undefined });
  if (message.ask === 'open') answer({ opened: open?.(message.count) ?? [] });
  if (message.ask === 'exit') process.exit(0);
  if (message.ask === 'stalls') answer({ isLooking: (stopStalls ??= measureStalls()) !== undefined });
  if (message.ask === 'fill') void fill?.(message).then(answer);
});

function readUsage(): object {
  const { user, system } = process.cpuUsage();
  const stalls = stopStalls?.() ?? [];
  if (stopStalls !== undefined) stopStalls = measureStalls();
  return {
    cpuMs: (user + system) / 1000,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length + numOpenFiles(),
    longestStallMs: Math.max(0, ...stalls),
  };
}

/** Counts the open files that Linux lists. Other systems give 0. */
function numOpenFiles(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0;
}

process.send?.({ ready: true, ...serving });
