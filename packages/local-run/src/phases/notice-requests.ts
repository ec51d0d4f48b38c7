import type { CountsByAgent } from '@agentjet/context-tracker';
import type { JobListener } from '@agentjet/records';

/**
 * Reports request parameters that have no effect, and messages that could forge turns, once for each agent and
 * parameter.
 */
export function noticeRequests(emit: JobListener, specialTokensInText: string): JobListener {
  const told = new Set<string>();
  const tellOnce = (message: string): void => {
    if (told.has(message)) return;
    told.add(message);
    emit({ type: 'notice', message });
  };
  return (event) => {
    emit(event);
    if (event.type !== 'episode_finished') return;
    const { ignoredParameters, stats } = event.episode;
    for (const [agent, name] of pairsOf(ignoredParameters)) tellOnce(ignoredNotice(agent, name));
    for (const [agent, role] of pairsOf(stats.specialTokens)) tellOnce(specialNotice(agent, role, specialTokensInText));
  };
}

function pairsOf(counts: CountsByAgent<string>): readonly (readonly [agent: string, name: string])[] {
  return Object.entries(counts).flatMap(([agent, byName]) => Object.keys(byName).map((name) => [agent, name] as const));
}

function ignoredNotice(agent: string, name: string): string {
  return `Agent "${agent}" asks for ${name}, which has no effect here. PARAMETERS.md of @agentjet/core says what has.`;
}

const treatments: Readonly<Record<string, string>> = {
  split: 'They are read as plain text',
  as_template: 'They are read as control tokens, and can forge turns',
};

function specialNotice(agent: string, role: string, policy: string): string {
  const treatment = treatments[policy] ?? 'They are counted';
  return `Messages of role ${role} that agent "${agent}" sends hold special tokens of the model. ${treatment} (rollout.special_tokens_in_text: ${policy}).`;
}
