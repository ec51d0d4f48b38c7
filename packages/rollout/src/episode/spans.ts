import { roundTime } from '@agentjet/core';
import type { SpanRecord, Tuner } from '../contract.js';

/** Measures how long a workflow's tools and environments take: the part of an episode outside model calls. */
export class Spans {
  readonly #startedAt = performance.now();
  /** Spans in the order in which they ended. */
  readonly records: SpanRecord[] = [];

  readonly measure: Tuner['span'] = (name, work) => {
    const began = performance.now();
    const note = (hasFailed: boolean): void => {
      const [beganMs, endedMs] = [this.#msAt(began), this.#msAt(performance.now())];
      this.records.push({ name, beganMs, endedMs, hasFailed });
    };
    try {
      const result = work();
      if (!(result instanceof Promise)) {
        note(false);
        return result;
      }
      const noted = result.then(
        (value: unknown) => {
          note(false);
          return value;
        },
        (error: unknown) => {
          note(true);
          throw error;
        },
      );
      return noted as typeof result;
    } catch (error) {
      note(true);
      throw error;
    }
  };

  #msAt(time: number): number {
    return roundTime(time - this.#startedAt);
  }
}
