/** What the embedded backbone offers beyond the contract. */

import type { Backbone, Engine } from '@agentjet/core';
import type { SchedulerStats } from './sampling/scheduler.js';

/** An engine whose weights never change. */
export interface FrozenEngine extends Engine {
  close(): Promise<void>;
}

/** The embedded backbone: one model on the CPU, for sampling and training. */
export interface OnnxBackbone extends Backbone {
  /**
   * Another engine, over a copy of the present weights that later steps do not touch: for opponents and judges. It
   * shares the worker and costs the memory of one more set of weights. Close it when done.
   */
  freeze(): Promise<FrozenEngine>;
  /** Counters of the engine since it was opened; null before its first call. */
  engineStats(): Promise<SchedulerStats | null>;
}
