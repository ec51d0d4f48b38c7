import type { TurnDescription } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';

/** A column of the table of calls: its title and its value for a call. */
export type CallColumn = {
  readonly title: string;
  readonly isText?: true;
  readonly valueOf: (turn: TurnDescription) => string;
};

export function callColumns({ record }: Pick<InspectedEpisode, 'record'>): readonly CallColumn[] {
  return [
    { title: 'call', valueOf: ({ index }) => `#${index}` },
    { title: 'agent', isText: true, valueOf: formatAgent },
    { title: 'policy', valueOf: ({ policyVersion }) => String(policyVersion) },
    { title: 'prompt', valueOf: ({ promptTokens }) => String(promptTokens) },
    { title: 'reused', valueOf: ({ reusedTokens }) => String(reusedTokens) },
    {
      title: 'generated',
      valueOf: ({ generatedTokens, isTruncated }) => `${generatedTokens}${isTruncated ? ' cut' : ''}`,
    },
    { title: 'mean logprob', valueOf: (turn) => formatMean(logprobsOf(record.samples, turn)) },
    { title: 'row', valueOf: ({ sample }) => (sample === null ? '-' : String(sample)) },
    { title: 'forked', isText: true, valueOf: ({ fork }) => fork ?? '' },
    {
      title: 'spliced',
      isText: true,
      valueOf: ({ splices }) => splices.map(({ turn, cause }) => `#${turn} ${cause}`).join(', '),
    },
    {
      title: 'foreign',
      isText: true,
      valueOf: ({ foreignMessages }) =>
        Object.entries(foreignMessages)
          .map(([cause, count]) => `${cause} ${count}`)
          .join(', '),
    },
  ];
}

/** The agent's name, and its target if that has another name. */
function formatAgent({ agentName, targetTag }: TurnDescription): string {
  return agentName === targetTag ? agentName : `${agentName} (${targetTag})`;
}

type Samples = InspectedEpisode['record']['samples'];

/** The logprobs of the tokens that the turn sampled, shape [G]. */
export function logprobsOf(
  samples: Samples,
  { sample, promptTokens, generatedTokens }: TurnDescription,
): readonly number[] {
  return samples[sample ?? -1]?.logprobs.slice(promptTokens, promptTokens + generatedTokens) ?? [];
}

function formatMean(values: readonly number[]): string {
  return values.length === 0 ? '-' : (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(3);
}
