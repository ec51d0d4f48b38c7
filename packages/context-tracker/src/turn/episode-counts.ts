import type { TrackerStats } from '../contract.js';
import type { RecordedCall } from '../tokens/recorded-call.js';

type Counter = Record<string, Record<string, number>>;

/** What happened to the histories that agents sent, by agent and cause. */
export function countByAgent(calls: readonly RecordedCall[]): Pick<TrackerStats, 'forks' | 'splices' | 'foreignMessages'> {
  const forks: Counter = {};
  const splices: Counter = {};
  const foreignMessages: Counter = {};
  for (const { agent, fork, splices: spliced, foreignMessages: foreign } of calls) {
    if (fork !== undefined) add(forks, agent.agentName, fork, 1);
    for (const { cause } of spliced) add(splices, agent.agentName, cause, 1);
    for (const [cause, count] of Object.entries(foreign)) add(foreignMessages, agent.agentName, cause, count);
  }
  return { forks, splices, foreignMessages };
}

function add(counter: Counter, agentName: string, cause: string, count: number): void {
  const causes = (counter[agentName] ??= {});
  causes[cause] = (causes[cause] ?? 0) + count;
}
