import type { WrapModel } from '@agentjet/rollout';
import { openScriptedEpisode, type ScriptedEpisode, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import { BrokenPromise } from './broken-promise.js';
import { checkAnswer, requireSyncModel } from './check-driver.js';
import type { AdapterDriver, DriverAnswer, DriverCall, Feature } from './driver.js';

/** A promise of adapters: the sentence, and the check whether an adapter keeps it. */
export type AdapterPromise = {
  readonly sentence: string;
  /** The promise is checked only if the framework has all of these features. */
  readonly needs?: readonly Feature[];
  /** The promise is checked only if the driver has this function. */
  readonly driverFunction?: 'withoutThinking' | 'addOthersAnswers';
  /** Rejects with a description of the observed behaviour. */
  readonly check: <M, H>(bench: Bench<M, H>) => Promise<void>;
};

/** The functions that a check uses. */
export type Bench<M, H> = {
  readonly driver: AdapterDriver<M, H>;
  /** Opens a new episode with a scripted engine and the tuned model of one agent. */
  open(options: Omit<ScriptedEpisodeOptions, 'chatTokenizer' | 'family'>): EpisodeWithModel<M>;
  begin(question?: string): H;
  call(model: M, history: H, options?: Partial<DriverCall>): Promise<DriverAnswer<H>>;
  stream(
    model: M,
    history: H,
    options?: Partial<DriverCall>,
    onText?: (text: string) => void,
  ): Promise<DriverAnswer<H>>;
};

export type EpisodeWithModel<M> = ScriptedEpisode & { readonly model: M };

export function createBench<M, H>(given: AdapterDriver<M, H>, wrapModel?: WrapModel): Bench<M, H> {
  const driver: AdapterDriver<M, H> = {
    ...given,
    asModel: (tuner, options) => requireSyncModel(given.asModel(tuner, options)),
  };
  const withDefaults = (options: Partial<DriverCall> = {}): DriverCall => ({ tools: [], sampling: {}, ...options });
  return {
    driver,
    open: (options) => {
      const episode = openScriptedEpisode({ ...options, ...(wrapModel !== undefined && { wrapModel }) });
      return { ...episode, model: driver.asModel(episode.tuner, { agentName: 'agent' }) };
    },
    begin: (question = 'What is 1 + 2?') => driver.begin(question, 'You are a calculator.'),
    call: async (model, history, options) =>
      checkAnswer('call', await driver.call(model, history, withDefaults(options))),
    stream: async (model, history, options, onText = () => {}) => {
      if (driver.stream === undefined) throw new Error('The driver says "stream" but it has no function of that name.');
      return checkAnswer('stream', await driver.stream(model, history, withDefaults(options), onText));
    },
  };
}

export function expectEqual(seen: unknown, expected: unknown, what: string): void {
  if (JSON.stringify(seen) !== JSON.stringify(expected)) {
    throw new BrokenPromise(`${what} is ${show(seen)}; it must be ${show(expected)}.`);
  }
}

export function expectTrue(isTrue: boolean, broken: string): void {
  if (!isTrue) throw new BrokenPromise(broken);
}

/** Returns the error that the promise rejects with. */
export async function expectRejection(promise: Promise<unknown>, what: string): Promise<unknown> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error;
  throw new BrokenPromise(`${what} resolved, with ${show(outcome.value)}; it must reject.`);
}

/** Waits until other tasks make the condition true. */
export async function expectSoon(isTrue: () => boolean, broken: () => string): Promise<void> {
  for (let waited = 0; waited < 100; waited++) {
    if (isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new BrokenPromise(broken());
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
