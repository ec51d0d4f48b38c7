/**
 * Is the tracker linear in tokens? It plays three episodes (400 calls with nothing in common; 400 calls that each
 * extend the last, 64k tokens at the end; 2,000 short calls open at once), each at one, two and four times its size.
 * Times are CPU seconds of the whole process, so other work on the machine does not count.
 *
 * Everything is measured twice. `whole` is the tracker as it is used, over a BPE tokenizer and a Jinja template; growth
 * and the times of a call come from it. `own` is over a toy tokenizer and a template in plain code, so that only the
 * tracker's time is left; the tokens per second come from it. Each request repeats its whole history, and it takes some
 * nanoseconds per message to compare the history with what was seen. Only this part grows faster than the tokens. It is
 * the main reason why the growth of `own` is above 2.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createToyChatTokenizer } from '@agentjet/context-tracker/testing';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { type BenchOptions, type BenchResult, median, numberOption, type OptionTexts } from '../bench.js';
import {
  concurrent,
  type Episode,
  extending,
  type Played,
  playEpisode,
  unrelated,
  type Workload,
} from './workloads.js';

const workloads = {
  unrelated: [unrelated, 400],
  extending: [extending, 400],
  concurrent: [concurrent, 2000],
} as const satisfies Record<string, readonly [Workload, number]>;
const scales = [1, 2, 4] as const;
const largest = Math.max(...scales);

type Measured = {
  readonly calls: number;
  readonly tokens: number;
  readonly cpuSeconds: number;
  readonly retainedBytes: number;
  readonly callsMs: readonly number[];
};

export const optionTexts: OptionTexts = { '--rounds <n>': 'default 9' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const rounds = numberOption(args, '--rounds', 9);
  const measureAll = (kind: string, chatTokenizer: ChatTokenizer): Figures => {
    const figures = mapValues(workloads, ([workload, size]) =>
      measureScales(workload, size, { rounds, chatTokenizer }),
    );
    for (const [name, list] of Object.entries(figures)) report(`${kind} ${toLine(name, list)}`);
    return figures;
  };
  const own = measureAll('own  ', createToyChatTokenizer());
  const whole = measureAll('whole', createChatTokenizer(createChatTokenizerFiles('chatml')));
  const [call] = whole.extending;
  const summary = {
    tokens_per_second: Math.round(tokensPerSecond(own.extending[0])),
    growth_per_doubling: mapValues(whole, (list) => round(growth(list))),
    call_p50_ms: round(percentile(call?.callsMs ?? [], 0.5)),
    call_p99_ms: round(percentile(call?.callsMs ?? [], 0.99)),
  };
  report(
    `own ${summary.tokens_per_second} tokens/s, whole ${Math.round(tokensPerSecond(call))} tokens/s; a call p50 ${summary.call_p50_ms} ms, p99 ${summary.call_p99_ms} ms`,
  );
  const toAllDetails = (figures: Figures) => ({
    growth_per_doubling: mapValues(figures, (list) => round(growth(list))),
    sizes: mapValues(figures, (list) => list.map(toDetails)),
  });
  return {
    summary,
    details: {
      rounds,
      time: 'CPU seconds of the best round; of a call, wall time, median of rounds',
      whole: toAllDetails(whole),
      own: toAllDetails(own),
    },
  };
}

type Figures = Readonly<Record<keyof typeof workloads, readonly Measured[]>>;

function mapValues<Key extends string, From, To>(
  values: Readonly<Record<Key, From>>,
  change: (value: From) => To,
): Readonly<Record<Key, To>> {
  return Object.fromEntries(Object.entries<From>(values).map(([key, value]) => [key, change(value)])) as Record<
    Key,
    To
  >;
}

/**
 * The sizes take turns, so a slow minute affects all of them. A round plays small episodes so often that they make the
 * same number of calls.
 */
function measureScales(workload: Workload, size: number, options: MeasureOptions): readonly Measured[] {
  const episodes = scales.map((scale) => ({
    size: size * scale,
    times: largest / scale,
    episode: workload(size * scale, options.chatTokenizer),
    runs: [] as Run[],
  }));
  for (const { episode } of episodes.slice(0, 2)) warmUp(episode, options.chatTokenizer);
  for (let round = 0; round < options.rounds; round++) {
    for (const { episode, times, runs } of episodes) runs.push(runOften(episode, times, options.chatTokenizer));
  }
  return episodes.map(({ size: calls, episode, runs }) =>
    summarise(calls, runs, retainedBytes(episode, options.chatTokenizer)),
  );
}

type MeasureOptions = { readonly rounds: number; readonly chatTokenizer: ChatTokenizer };

function warmUp(episode: Episode, chatTokenizer: ChatTokenizer): void {
  for (let time = 0; time < 3; time++) playEpisode(episode, chatTokenizer);
}

type Run = Omit<Measured, 'calls' | 'retainedBytes'>;

/**
 * Returns CPU seconds of one episode, as the mean of several, which are all kept until the last is over. The garbage
 * collector moves living objects, so each size must keep the same amount alive.
 */
function runOften(episode: Episode, times: number, chatTokenizer: ChatTokenizer): Run {
  const start = process.cpuUsage();
  const played = Array.from({ length: times }, () => playEpisode(episode, chatTokenizer));
  const { user, system } = process.cpuUsage(start);
  const { samples, calls } = played.at(-1) ?? { samples: [], calls: [] };
  return {
    tokens: samples.reduce((sum, { ids }) => sum + ids.length, 0),
    cpuSeconds: (user + system) / 1e6 / times,
    callsMs: calls,
  };
}

/**
 * Measures the memory of tracker and samples when the episode is over, as the median of several measurements, because
 * the remains of an earlier episode may be collected during a measurement. It is separate from the timed rounds,
 * because forced collections slow down later work.
 */
function retainedBytes(episode: Episode, chatTokenizer: ChatTokenizer): number {
  return median(Array.from({ length: 5 }, () => retainedOnce(episode, chatTokenizer)));
}

function retainedOnce(episode: Episode, chatTokenizer: ChatTokenizer): number {
  const before = usedBytes();
  const played: Played = playEpisode(episode, chatTokenizer);
  const bytes = usedBytes() - before;
  return played.samples.length > 0 ? bytes : NaN;
}

/**
 * Takes the best round, and for each call its median over the rounds, which excludes most of the other work on the
 * machine.
 */
function summarise(calls: number, runs: readonly Run[], bytes: number): Measured {
  const callsMs = (runs[0]?.callsMs ?? []).map((_, at) => median(runs.map((run) => run.callsMs[at] ?? NaN)));
  return {
    calls,
    tokens: runs[0]?.tokens ?? 0,
    cpuSeconds: Math.min(...runs.map((run) => run.cpuSeconds)),
    retainedBytes: bytes,
    callsMs,
  };
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let time = 0; time < 3; time++) collect(); // buffers are freed one collection later than their owners
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function tokensPerSecond(measured: Measured | undefined): number {
  return measured === undefined ? NaN : measured.tokens / measured.cpuSeconds;
}

/** Returns the worse growth of time and memory, per doubling, from the smallest to the largest size. */
function growth(list: readonly Measured[]): number {
  const [first, last] = [list[0], list.at(-1)];
  if (first === undefined || last === undefined) return NaN;
  return (
    Math.max(last.cpuSeconds / first.cpuSeconds, last.retainedBytes / first.retainedBytes) ** (1 / (list.length - 1))
  );
}

function percentile(values: readonly number[], share: number): number {
  return (
    values.toSorted((left, right) => left - right)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
    NaN
  );
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function toDetails(measured: Measured): Readonly<Record<string, number>> {
  const { calls, tokens, cpuSeconds, retainedBytes, callsMs } = measured;
  return {
    calls,
    row_tokens: tokens,
    cpu_seconds: round(cpuSeconds),
    retained_mib: round(retainedBytes / 2 ** 20),
    tokens_per_second: Math.round(tokensPerSecond(measured)),
    call_p50_ms: round(percentile(callsMs, 0.5)),
    call_p99_ms: round(percentile(callsMs, 0.99)),
  };
}

function toLine(name: string, list: readonly Measured[]): string {
  const sizes = list.map(
    ({ calls, cpuSeconds, retainedBytes }) =>
      `${calls} calls ${(cpuSeconds * 1000).toFixed(0)} ms ${(retainedBytes / 2 ** 20).toFixed(1)} MiB`,
  );
  return `${name.padEnd(11)} ${sizes.join(' | ')} | growth ${growth(list).toFixed(2)} per doubling`;
}
