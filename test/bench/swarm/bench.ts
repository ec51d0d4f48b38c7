/**
 * How much processor time does the server of a swarm need, and how much time does a kill cost? It measures the
 * processor time of a claim, of an end, and of a model call beyond that of an ordinary run. Each is compared with a
 * bare echo of the same bytes, in turns in one run. Then it measures two loads, restarts after SIGKILL, and
 * agent-lightning under the same requests.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BenchOptions, type BenchResult, median, numberOption } from '../bench.js';
import { AgentLightningServer, agentLightningVersion, installAgentLightning } from './agent-lightning.js';
import { inParallel, Requests } from './requests.js';
import { ServerProcess } from './server-process.js';
import { claim, Conversation, end, endBody, playMix, postTasks, wordsOf, type Mix } from './swarm-load.js';

/** If an echo takes longer, the machine is too busy for a result. */
const quietEchoMs = 5;
const system = wordsOf(2000);

/**
 * After this number of rounds, most code is compiled. An end has then been answered about as often as an echo after six
 * rounds.
 */
const warmRounds = 18;

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-swarm-'));
  const isAnyLoad = args.includes('--any-load');
  try {
    const rounds = numberOption(args, '--rounds', 15);
    const overEcho = await measureOverEcho(path.join(dir, 'requests'), { rounds, isAnyLoad, report });
    const mixes = await measureMixes(path.join(dir, 'mixes'), { args, report });
    const restart = await measureRestart(path.join(dir, 'restart'), { args, report });
    const redo = await measureRedo(path.join(dir, 'redo'), report);
    const clientSeconds = await measureClientRestart(path.join(dir, 'client'), report);
    const agentlightning = await compareWithAgentLightning(path.join(dir, 'left'), report);
    const { summary: chatAndCoder, longestStallMs } = mixes;
    return {
      summary: {
        cpu_over_echo: overEcho.ratios,
        mixes: chatAndCoder,
        longest_stall_ms: round(longestStallMs),
        restart_seconds: round(restart.seconds),
        redo_seconds: round(redo.seconds),
        agentlightning,
      },
      details: { cpu: overEcho.details, mixes: mixes.details, restart, redo, client_restart_seconds: clientSeconds },
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

type Over = { readonly claim: number; readonly end: number; readonly call: number };

/**
 * Milliseconds of processor time per request, of one round. `call` is the additional time of a call in comparison with
 * a call of an ordinary run.
 */
type Round = Over & {
  readonly echo: Over;
  readonly swarmCall: number;
  readonly ordinaryCall: number;
  readonly echoP99Ms: number;
};

type EchoOptions = {
  readonly rounds: number;
  readonly isAnyLoad: boolean;
  readonly report: (line: string) => void;
};

async function measureOverEcho(dir: string, { rounds, isAnyLoad, report }: EchoOptions) {
  const requests = new Requests(concurrency);
  const servers = {
    echo: await ServerProcess.start('echo', dir),
    endpoint: await ServerProcess.start('endpoint', dir),
    swarm: await ServerProcess.start('swarm', dir),
  };
  const measured: Round[] = [];
  try {
    await postTasks(requests, servers.swarm.url, 2000);
    for (let warm = 0; warm < warmRounds; warm++) await measureRound(requests, servers, 400);
    for (let tries = 0; measured.length < rounds && tries < 4 * rounds; tries++) {
      const one = await measureRound(requests, servers, 400);
      const isQuiet = one.echoP99Ms <= quietEchoMs;
      report(`round ${tries + 1}: ${JSON.stringify(rounded(one))}${isQuiet ? '' : ' (busy)'}`);
      if (isQuiet || isAnyLoad) measured.push(one);
    }
  } finally {
    requests.close();
    for (const server of Object.values(servers)) await server.kill();
  }
  const busy = `The echo's p99 was above ${quietEchoMs} ms in all rounds: the machine is too busy. Stop other work, or pass --any-load.`;
  const ratios =
    measured.length === 0
      ? { claim: null, end: null, call: null, too_busy: busy }
      : {
          claim: round(median(measured.map(({ claim: ms, echo }) => ms / echo.claim))),
          end: round(median(measured.map(({ end: ms, echo }) => ms / echo.end))),
          call: round(median(measured.map(({ call, echo }) => call / echo.call))),
        };
  return { ratios, details: { concurrency, rounds: measured, is_any_load: isAnyLoad } };
}

const rounded = (values: Round): unknown =>
  JSON.parse(JSON.stringify(values, (_key, value: unknown) => (typeof value === 'number' ? round(value) : value)));

type Servers = Readonly<Record<'echo' | 'endpoint' | 'swarm', ServerProcess>>;

/** Requests in flight at the same time, from as many clients over as many connections. */
const concurrency = 64;
const callsPerEpisode = 4;
/** An echo is so short that an equal number of them would take too little time to be measured well. */
const echoesPerRequest = 4;

/**
 * Runs the same episodes at the swarm and at the endpoint of an ordinary run, and an echo of the same size before each
 * part of them. For a claim the echo has the size of the answer, which is larger than its request. For an end and a
 * call it has the size of the body.
 */
async function measureRound(requests: Requests, { echo, endpoint, swarm }: Servers, count: number): Promise<Round> {
  const numbers = Array.from({ length: count }, (_none, index) => index);
  const perRequest = async (server: ServerProcess, work: () => Promise<unknown>, of = count): Promise<number> => {
    const { cpuMs } = await server.usage();
    await work();
    return ((await server.usage()).cpuMs - cpuMs) / of;
  };
  const echoNumbers = Array.from({ length: count * echoesPerRequest }, (_none, index) => index);
  const sendEchoes = (body: string): Promise<number> =>
    perRequest(
      echo,
      () => inParallel(echoNumbers, concurrency, () => requests.send(`${echo.url}/echo`, body)),
      echoNumbers.length,
    );
  const echoP99Ms = await measureP99(requests, echo);
  const echoClaim = await sendEchoes(JSON.stringify({ episodes: [await claim(requests, swarm.url)] }));
  const claimed: Awaited<ReturnType<typeof claim>>[] = [];
  const claimMs = await perRequest(swarm, async () => {
    claimed.push(...(await inParallel(numbers, concurrency, () => claim(requests, swarm.url))));
  });
  const talk = async (all: readonly Conversation[]): Promise<void> => {
    for (let call = 0; call < callsPerEpisode; call++)
      await inParallel(all, concurrency, (one) => one.ask('What is 6 times 7?'));
  };
  const own = claimed.map(({ base_url, key }) => new Conversation(requests, `${base_url}/main/v1`, { key, system }));
  const swarmCall = await perRequest(swarm, () => talk(own), count * callsPerEpisode);
  const echoCall = await sendEchoes(own[0]?.body ?? '');
  const ordinaryCall = await perRequest(
    endpoint,
    async () => {
      const opened = await endpoint.openEpisodes(count);
      await talk(opened.map(({ url, key }) => new Conversation(requests, url, { key, system })));
    },
    count * callsPerEpisode,
  );
  await endpoint.openEpisodes(0); // ends the earlier episodes, as an end does in the swarm
  const echoEnd = await sendEchoes(JSON.stringify(endBody(1)));
  const endMs = await perRequest(swarm, () => inParallel(claimed, concurrency, (one) => end(requests, swarm.url, one)));
  const echoes = { claim: echoClaim, call: echoCall, end: echoEnd };
  return {
    echo: echoes,
    claim: claimMs,
    end: endMs,
    call: swarmCall - ordinaryCall,
    swarmCall,
    ordinaryCall,
    echoP99Ms,
  };
}

/** Measures the time of single echoes, one after another. */
async function measureP99(requests: Requests, { url }: ServerProcess): Promise<number> {
  const latencies: number[] = [];
  for (let index = 0; index < 100; index++) {
    const start = performance.now();
    await requests.send(`${url}/echo`, JSON.stringify(endBody(1)));
    latencies.push(performance.now() - start);
  }
  return latencies.toSorted((a, b) => a - b)[98] ?? Infinity;
}

type Options = { readonly args: readonly string[]; readonly report: (line: string) => void };

async function measureMixes(dir: string, { args, report }: Options) {
  const episodes = numberOption(args, '--episodes', 10_000);
  const all: Readonly<Record<'chat' | 'coder', Mix>> = {
    chat: { clients: Math.min(1000, episodes), episodes, calls: 2, bytes: 2000 },
    coder: { clients: 100, episodes: Math.max(20, Math.round(episodes / 50)), calls: 5, bytes: 300_000 },
  };
  const summary: Record<string, { readonly calls_per_second: number; readonly rss_mb: number }> = {};
  const details: Record<string, unknown> = {};
  let longestStallMs = 0;
  for (const [name, mix] of Object.entries(all)) {
    report(`${name}: ${mix.clients} clients, ${mix.episodes} episodes, ${mix.calls} calls each of ${mix.bytes} bytes`);
    const requests = new Requests(mix.clients);
    const server = await ServerProcess.start('swarm', path.join(dir, name));
    try {
      await postTasks(requests, server.url, 2000);
      await server.lookForStalls();
      const before = await server.usage();
      const { numCalls } = await playMix(requests, server.url, mix);
      const after = await server.usage();
      const cpuMs = (after.cpuMs - before.cpuMs) / numCalls;
      summary[name] = { calls_per_second: round(1000 / cpuMs), rss_mb: Math.round(after.rssMb) };
      details[name] = { ...mix, cpu_ms_per_call: round(cpuMs), longest_stall_ms: round(after.longestStallMs) };
      longestStallMs = Math.max(longestStallMs, after.longestStallMs);
      report(`${name}: ${JSON.stringify(summary[name])}`);
    } finally {
      requests.close();
      await server.kill();
    }
  }
  return { summary, details, longestStallMs };
}

/** Measures the time from SIGKILL to the first answered call, with a store that has the records of a long day. */
async function measureRestart(dir: string, { args, report }: Options) {
  const episodes = numberOption(args, '--episodes', 10_000);
  const calls = 10;
  const requests = new Requests(16);
  const first = await ServerProcess.start('swarm', dir);
  await postTasks(requests, first.url, 2000);
  report(`restart: filling a store with ${episodes} episodes and ${episodes * calls} calls`);
  await first.fill(episodes, calls);
  const running = await claim(requests, first.url);
  const conversation = (url: string): Conversation =>
    new Conversation(requests, `${url}${new URL(running.base_url).pathname}/main/v1`, { key: running.key, system });
  await conversation(first.url).ask('What is 6 times 7?');
  const start = performance.now();
  await first.kill();
  const second = await ServerProcess.start('swarm', dir);
  await conversation(second.url).ask('And 7 times 6?');
  const seconds = (performance.now() - start) / 1000;
  const { cpuMs } = await second.usage();
  await second.kill();
  requests.close();
  report(`restart: ${round(seconds)} s, ${round(cpuMs / 1000)} s of processor time`);
  return { seconds, cpu_seconds: cpuMs / 1000, episodes, calls: episodes * calls };
}

/**
 * Measures how long a start takes that repeats two steps of the nano model from recorded tokens. The time of a start
 * without repeated steps is subtracted.
 */
async function measureRedo(dir: string, report: (line: string) => void) {
  const requests = new Requests(16);
  const stepOf = async ({ url }: ServerProcess): Promise<number> => {
    const response = await fetch(`${url}/swarm/v1/server`);
    const { step, version, state } = (await response.json()) as { step: number; version: number; state: string };
    return state === 'recovering' || state === 'booting' ? -1 : Math.min(step, version);
  };
  const untilStep = async (server: ServerProcess, step: number): Promise<void> => {
    while ((await stepOf(server)) < step) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const timeStart = async (step: number): Promise<{ readonly seconds: number; readonly server: ServerProcess }> => {
    const start = performance.now();
    const server = await ServerProcess.start('nano', dir);
    await untilStep(server, step);
    return { seconds: (performance.now() - start) / 1000, server };
  };
  const { seconds: bare, server: first } = await timeStart(0);
  await postTasks(requests, first.url, 100);
  for (let episode = 0; episode < 2 * 16; episode++) {
    const claimed = await claim(requests, first.url);
    await new Conversation(requests, `${claimed.base_url}/main/v1`, { key: claimed.key, system: 'Walk.' }).ask(
      'Where to?',
    );
    await end(requests, first.url, claimed, { reward: episode % 2 });
  }
  await untilStep(first, 2);
  await first.kill();
  const { seconds: withRedo, server: second } = await timeStart(2);
  await second.kill();
  requests.close();
  report(`redo: ${round(withRedo)} s with two steps to make again, ${round(bare)} s without`);
  return { seconds: Math.max(0, withRedo - bare), start_seconds: bare, start_with_redo_seconds: withRedo, steps: 2 };
}

/**
 * Measures the time from the sudden end of a client to its first episode after it was started again under the same
 * name.
 */
async function measureClientRestart(dir: string, report: (line: string) => void): Promise<number> {
  const requests = new Requests(2);
  const server = await ServerProcess.start('nano', dir);
  await postTasks(requests, server.url, 100);
  const first = await claim(requests, server.url);
  const body = { client: 'bench', life: 'bench', episodes: [first.episode_id] };
  await requests.post(`${server.url}/swarm/v1/heartbeats`, body); // a client sends a heartbeat once a second
  const start = performance.now();
  const again = { claim_id: 'again', client: 'bench', life: 'next', wait_seconds: 10 };
  for (;;) {
    const response = await fetch(`${server.url}/swarm/v1/episodes`, {
      method: 'POST',
      body: JSON.stringify(again),
    });
    if (response.status === 201) break;
    const { error } = (await response.json()) as { readonly error?: { readonly retry_after_ms?: number } };
    await new Promise((resolve) => setTimeout(resolve, error?.retry_after_ms ?? 100));
  }
  const seconds = (performance.now() - start) / 1000;
  requests.close();
  await server.kill();
  report(`client: ${round(seconds)} s from its death to an episode of its next life`);
  return round(seconds);
}

const numResults = 1000;

/**
 * Compares a swarm with agent-lightning: how many of 1,000 acknowledged results are left after SIGKILL, and how much
 * time a claim and an end take.
 */
async function compareWithAgentLightning(dir: string, report: (line: string) => void) {
  const ours = await measureOwn(dir);
  report(`ours: ${JSON.stringify(ours)}`);
  const reason = process.platform === 'linux' ? installAgentLightning(report) : 'processor time is read from /proc';
  if (reason !== undefined) return { skipped: reason, ours };
  const server = await AgentLightningServer.start();
  await server.play(100);
  const cpuMs = await server.play(numResults);
  const acknowledged = (await server.countSucceeded()) - 100;
  await server.kill();
  const again = await AgentLightningServer.start();
  const left = await again.countSucceeded();
  await again.kill();
  const theirs = { claim: round(cpuMs.claim), end: round(cpuMs.end) };
  report(`agent-lightning: ${JSON.stringify(theirs)} ms, ${left} of ${acknowledged} results left`);
  return { version: agentLightningVersion, cpu_ms: theirs, acknowledged, left_after_sigkill: left, ours };
}

async function measureOwn(dir: string) {
  const requests = new Requests(16);
  const numbers = Array.from({ length: numResults }, (_none, index) => index);
  const server = await ServerProcess.start('swarm', dir);
  await postTasks(requests, server.url, 2000);
  const warm = await inParallel(numbers.slice(0, 100), 16, () => claim(requests, server.url));
  await inParallel(warm, 16, (one) => end(requests, server.url, one));
  const start = (await server.usage()).cpuMs;
  const claimed = await inParallel(numbers, 16, () => claim(requests, server.url));
  const between = (await server.usage()).cpuMs;
  await inParallel(claimed, 16, (one) => end(requests, server.url, one));
  const done = (await server.usage()).cpuMs;
  await server.kill();
  const again = await ServerProcess.start('swarm', dir);
  const { account } = (await (await fetch(`${again.url}/swarm/v1/server`)).json()) as {
    readonly account: { readonly acknowledged: number };
  };
  await again.kill();
  requests.close();
  return {
    cpu_ms: { claim: round((between - start) / numResults), end: round((done - between) / numResults) },
    acknowledged: numResults,
    left_after_sigkill: account.acknowledged - 100,
  };
}
