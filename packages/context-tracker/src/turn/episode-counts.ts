import type { TrackerStats, Counts } from '../contract.js';
import type { SampledCall } from '../tokens/sampled-call.js';

/**
 * Counts by agent, then cause. They are maps, not objects, because an agent may be called `constructor`. The first
 * count creates them.
 */
type Counter = { byAgent?: Map<string, Map<string, number>> };

/** Statistics of the calls of an episode, counted as they are committed. */
export class EpisodeCounts {
  /** Changes in the histories that agents sent. */
  readonly #forks: Counter = {};
  readonly #splices: Counter = {};
  readonly #foreignMessages: Counter = {};
  readonly #specialTokens: Counter = {};
  #calls = 0;
  #generatedTokens = 0;

  add({ agent, end, promptLength, fork, splices, foreignMessages, specialTokens }: SampledCall): void {
    const { agentName } = agent;
    this.#calls++;
    this.#generatedTokens += end.depth - promptLength;
    if (fork !== undefined) add(this.#forks, agentName, fork, 1);
    for (const { cause } of splices) add(this.#splices, agentName, cause, 1);
    addAll(this.#foreignMessages, agentName, foreignMessages);
    addAll(this.#specialTokens, agentName, specialTokens);
  }

  read(trainedTokens: number, samples: number): TrackerStats {
    return {
      calls: this.#calls,
      generatedTokens: this.#generatedTokens,
      trainedTokens,
      samples,
      forks: toObject(this.#forks),
      splices: toObject(this.#splices),
      foreignMessages: toObject(this.#foreignMessages),
      specialTokens: toObject(this.#specialTokens),
    };
  }
}

function addAll(counter: Counter, agentName: string, counts: Readonly<Record<string, number>>): void {
  for (const name in counts) add(counter, agentName, name, counts[name] ?? 0);
}

function add(counter: Counter, agentName: string, cause: string, count: number): void {
  const byAgent = (counter.byAgent ??= new Map<string, Map<string, number>>());
  const causes = byAgent.get(agentName) ?? new Map<string, number>();
  causes.set(cause, (causes.get(cause) ?? 0) + count);
  byAgent.set(agentName, causes);
}

function toObject({ byAgent }: Counter): Readonly<Record<string, Readonly<Record<string, number>>>> {
  if (byAgent === undefined) return {};
  return Object.fromEntries([...byAgent].map(([agentName, causes]) => [agentName, Object.fromEntries(causes)]));
}

/** Returns how often each name occurs. */
export function countEach<Name extends string>(names: readonly Name[]): Counts<Name> {
  const counts: Partial<Record<Name, number>> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
