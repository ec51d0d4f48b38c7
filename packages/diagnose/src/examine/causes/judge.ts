import type { Cause } from '../cause.js';
import { groupEpisodes, episodeIds, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf } from '../examined-run.js';
import { isGood } from '../outcome.js';
import { figure, percent } from '../words.js';

const leastEpisodes = 20;

export const judgeUndecided: Cause = {
  name: 'judge_undecided',
  needs: ['episodes'],
  threshold:
    '90% of the rewards are the same value between the lowest and the highest of the run, or 5% of the episodes have no verdict',
  explains: [
    'hollow_reward',
    'no_spread',
    'zero_gradients',
    'no_gain',
    'stopped_learning',
    'failed_episodes',
    'never_solved',
  ],
  look(run) {
    const all = trainingEpisodes(run);
    return all.length < leastEpisodes ? undefined : (withoutVerdict(all) ?? sameForAll(all));
  },
};

const codesOfJudges: ReadonlySet<string> = new Set(['judge_failed', 'bad_verdict', 'no_reward']);

function withoutVerdict(all: readonly EpisodeOf[]) {
  const lost = all.filter(({ error }) => error !== undefined && codesOfJudges.has(error.code));
  if (lost.length < 0.05 * all.length) return undefined;
  const most = mostFrequent(lost.map(({ error }) => error?.message ?? ''));
  return {
    summary: `The judge gave no verdict for ${lost.length} of ${all.length} episodes (${percent(lost.length / all.length)}). The most frequent error is "${most?.value.slice(0, 140)}".`,
    cure: 'Ask the judge about a few labelled answers (ajet judge --examples), and repair it or its model.',
    episodes: episodeIds(lost),
    taken: lost.length / all.length,
  };
}

/** A judge that gives everything the same middle score has not decided. All rewards of 0 mean that nothing was solved. */
function sameForAll(all: readonly EpisodeOf[]) {
  const scored = all.filter(({ status }) => status === 'completed');
  const most = mostFrequent(scored.map(({ reward }) => String(reward)));
  const value = Number(most?.value ?? 0);
  if (most === undefined || most.count < 0.9 * scored.length || value <= 0 || value >= 1) return undefined;
  const same = scored.filter(({ reward }) => reward === value);
  return {
    summary: `The judge gave ${most.count} of ${scored.length} episodes the same reward, ${figure(value)}, so there is nothing to prefer.`,
    cure: 'Give the judge a rubric that tells good answers from bad ones, and check it on labelled answers (ajet judge --examples).',
    episodes: episodeIds(same),
    taken: most.count / scored.length,
  };
}

/** A judge that is sure gives the same answer the same reward each time. */
const leastUnstable = 0.05;

export const judgeUnstable: Cause = {
  name: 'judge_unstable',
  needs: ['episodes'],
  threshold:
    '5% of the episodes that have the same tokens as another episode of their task have a different reward, or 5% of those with the same answer have a different verdict',
  explains: ['no_gain', 'stopped_learning', 'hollow_reward'],
  look(run) {
    if (isGood(run)) return undefined;
    const completed = trainingEpisodes(run).filter(({ status }) => status === 'completed');
    const sameTokens = findUnstable(completed, {
      keyOf: ({ tokensHash }) => tokensHash,
      valueOf: ({ reward }) => reward,
    });
    // An agent in a world ends with a word that says little. Only a task with a right answer is about its last words.
    const answered = completed.filter(({ answer = '', expected }) => answer.trim() !== '' && expected !== undefined);
    const sameAnswer = findUnstable(answered, {
      keyOf: ({ answer = '' }) => answer.trim(),
      valueOf: ({ success }) => success,
    });
    const found = sameTokens ?? sameAnswer;
    if (found === undefined) return undefined;
    const { compared, others } = found;
    return {
      summary: `The judge is not sure: of ${compared} episodes with the same ${found === sameTokens ? 'tokens' : 'answer'} as another one of their task, ${others.length} (${percent(others.length / compared)}) got another ${found === sameTokens ? 'reward' : 'verdict'}.`,
      cure: 'Make the reward depend on the answer alone: temperature 0 or more votes for a judge that is a model (task_judge.llm.votes), a fixed seed for the environment.',
      episodes: episodeIds(others),
      taken: Math.min(1, (2 * others.length) / compared),
    };
  },
};

type Unstable = { readonly compared: number; readonly others: readonly EpisodeOf[] };

/** The episodes of a task with the same key whose value differs from the most frequent one. */
function findUnstable(
  episodes: readonly EpisodeOf[],
  {
    keyOf,
    valueOf,
  }: { readonly keyOf: (episode: EpisodeOf) => string; readonly valueOf: (episode: EpisodeOf) => unknown },
): Unstable | undefined {
  const same = [...groupEpisodes(episodes, (episode) => `${episode.task} ${keyOf(episode)}`).values()].filter(
    ({ length }) => length > 1,
  );
  const compared = same.reduce((sum, { length }) => sum + length, 0);
  const others = same.flatMap((group) => {
    const most = mostFrequent(group.map((episode) => String(valueOf(episode))));
    return group.filter((episode) => String(valueOf(episode)) !== most?.value);
  });
  return compared < leastEpisodes || others.length < leastUnstable * compared ? undefined : { compared, others };
}
