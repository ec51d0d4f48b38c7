import type { Cause, Sighting } from '../cause.js';
import { episodeIds, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf, ExaminedRun } from '../examined-run.js';
import { percent } from '../words.js';

const leastShare = 0.05;
/** With fewer errors, the model may learn to avoid them. */
const leastErrors = 0.25;
const leastResults = 20;

export const manySwallowedErrors: Cause = {
  name: 'swallowed_errors',
  needs: ['episodes'],
  threshold:
    '5% of the training episodes have a failed call: their reward is for the reaction to an error; or over a quarter of the results of tools in the last half of the run are errors, although the calls were right',
  explains: [
    'never_solved',
    'no_gain',
    'no_spread',
    'zero_gradients',
    'stopped_learning',
    'format_not_met',
    'tools_refused',
    'rate_too_low',
  ],
  explainsFrom: 0.2,
  look: (run) => failedCalls(run) ?? failedTools(run),
};

function failedCalls(run: ExaminedRun): Sighting | undefined {
  const all = trainingEpisodes(run);
  const affected = all.filter(({ swallowed }) => swallowed > 0);
  if (affected.length < Math.max(3, leastShare * all.length)) return undefined;
  return {
    summary: `In ${affected.length} of ${all.length} training episodes (${percent(affected.length / all.length)}) a model call failed and the episode continued, as if a tool had failed.`,
    cure: 'Repair the call; ajet inspect shows it. Ignore this if the agent handles the error.',
    episodes: episodeIds(affected),
    taken: affected.length / all.length,
  };
}

/**
 * Errors after calls that could not be used are left out: another cause finds those calls. A call that cannot be read
 * has no result, so it explains no error.
 */
const errorsOf = ({ toolErrors, badCalls, malformedCalls }: EpisodeOf): number =>
  Math.max(0, toolErrors - (badCalls - malformedCalls));

function failedTools(run: ExaminedRun): Sighting | undefined {
  const late = trainingEpisodes(run, 0.5);
  const { results, errors } = countErrors(late);
  if (results < leastResults || errors <= leastErrors * results) return undefined;
  const isLate = new Set(late);
  const early = countErrors(trainingEpisodes(run).filter((episode) => !isLate.has(episode)));
  const [before, after] = [early.errors / Math.max(1, early.results), errors / results];
  const isNew = early.results >= leastResults && before < after / 2;
  const change = isNew ? ` In the first half of the run it was ${percent(before)}.` : '';
  return {
    summary: `${errors} of ${results} results of tools (${percent(after)}) report an error, although the calls could be used.${change}`,
    cure: 'Read such a result with ajet inspect, and repair the tool or the service that it asks. An agent that gets an error as a result continues, so nothing else reports it.',
    episodes: episodeIds(late.filter((episode) => errorsOf(episode) > 0)),
    // A model that lost success while its tools began to fail has not unlearned it.
    ...(isNew && { explains: [...manySwallowedErrors.explains, 'lost_part', 'collapsed'] }),
    taken: after,
  };
}

function countErrors(episodes: readonly EpisodeOf[]): { readonly results: number; readonly errors: number } {
  const sum = (valueOf: (episode: EpisodeOf) => number): number =>
    episodes.reduce((total, episode) => total + valueOf(episode), 0);
  return { results: sum(({ toolResults }) => toolResults), errors: sum(errorsOf) };
}
