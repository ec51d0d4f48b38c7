import { createRandom, type Engine } from '@agentjet/core';

/**
 * An engine with constant throughput. If more calls run at once, each call takes longer, as in a batching engine. It
 * answers with fixed tokens after a random time, and records how long each call took.
 */
export type SteadyEngine = Engine & {
  /** Milliseconds that the engine itself took, by the caller's seed. */
  readonly engineMs: Map<number, number>;
};

export type SteadyEngineOptions = {
  readonly answer: Int32Array;
  readonly concurrency: number;
  readonly callsPerSecond: number;
};

export function createSteadyEngine({ answer, concurrency, callsPerSecond }: SteadyEngineOptions): SteadyEngine {
  const random = createRandom(1);
  const meanMs = Math.max(5, (1000 * concurrency) / callsPerSecond);
  const engineMs = new Map<number, number>();
  const logprobs = new Float32Array(answer.length).fill(-0.5);
  return {
    contextLength: 1_000_000,
    engineMs,
    generate: ({ sampling }) => {
      const startedAt = performance.now();
      return new Promise((resolve) => {
        setTimeout(
          () => {
            engineMs.set(sampling.seed, performance.now() - startedAt);
            resolve({ ids: answer, logprobs, finishReason: 'stop', policyVersion: 0 });
          },
          meanMs * (0.5 + random.next()),
        );
      });
    },
  };
}
