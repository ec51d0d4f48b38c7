/**
 * How much time do adapter and tracker add to a call? The overhead is the time of a call of the framework's model minus
 * the engine's time for it. Each call adds one question to a history of a given size, with several numbers of
 * concurrent conversations. The figures are those of the slowest adapter in each cell.
 */
import { setTimeout } from 'node:timers/promises';
import type { AdapterDriver } from '@agentjet/adapter-kit';
import { CallLedger, createTunedModel, createTuner, type Tuner } from '@agentjet/rollout';
import { createContextTracker } from '@agentjet/context-tracker';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { anthropicDriver } from '../../adapters/anthropic-driver.js';
import { aiSdkDriver } from '../../adapters/ai-sdk-driver.js';
import { googleDriver } from '../../adapters/google-driver.js';
import { langgraphDriver } from '../../adapters/langgraph-driver.js';
import { openaiAgentsDriver } from '../../adapters/openai-agents-driver.js';
import { openaiDriver } from '../../adapters/openai-driver.js';
import { reactDriver } from '../../adapters/react-driver.js';
import { type BenchOptions, type BenchResult, numberOption, type OptionTexts } from '../bench.js';
import { createSteadyEngine, type SteadyEngine } from './steady-engine.js';

type Overhead = { readonly p50_ms: number; readonly p99_ms: number };
/** Figures by concurrency, then by size of the history. */
type OverheadResult = Readonly<Record<string, Readonly<Record<string, Overhead>>>>;
type AdapterOverheads = Readonly<Record<string, OverheadResult>>;

const sizes = { '2KB': 2_000, '100KB': 100_000 } as const;
const chatTokenizer = rememberLongTexts(createChatTokenizer(createChatTokenizerFiles('qwen3')));
const answer = chatTokenizer.tokenizer.encode('The answer is 42, since six times seven is that.<|im_end|>');
/** A new conversation begins after this many calls, so the histories stay near the size that they are measured at. */
const callsPerConversation = 16;
/** The number of calls after which the code is compiled. */
const numWarm = 200;
/**
 * The number of calls that the engine answers in a second, at any concurrency. This number times the overhead is the
 * fraction of a core that we use.
 */
const callsPerSecond = 250;

/** The engine takes no processor time here, so one core does all the work. */
export const wallTimeOf = 'one core';

export const optionTexts: OptionTexts = { '--calls <n>': 'default 1500' };

export async function run({ report, args, waitUntilQuiet }: BenchOptions): Promise<BenchResult> {
  const calls = numberOption(args, '--calls', 1500);
  const concurrencies = [1, 32, 256];
  const adapters: Record<string, OverheadResult> = {};
  const add = async <M, H>(driver: AdapterDriver<M, H>): Promise<void> => {
    await waitUntilQuiet();
    report(`measuring ${driver.name}`);
    adapters[driver.name] = await measureAdapter(driver, concurrencies, calls);
  };
  await add(reactDriver);
  await add(openaiDriver);
  await add(anthropicDriver);
  await add(googleDriver);
  await add(langgraphDriver);
  await add(aiSdkDriver);
  await add(openaiAgentsDriver);
  report(formatOverhead(adapters));
  return { summary: worstOf(Object.values(adapters)), details: { adapters, calls, calls_per_second: callsPerSecond } };
}

async function measureAdapter<M, H>(
  driver: AdapterDriver<M, H>,
  concurrencies: readonly number[],
  calls: number,
): Promise<OverheadResult> {
  const result: Record<string, Record<string, Overhead>> = {};
  for (const concurrency of concurrencies) {
    const row: Record<string, Overhead> = {};
    for (const [name, bytes] of Object.entries(sizes))
      row[name] = await measureCell(driver, { concurrency, bytes, calls });
    result[concurrency] = row;
  }
  return result;
}

type Cell = { readonly concurrency: number; readonly bytes: number; readonly calls: number };

/**
 * Measures the calls of several conversations at once. The first call of a conversation is not measured, because it
 * reads the whole history.
 */
async function measureCell<M, H>(driver: AdapterDriver<M, H>, { concurrency, bytes, calls }: Cell): Promise<Overhead> {
  const warm = await openConversation(driver, createSteadyEngine({ answer, concurrency: 1, callsPerSecond }), 2000);
  for (let call = 0; call < numWarm; call++) await warm();
  const engine = createSteadyEngine({ answer, concurrency, callsPerSecond });
  const overheads = await Promise.all(
    Array.from({ length: concurrency }, async (_, index) => {
      // Conversations start one after another, because otherwise the first calls would wait for each other.
      await setTimeout((1000 * index) / callsPerSecond);
      const added: number[] = [];
      while (added.length < calls / concurrency) {
        const ask = await openConversation(driver, engine, bytes);
        for (let call = 0; call < callsPerConversation && added.length < calls / concurrency; call++)
          added.push(await ask());
      }
      return added;
    }),
  );
  return toOverhead(overheads.flat());
}

/**
 * Opens a conversation with a history of this many bytes. The returned function asks a further question, and returns
 * the time in milliseconds that the call took in addition to the engine's time.
 */
async function openConversation<M, H>(
  driver: AdapterDriver<M, H>,
  engine: SteadyEngine,
  bytes: number,
): Promise<() => Promise<number>> {
  const id = `conversation-${nextSeed++}`;
  let seed = 0;
  const model = driver.asModel(
    openTuner(id, engine, () => seed),
    { agentName: 'agent' },
  );
  let { history } = await driver.call(
    model,
    driver.begin(`Conversation ${id}.`, 'lorem ipsum dolor sit amet '.repeat(bytes / 27)),
    { tools: [], sampling: {} },
  );
  return async () => {
    seed = nextSeed++;
    const asked = driver.addQuestion(
      history,
      `And what is ${seed} times seven? Please answer in one sentence, with the reason.`,
    );
    const startedAt = performance.now();
    ({ history } = await driver.call(model, asked, { tools: [], sampling: {} }));
    const elapsedMs = performance.now() - startedAt;
    const engineMs = engine.engineMs.get(seed) ?? 0;
    engine.engineMs.delete(seed);
    return elapsedMs - engineMs;
  };
}

/** `seedOf` returns the seed of the next call. The adapter does not set it, because some APIs have no seed. */
function openTuner(episodeId: string, engine: SteadyEngine, seedOf: () => number): Tuner {
  const tracker = createContextTracker({ episodeId, chatTokenizer });
  const { signal } = new AbortController();
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 1000 };
  return createTuner({
    episodeId,
    signal,
    createModel: (agent) => {
      const ledger = new CallLedger();
      const model = createTunedModel({ agent, tracker, engine, chatTokenizer, sampling, ledger, seed: 0, signal });
      return {
        ...model,
        generate: (request, options) =>
          model.generate({ ...request, sampling: { ...request.sampling, seed: seedOf() } }, options),
      };
    },
  });
}

/**
 * Returns a tokenizer that encodes each long text only once for all conversations. This is fair because first calls,
 * which have the long texts, are not measured.
 */
function rememberLongTexts({ tokenizer, template }: ChatTokenizer): ChatTokenizer {
  const known = new Map<string, Int32Array>();
  const encode = (text: string): Int32Array => {
    if (text.length < 50_000) return tokenizer.encode(text);
    const key = text.replaceAll(/conversation-\d+/g, 'conversation-0');
    const ids = known.get(key) ?? tokenizer.encode(key);
    known.set(key, ids);
    return ids;
  };
  return {
    template,
    tokenizer: {
      ...tokenizer,
      encode,
      decode: (ids) => tokenizer.decode(ids),
      idOf: (token) => tokenizer.idOf(token),
      createStreamDecoder: () => tokenizer.createStreamDecoder(),
      vocabSize: tokenizer.vocabSize,
    },
  };
}

let nextSeed = 1;

function toOverhead(overheads: readonly number[]): Overhead {
  const sorted = overheads.toSorted((left, right) => left - right);
  const at = (share: number): number =>
    Number((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(3));
  return { p50_ms: at(0.5), p99_ms: at(0.99) };
}

function worstOf(results: readonly OverheadResult[]): OverheadResult {
  const [first = {}] = results;
  const worst = (concurrency: string, size: string): Overhead => {
    const cells = results.map((result) => result[concurrency]?.[size] ?? { p50_ms: 0, p99_ms: 0 });
    return {
      p50_ms: Math.max(...cells.map((cell) => cell.p50_ms)),
      p99_ms: Math.max(...cells.map((cell) => cell.p99_ms)),
    };
  };
  return Object.fromEntries(
    Object.entries(first).map(([concurrency, row]) => [
      concurrency,
      Object.fromEntries(Object.keys(row).map((size) => [size, worst(concurrency, size)])),
    ]),
  );
}

function formatOverhead(adapters: AdapterOverheads): string {
  const lines = Object.entries(adapters).flatMap(([name, result]) =>
    Object.entries(result).flatMap(([concurrency, row]) =>
      Object.entries(row).map(([size, { p50_ms: p50, p99_ms: p99 }]) => [
        name,
        concurrency,
        size,
        p50.toFixed(2),
        p99.toFixed(2),
      ]),
    ),
  );
  return [['adapter', 'concurrent', 'history', 'p50 ms', 'p99 ms'], ...lines]
    .map((row) =>
      row
        .map((cell) => cell.padEnd(14))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}
