/**
 * How much processor time does the server of a swarm need, and how much time does a kill cost? It measures the
 * processor time of a claim, of an end, and of a model call beyond that of an ordinary run. Each is compared with a
 * bare echo of the same bytes, in turns in one run. Then it measures two loads, restarts after SIGKILL, and
 * agent-lightning under the same requests. `--only requests` ends after the first measurements. `--against <folder>`
 * compares the processor time of these requests with that of another checkout of this repository.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type BenchOptions,
  type BenchResult,
  choiceOption,
  numberOption,
  textOption,
  type OptionTexts,
} from '../bench.js';
import { compareWithCheckout } from './against.js';
import { AgentLightningServer, agentLightningVersion, installAgentLightning } from './agent-lightning.js';
import { measureOverEcho, round } from './over-echo.js';
import { inParallel } from '../in-parallel.js';
import { Requests } from './requests.js';
import { ServerProcess } from './server-process.js';
import { claim, Conversation, end, playMix, postTasks, wordsOf, type Mix } from './swarm-load.js';

const system = wordsOf(2000);

export const optionTexts: OptionTexts = {
  '--rounds <n>': 'default 15',
  '--only requests': 'ends after claims, ends and calls',
  '--against <folder>': 'compares with another checkout, which is installed and built',
  '--any-load': 'measures on a busy machine, too',
  '--episodes <n>': 'episodes of each load; default 10000',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-swarm-'));
  const isAnyLoad = args.includes('--any-load');
  try {
    const rounds = numberOption(args, '--rounds', 15);
    const against = textOption(args, '--against');
    if (against !== undefined)
      return await compareWithCheckout(path.join(dir, 'requests'), { against, rounds, report });
    const overEcho = await measureOverEcho(path.join(dir, 'requests'), { rounds, isAnyLoad, report });
    if (choiceOption(args, '--only', ['requests']) !== undefined)
      return { summary: { cpu_over_echo: overEcho.ratios }, details: { cpu: overEcho.details }, isPart: true };
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
