import type { TrackerStats } from '../contract.js';
import type { RecordedCall } from '../tokens/recorded-call.js';

/** By agent, then cause. Maps, since an agent may be called `constructor`. */
type Counter = Map<string, Map<string, number>>;

/** What happened to the histories that agents sent, by agent and cause. */
export function countByAgent(
  calls: readonly RecordedCall[],
): Pick<TrackerStats, 'forks' | 'splices' | 'foreignMessages' | 'specialTokens'> {
  const forks: Counter = new Map();
  const splices: Counter = new Map();
  const foreignMessages: Counter = new Map();
  const specialTokens: Counter = new Map();
  for (const { agent, fork, splices: spliced, foreignMessages: foreign, specialTokens: special } of calls) {
    if (fork !== undefined) add(forks, agent.agentName, fork, 1);
    for (const { cause } of spliced) add(splices, agent.agentName, cause, 1);
    addAll(foreignMessages, agent.agentName, foreign);
    addAll(specialTokens, agent.agentName, special);
  }
  return {
    forks: toObject(forks),
    splices: toObject(splices),
    foreignMessages: toObject(foreignMessages),
    specialTokens: toObject(specialTokens),
  };
}

function addAll(counter: Counter, agentName: string, counts: Readonly<Record<string, number>>): void {
  for (const name in counts) add(counter, agentName, name, counts[name] ?? 0);
}

function add(counter: Counter, agentName: string, cause: string, count: number): void {
  const causes = counter.get(agentName) ?? new Map<string, number>();
  causes.set(cause, (causes.get(cause) ?? 0) + count);
  counter.set(agentName, causes);
}

function toObject(counter: Counter): Readonly<Record<string, Readonly<Record<string, number>>>> {
  if (counter.size === 0) return {};
  return Object.fromEntries([...counter].map(([agentName, causes]) => [agentName, Object.fromEntries(causes)]));
}
