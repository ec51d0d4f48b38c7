/**
 * Is the tracker linear in tokens? Three episodes (400 calls with nothing in common; 400 calls that each extend the last,
 * 64k tokens at the end; 2,000 short calls open at once), each at one, two and four times its size. Times are CPU
 * seconds of the whole process, so that other work on the machine does not count. The tracker's own cost is measured
 * with a toy tokenizer in plain code; what it adds to a call, with a BPE tokenizer and a Jinja template.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createToyChatTokenizer } from '@agentjet/context-tracker/testing';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { type BenchOptions, type BenchResult, median, numberOption } from '../bench.js';
import { concurrent, type Episode, extending, type Played, playEpisode, unrelated, type Workload } from './workloads.js';

const workloads = { unrelated: [unrelated, 400], extending: [extending, 400], concurrent: [concurrent, 2000] } as const satisfies Record<string, readonly [Workload, number]>;
const scales = [1, 2, 4] as const;
const largest = Math.max(...scales);

type Measured = { readonly calls: number; readonly tokens: number; readonly cpuSeconds: number; readonly retainedBytes: number; readonly callsMs: readonly number[] };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const rounds = numberOption(args, '--rounds', 9);
  const toy = createToyChatTokenizer();
  const own = Object.fromEntries(Object.entries(workloads).map(([name, [workload, size]]) => [name, measureScales(workload, size, { rounds, chatTokenizer: toy })]));
  for (const [name, list] of Object.entries(own)) report(toLine(name, list));
  const real = createChatTokenizer(createChatTokenizerFiles('chatml'));
  const whole = measure(extending(400, real), 400, { rounds, chatTokenizer: real });
  const [extended] = own['extending'] ?? [];
  const summary = {
    tokens_per_second: Math.round(tokensPerSecond(extended)),
    growth_per_doubling: Object.fromEntries(Object.entries(own).map(([name, list]) => [name, round(growth(list))])),
    call_p50_ms: round(percentile(whole.callsMs, 0.5)),
    call_p99_ms: round(percentile(whole.callsMs, 0.99)),
  };
  report(`a call, BPE and Jinja included: p50 ${summary.call_p50_ms} ms, p99 ${summary.call_p99_ms} ms; the episode at ${Math.round(tokensPerSecond(whole))} tokens/s`);
  return { summary, details: { rounds, time: 'CPU seconds of the best round; of a call, wall time, median of rounds', sizes: Object.fromEntries(Object.entries(own).map(([name, list]) => [name, list.map(toDetails)])), with_bpe_and_jinja: toDetails(whole) } };
}

/**
 * The sizes take turns, so that a slow minute meets all of them; a round plays small episodes as often as makes the
 * same number of calls, so that each size pays its share of garbage collection.
 */
function measureScales(workload: Workload, size: number, options: MeasureOptions): readonly Measured[] {
  const episodes = scales.map((scale) => ({ size: size * scale, times: largest / scale, episode: workload(size * scale, options.chatTokenizer), runs: [] as Run[] }));
  for (const { episode } of episodes.slice(0, 2)) warmUp(episode, options.chatTokenizer);
  for (let round = 0; round < options.rounds; round++) {
    for (const { episode, times, runs } of episodes) runs.push(runOften(episode, times, options.chatTokenizer));
  }
  return episodes.map(({ size: calls, episode, runs }) => summarise(calls, runs, retainedBytes(episode, options.chatTokenizer)));
}

type MeasureOptions = { readonly rounds: number; readonly chatTokenizer: ChatTokenizer };

function measure(episode: Episode, calls: number, { rounds, chatTokenizer }: MeasureOptions): Measured {
  warmUp(episode, chatTokenizer);
  return summarise(calls, Array.from({ length: rounds }, () => runOften(episode, largest, chatTokenizer)), retainedBytes(episode, chatTokenizer));
}

function warmUp(episode: Episode, chatTokenizer: ChatTokenizer): void {
  for (let time = 0; time < 3; time++) playEpisode(episode, chatTokenizer);
}

type Run = Omit<Measured, 'calls' | 'retainedBytes'>;

/** CPU seconds of one episode, as the mean of several. */
function runOften(episode: Episode, times: number, chatTokenizer: ChatTokenizer): Run {
  const start = process.cpuUsage();
  for (let time = 1; time < times; time++) playEpisode(episode, chatTokenizer);
  const { samples, calls } = playEpisode(episode, chatTokenizer);
  const { user, system } = process.cpuUsage(start);
  return { tokens: samples.reduce((sum, { ids }) => sum + ids.length, 0), cpuSeconds: (user + system) / 1e6 / times, callsMs: calls };
}

/** What tracker and samples hold when the episode is over. Apart from the timed rounds: forced collections slow down what follows. */
function retainedBytes(episode: Episode, chatTokenizer: ChatTokenizer): number {
  const before = usedBytes();
  const played: Played = playEpisode(episode, chatTokenizer);
  const bytes = usedBytes() - before;
  return played.samples.length > 0 ? bytes : NaN;
}

/** The best round, and for each call its median over the rounds: whoever else was at work then is left out. */
function summarise(calls: number, runs: readonly Run[], bytes: number): Measured {
  const callsMs = (runs[0]?.callsMs ?? []).map((_, at) => median(runs.map((run) => run.callsMs[at] ?? NaN)));
  return { calls, tokens: runs[0]?.tokens ?? 0, cpuSeconds: Math.min(...runs.map((run) => run.cpuSeconds)), retainedBytes: bytes, callsMs };
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let time = 0; time < 3; time++) collect(); // buffers go one collection later than what held them
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function tokensPerSecond(measured: Measured | undefined): number {
  return measured === undefined ? NaN : measured.tokens / measured.cpuSeconds;
}

/** The worse of time and memory, per doubling, from the smallest to the largest size. */
function growth(list: readonly Measured[]): number {
  const [first, last] = [list[0], list.at(-1)];
  if (first === undefined || last === undefined) return NaN;
  return Math.max(last.cpuSeconds / first.cpuSeconds, last.retainedBytes / first.retainedBytes) ** (1 / (list.length - 1));
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function toDetails(measured: Measured): Readonly<Record<string, number>> {
  const { calls, tokens, cpuSeconds, retainedBytes, callsMs } = measured;
  return { calls, row_tokens: tokens, cpu_seconds: round(cpuSeconds), retained_mib: round(retainedBytes / 2 ** 20), tokens_per_second: Math.round(tokensPerSecond(measured)), call_p50_ms: round(percentile(callsMs, 0.5)), call_p99_ms: round(percentile(callsMs, 0.99)) };
}

function toLine(name: string, list: readonly Measured[]): string {
  const sizes = list.map(({ calls, cpuSeconds, retainedBytes }) => `${calls} calls ${(cpuSeconds * 1000).toFixed(0)} ms ${(retainedBytes / 2 ** 20).toFixed(1)} MiB`);
  return `${name.padEnd(11)} ${sizes.join(' | ')} | growth ${growth(list).toFixed(2)} per doubling`;
}
