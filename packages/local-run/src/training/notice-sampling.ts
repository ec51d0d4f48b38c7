import type { CommonConfig } from '@agentjet/core';
import type { JobListener } from '@agentjet/records';

const samplingNames = new Set(['temperature', 'top_p', 'top_k', 'seed']);

/**
 * Passes events on, and reports agents whose requests ask for other sampling settings than they get. Each agent is
 * reported once.
 */
export function noticeSampling(emit: JobListener, { rollout }: Pick<CommonConfig, 'rollout'>): JobListener {
  const told = new Set<string>();
  return (event) => {
    emit(event);
    if (event.type !== 'episode_finished' || event.phase !== 'sample') return;
    for (const [agent, counts] of Object.entries(event.episode.ignoredParameters)) {
      const names = Object.keys(counts).filter((name) => samplingNames.has(name));
      if (names.length === 0 || told.has(agent)) continue;
      told.add(agent);
      emit({ type: 'notice', message: messageFor(agent, names, rollout) });
    }
  };
}

function messageFor(agent: string, names: readonly string[], rollout: CommonConfig['rollout']): string {
  const { temperature, topP, topK } = rollout;
  return (
    `Agent "${agent}" asks for its own ${names.join(', ')}. While it is trained, the configuration decides: temperature ${temperature}, ` +
    `top_p ${topP}, top_k ${topK}, and a new seed for each call. Take them out of the agent, or set rollout.request_sampling: honour.`
  );
}
