import { firstWorkers } from '@agentjet/core';
import { Semaphore } from '@agentjet/rollout';

/** Twice as many episodes at the same time must sample this many times as fast. Otherwise their number is halved again. */
const worthwhile = 1.15;

/** A larger number may begin with new kernels and graphs, so its first batch may be slow. */
const batchesToJudge = 2;

export type SampledBatch = { readonly episodes: number; readonly tokens: number; readonly seconds: number };

type WorkerOptions = {
  readonly maxEnvWorker: number | 'auto';
  /** Whether the backbone may sample faster with more calls at the same time. */
  readonly samplesWide: boolean;
};

/**
 * The number of episodes that run at the same time. If the configuration leaves it open, it is doubled for as long as
 * this makes sampling faster. The first batch is not compared, because it compiles.
 */
export class WorkerCount {
  /** The places of the episodes of all batches that are sampled at the same time. */
  readonly workers: Semaphore;
  #now: number;
  #isOpen: boolean;
  #isFirst = true;
  /** The best speeds in tokens a second, before the last doubling and since then. */
  #before: number | undefined;
  #speed = 0;
  #numBatches = 0;

  constructor({ maxEnvWorker, samplesWide }: WorkerOptions) {
    this.#now = firstWorkers({ maxEnvWorker }, { samplesWide });
    this.#isOpen = maxEnvWorker === 'auto' && samplesWide;
    this.workers = new Semaphore(this.#now);
  }

  get now(): number {
    return this.#now;
  }

  /** Takes the speed of a batch. Returns a notice if the number of episodes has been judged. */
  measured({ episodes, tokens, seconds }: SampledBatch): string | undefined {
    if (!this.#isOpen || tokens === 0 || seconds <= 0) return undefined;
    if (this.#isFirst) {
      this.#isFirst = false;
      return undefined;
    }
    this.#numBatches++;
    this.#speed = Math.max(this.#speed, tokens / seconds);
    const notice = this.#before === undefined ? undefined : this.#judge(this.#before);
    if (this.#isOpen && this.#before === undefined && episodes > this.#now) this.#double();
    return notice;
  }

  /** Keeps the larger number if it is faster. If it is not, goes back to half of it for the rest of the run. */
  #judge(before: number): string | undefined {
    const ratio = this.#speed / before;
    const isFaster = ratio >= worthwhile;
    if (!isFaster && this.#numBatches < batchesToJudge) return undefined;
    this.#before = undefined;
    const larger = this.#now;
    if (!isFaster) {
      this.#isOpen = false;
      this.#resize(larger / 2);
    }
    return `${larger} episodes at the same time sample ${ratio.toFixed(2)} times as fast as ${larger / 2}, so ${this.#now} run at the same time (rollout.max_env_worker: auto).`;
  }

  #double(): void {
    this.#before = this.#speed;
    this.#speed = 0;
    this.#numBatches = 0;
    this.#resize(2 * this.#now);
  }

  #resize(count: number): void {
    this.#now = count;
    this.workers.resize(count);
  }
}
