import type { TrackerStats } from '../contract.js';
import type { RecordedCall } from '../tokens/recorded-call.js';

/** By agent, then cause. Maps, since an agent may be called `constructor`; made when something is counted. */
type Counter = { byAgent?: Map<string, Map<string, number>> };

/** What happened to the histories that agents sent, by agent and cause. */
export function countByAgent(
  calls: readonly RecordedCall[],
): Pick<TrackerStats, 'forks' | 'splices' | 'foreignMessages' | 'specialTokens'> {
  const forks: Counter = {};
  const splices: Counter = {};
  const foreignMessages: Counter = {};
  const specialTokens: Counter = {};
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
  const byAgent = (counter.byAgent ??= new Map<string, Map<string, number>>());
  const causes = byAgent.get(agentName) ?? new Map<string, number>();
  causes.set(cause, (causes.get(cause) ?? 0) + count);
  byAgent.set(agentName, causes);
}

function toObject({ byAgent }: Counter): Readonly<Record<string, Readonly<Record<string, number>>>> {
  if (byAgent === undefined) return {};
  return Object.fromEntries([...byAgent].map(([agentName, causes]) => [agentName, Object.fromEntries(causes)]));
}
