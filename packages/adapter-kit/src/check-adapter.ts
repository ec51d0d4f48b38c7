import { toErrorMessage } from '@agentjet/core';
import type { WrapModel } from '@agentjet/rollout';
import { BrokenPromise } from './broken-promise.js';
import { checkDriver } from './check-driver.js';
import type { AdapterDriver } from './driver.js';
import { type AdapterPromise, type Bench, createBench } from './promise.js';
import { answerPromises } from './promises/answers.js';
import { endingPromises } from './promises/endings.js';
import { identityPromises } from './promises/identity.js';
import { historyPromises } from './promises/history.js';
import { recordPromises } from './promises/record.js';
import { samplingPromises } from './promises/sampling.js';

/** The result of checking one promise. */
export type PromiseResult = {
  readonly promise: string;
  /** `skipped` means that the framework or the driver lacks something that the promise needs. */
  readonly outcome: 'kept' | 'broken' | 'skipped';
  /** The observed behaviour, or the features that the framework lacks. */
  readonly detail?: string;
};

/** The results of all promises, in a fixed order. `isKept` is true if none is broken; skipped promises do not count. */
export type AdapterReport = {
  readonly name: string;
  readonly isKept: boolean;
  readonly results: readonly PromiseResult[];
};

const promises: readonly AdapterPromise[] = [
  ...identityPromises,
  ...answerPromises,
  ...samplingPromises,
  ...recordPromises,
  ...historyPromises,
  ...endingPromises,
];

/** The time limit of one promise. */
const limitMs = 10_000;

/**
 * Runs the contract suite. It checks every promise that an adapter makes to its users and to the training, with a
 * scripted engine and the real tracker, and describes the broken promises. It needs no test runner. Rejects with
 * TypeError for a driver that it cannot use. `wrapModel` puts something between the adapter and the tuned model, such
 * as a network.
 */
export async function checkAdapter<M, H>(
  driver: AdapterDriver<M, H>,
  { wrapModel }: { readonly wrapModel?: WrapModel } = {},
): Promise<AdapterReport> {
  checkDriver(driver);
  const bench = createBench(driver, wrapModel);
  const results: PromiseResult[] = [];
  for (const promise of promises) results.push(await tryPromise(promise, bench));
  return { name: driver.name, isKept: results.every(({ outcome }) => outcome !== 'broken'), results };
}

async function tryPromise<M, H>(
  { sentence, needs = [], driverFunction, check }: AdapterPromise,
  bench: Bench<M, H>,
): Promise<PromiseResult> {
  const missing = needs.filter((feature) => !bench.driver.says.includes(feature));
  if (missing.length > 0)
    return { promise: sentence, outcome: 'skipped', detail: `the framework has no ${missing.join(', ')}` };
  if (driverFunction !== undefined && bench.driver[driverFunction] === undefined)
    return { promise: sentence, outcome: 'skipped', detail: `the driver has no ${driverFunction}` };
  try {
    await within(check(bench), limitMs);
    return { promise: sentence, outcome: 'kept' };
  } catch (error) {
    return {
      promise: sentence,
      outcome: 'broken',
      detail: error instanceof BrokenPromise ? error.message : `It threw ${toErrorMessage(error)}`,
    };
  }
}

async function within<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new BrokenPromise(`It was not settled after ${milliseconds / 1000} s.`)),
      milliseconds,
    );
  });
  return Promise.race([work, expired]).finally(() => clearTimeout(timer));
}

/** Formats the report as text. Broken promises come first, with the observed behaviour. */
export function formatReport({ name, results }: AdapterReport): string {
  const marks = { broken: 'BROKEN ', kept: 'kept   ', skipped: 'skipped' };
  const lines = (['broken', 'kept', 'skipped'] as const).flatMap((outcome) =>
    results
      .filter((result) => result.outcome === outcome)
      .map(
        ({ promise, detail }) => `${marks[outcome]} ${promise}${detail === undefined ? '' : `\n          ${detail}`}`,
      ),
  );
  const count = (outcome: PromiseResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  return [...lines, `${name}: ${count('kept')} kept, ${count('broken')} broken, ${count('skipped')} skipped`].join(
    '\n',
  );
}
