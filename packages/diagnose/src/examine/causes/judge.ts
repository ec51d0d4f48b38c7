import type { Cause } from '../cause.js';
import { groupBy, idsOf, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf } from '../examined-run.js';
import { isGood } from '../outcome.js';
import { figure, percent } from '../words.js';

const leastEpisodes = 20;

export const judgeUndecided: Cause = {
  name: 'judge_undecided',
  needs: ['episodes'],
  threshold:
    '90% of the rewards are the same value between the lowest and the highest of the run, or 5% of the episodes have no verdict',
  explains: ['no_spread', 'zero_gradients', 'no_gain', 'stopped_learning', 'failed_episodes', 'never_solved'],
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
    episodes: idsOf(lost),
    taken: lost.length / all.length,
  };
}

/** A judge that gives everything the same middle score has not decided. All rewards of 0 mean that nothing was solved. */
function sameForAll(all: readonly EpisodeOf[]) {
  const scored = all.filter(({ reward }) => reward !== undefined);
  const most = mostFrequent(scored.map(({ reward }) => String(reward)));
  const value = Number(most?.value ?? 0);
  if (most === undefined || most.count < 0.9 * scored.length || value <= 0 || value >= 1) return undefined;
  const same = scored.filter(({ reward }) => reward === value);
  return {
    summary: `The judge gave ${most.count} of ${scored.length} episodes the same reward, ${figure(value)}, so there is nothing to prefer.`,
    cure: 'Give the judge a rubric that tells good answers from bad ones, and check it on labelled answers (ajet judge --examples).',
    episodes: idsOf(same),
    taken: most.count / scored.length,
  };
}

/** Chance moves no reward of a judge that is sure. */
const leastUnstable = 0.05;

export const judgeUnstable: Cause = {
  name: 'judge_unstable',
  needs: ['episodes'],
  threshold: 'of episodes of a task with the same tokens, 5% have another reward than most of them',
  explains: ['no_gain', 'stopped_learning', 'hollow_reward'],
  look(run) {
    if (isGood(run)) return undefined;
    const same = [...groupBy(trainingEpisodes(run), ({ task, tokensHash }) => `${task} ${tokensHash}`).values()]
      .map((episodes) => episodes.filter(({ reward }) => reward !== undefined))
      .filter(({ length }) => length > 1);
    const compared = same.reduce((sum, { length }) => sum + length, 0);
    const others = same.flatMap((episodes) => {
      const most = mostFrequent(episodes.map(({ reward }) => String(reward)));
      return episodes.filter(({ reward }) => String(reward) !== most?.value);
    });
    if (compared < leastEpisodes || others.length < leastUnstable * compared) return undefined;
    return {
      summary: `The same tokens get different rewards: of ${compared} episodes that equal another one of their task token by token, ${others.length} (${percent(others.length / compared)}) were rewarded differently.`,
      cure: 'Make the reward depend on the answer alone: temperature 0 or more votes for a judge that is a model (task_judge.llm.votes), a fixed seed for the environment.',
      episodes: idsOf(others),
      taken: Math.min(1, (2 * others.length) / compared),
    };
  },
};
