import { type Counts, type CountsByAgent, forkReasons, type TrackerStats } from '@agentjet/context-tracker';
import type { ForkCause } from '@agentjet/core';
import type { JobListener } from '@agentjet/records';

/** An agent is reported if more than this share of its calls in a step are forks with the same cause. */
const forkShare = 0.1;
/**
 * An agent is reported if more than this share of its answers come back changed. The share is larger than for forks,
 * because splices cost nothing.
 */
const spliceShare = 0.5;
/** An agent with fewer calls is not reported. */
const leastCalls = 20;
const page = 'docs/context-tracker.md, "History policy"';

type Tally = { calls: number; readonly forks: Map<string, number>; readonly splices: Map<string, number> };

/**
 * Passes events on, and reports agents whose histories come back changed. Each agent and cause is reported once in a
 * run, after the step in which it was first seen.
 */
export function noticeHistories(emit: JobListener): JobListener {
  const told = new Set<string>();
  let tallies = new Map<string, Tally>();
  return (event) => {
    emit(event);
    if (event.type === 'episode_finished' && event.phase === 'sample') addEpisode(tallies, event.episode);
    if (event.type !== 'step_finished') return;
    for (const [agent, tally] of tallies) {
      for (const message of messagesFor(agent, tally)) {
        if (told.has(message.key)) continue;
        told.add(message.key);
        emit({ type: 'notice', message: message.text });
      }
    }
    tallies = new Map();
  };
}

type Counted = { readonly turns: readonly { readonly agentName: string }[]; readonly stats: TrackerStats };

function addEpisode(tallies: Map<string, Tally>, { turns, stats }: Counted): void {
  const tallyOf = (agent: string): Tally => {
    const tally = tallies.get(agent) ?? { calls: 0, forks: new Map(), splices: new Map() };
    tallies.set(agent, tally);
    return tally;
  };
  for (const { agentName } of turns) tallyOf(agentName).calls++;
  addCounts(stats.forks, (agent) => tallyOf(agent).forks);
  addCounts(stats.splices, (agent) => tallyOf(agent).splices);
}

function addCounts(counts: CountsByAgent<string>, sumOf: (agent: string) => Map<string, number>): void {
  for (const [agent, causes] of Object.entries(counts)) {
    const sum = sumOf(agent);
    for (const [cause, count] of Object.entries(causes satisfies Counts<string>))
      sum.set(cause, (sum.get(cause) ?? 0) + (count ?? 0));
  }
}

type Message = { readonly key: string; readonly text: string };

function messagesFor(agent: string, { calls, forks, splices }: Tally): readonly Message[] {
  if (calls < leastCalls) return [];
  const above = (counts: Map<string, number>, share: number) =>
    [...counts].filter(([, count]) => count > share * calls).map(([cause, count]) => ({ cause, count }));
  return [
    ...above(forks, forkShare).map(({ cause, count }) => ({
      key: `fork ${agent} ${cause}`,
      text:
        `Agent "${agent}": ${count} of its ${calls} calls started a new branch, cause ${cause}: ${forkReasons[cause as ForkCause]}. ` +
        `Training is still correct, but each branch is computed separately, so training takes longer. ${page} explains the causes; ajet inspect shows the places.`,
    })),
    ...above(splices, spliceShare).map(({ cause, count }) => ({
      key: `splice ${agent} ${cause}`,
      text:
        `Agent "${agent}": ${count} answers in ${calls} calls came back in another spelling (${cause}). The prompt has the tokens that the model wrote in their place. ` +
        `If the agent means the changes, set context_tracker.history_policy: as_sent. ${page} explains the causes.`,
    })),
  ];
}
