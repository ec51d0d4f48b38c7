import { statfs } from 'node:fs/promises';
import { Counter, Histogram, Registry } from 'prom-client';
import type { ClaimAnswer, EndRequest } from '@agentjet/swarm-wire';
import type { SwarmMeter } from '../swarm/swarm-options.js';

/** In seconds. A client's request takes a few milliseconds, unless it waits for a place, a disk or new weights. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const callBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const stepBuckets = [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const rewardBuckets = [-1, -0.5, 0, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

/**
 * The metrics that a server counts while it works: durations, rewards and errors. A restart of the process resets them.
 * A recovery does not.
 */
export class Telemetry {
  readonly registry = new Registry();
  readonly #claims = this.#histogram('claim_seconds', 'Time from a claim to its episodes, with the wait for a place', {
    labels: ['share'],
    buckets: requestBuckets,
  });
  readonly #ends = this.#histogram('end_seconds', 'Time from the end of an episode to its receipt', {
    labels: ['share', 'status'],
    buckets: requestBuckets,
  });
  readonly #calls = this.#histogram('call_seconds', 'Time from a model call to its recorded answer', {
    labels: ['policy', 'share'],
    buckets: callBuckets,
  });
  readonly #steps = this.#histogram('step_seconds', 'Time to make a step', {
    labels: ['policy'],
    buckets: stepBuckets,
  });
  readonly #rewards = this.#histogram('episode_reward', 'Rewards of accepted ends', {
    labels: ['share'],
    buckets: rewardBuckets,
  });
  readonly #emptyClaims = this.#counter('claims_without_episode_total', 'Claims that got no episode', 'reason');
  readonly #errors = this.#counter(
    'errors_total',
    'Requests that were refused or failed, by the code of the error',
    'code',
  );
  readonly #callErrors = this.#counter('call_errors_total', 'Model calls that were refused or failed', 'status');

  readonly meter: SwarmMeter = {
    onCall: ({ policy, share }, seconds) => this.#calls.observe({ policy, share }, seconds),
    onStep: (policy, { seconds }) => {
      if (seconds !== undefined) this.#steps.observe({ policy }, seconds);
    },
  };

  noteClaim({ episodes: [episode], reason }: ClaimAnswer, seconds: number): void {
    if (episode === undefined) this.#emptyClaims.inc({ reason: reason ?? 'none' });
    else this.#claims.observe({ share: episode.share }, seconds);
  }

  noteEnd({ status, reward }: EndRequest, share: string, seconds: number): void {
    this.#ends.observe({ share, status }, seconds);
    if (reward !== null) this.#rewards.observe({ share }, reward);
  }

  noteError(code: string): void {
    this.#errors.inc({ code });
  }

  noteCallStatus(status: number): void {
    if (status >= 400) this.#callErrors.inc({ status: String(status) });
  }

  #histogram(name: string, help: string, { labels, buckets }: { labels: string[]; buckets: number[] }): Histogram {
    const registers = [this.registry];
    return new Histogram({ name: `agentjet_swarm_${name}`, help, labelNames: labels, buckets, registers });
  }

  #counter(name: string, help: string, label: string): Counter {
    return new Counter({ name: `agentjet_swarm_${name}`, help, labelNames: [label], registers: [this.registry] });
  }
}

/** Returns the free bytes of the disks of these folders. A folder that cannot be read is left out. */
export async function freeBytesOf(dirs: Readonly<Record<string, string>>): Promise<Readonly<Record<string, number>>> {
  const found = await Promise.all(
    Object.entries(dirs).map(async ([name, dir]) => {
      const disk = await statfs(dir).catch(() => undefined);
      return disk === undefined ? [] : [[name, disk.bavail * disk.bsize] as const];
    }),
  );
  return Object.fromEntries(found.flat());
}
