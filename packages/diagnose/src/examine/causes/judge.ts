import type { Cause } from '../cause.js';
import { groupEpisodes, groupsOf, episodeIds, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf, ExaminedRun } from '../examined-run.js';
import { median } from '../figures/series.js';
import { hasGained, isGood } from '../outcome.js';
import { figure, percent } from '../words.js';

const leastEpisodes = 20;

export const judgeUndecided: Cause = {
  name: 'judge_undecided',
  needs: ['episodes'],
  threshold:
    '80% of the rewards are the same, or 90% within a tenth of the scale, although the answers differ and most of them neither succeed nor get the lowest reward; or 5% of the episodes have no verdict',
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
    return all.length < leastEpisodes ? undefined : (withoutVerdict(all) ?? sameForAll(all, run));
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

/** The least share of equal rewards, and of rewards that are nearly equal. */
const leastEqual = 0.8;
const leastNear = 0.9;
/** The most that nearly equal rewards differ by, if all rewards are from 0 to 1. */
const nearly = 0.1;

/**
 * A judge that gives everything the same middle score has not decided. All rewards of 0 mean that nothing was solved, and
 * equal rewards of successes that everything was.
 */
function sameForAll(all: readonly EpisodeOf[], run: ExaminedRun) {
  const scored = all.flatMap((each) =>
    each.status === 'completed' && each.reward !== undefined ? [{ ...each, reward: each.reward }] : [],
  );
  const found = equalRewards(scored) ?? nearRewards(scored);
  if (found === undefined) return undefined;
  if (!areVaried(scored) && (hasGained(run) || !isMiddleOfGroups(scored, found.same))) return undefined;
  if (found.same.filter(({ success }) => success).length > found.same.length / 2) return undefined;
  return {
    summary: `The judge gave ${found.same.length} of ${scored.length} episodes ${found.what}, so there is nothing to prefer.`,
    cure: 'Give the judge a rubric that tells good answers from bad ones, and check it on labelled answers (ajet judge --examples).',
    episodes: episodeIds(found.same),
    taken: found.same.length / scored.length,
    explains: [...judgeUndecided.explains, 'rate_too_low'],
  };
}

const areVaried = (scored: readonly Scored[]): boolean =>
  new Set(scored.map(({ tokensHash }) => tokensHash)).size >= scored.length / 4;

/** Short answers are often equal. Then a value between other rewards, for groups whose answers differ, is undecided too. */
function isMiddleOfGroups(scored: readonly Scored[], same: readonly Scored[]): boolean {
  const value = same[0]?.reward ?? 0;
  const groups = groupsOf(scored);
  const different = groups.filter((group) => new Set(group.map(({ tokensHash }) => tokensHash)).size > 1);
  const isBetween = scored.some(({ reward }) => reward < value) && scored.some(({ reward }) => reward > value);
  return isBetween && different.length >= groups.length / 2;
}

type Scored = EpisodeOf & { readonly reward: number };
type Same = { readonly same: readonly Scored[]; readonly what: string };

function equalRewards(scored: readonly Scored[]): Same | undefined {
  const value = Number(mostFrequent(scored.map(({ reward }) => String(reward)))?.value ?? 0);
  const same = scored.filter(({ reward }) => reward === value);
  if (value <= 0 || same.length < leastEqual * scored.length) return undefined;
  return { same, what: `the same reward, ${figure(value)}` };
}

function nearRewards(scored: readonly Scored[]): Same | undefined {
  const rewards = scored.map(({ reward }) => reward);
  if (rewards.some((reward) => reward < 0 || reward > 1)) return undefined;
  const middle = median(rewards);
  const same = scored.filter(({ reward }) => Math.abs(reward - middle) <= nearly / 2);
  if (middle < nearly || middle > 1 - nearly || same.length < leastNear * scored.length) return undefined;
  return { same, what: `nearly the same reward, ${figure(middle - nearly / 2)} to ${figure(middle + nearly / 2)}` };
}

/** A judge that is sure gives the same answer the same reward each time. */
const leastUnstable = 0.05;

export const judgeUnstable: Cause = {
  name: 'judge_unstable',
  needs: ['episodes'],
  threshold:
    '5% of the episodes that have the same tokens as another episode of their task have a different reward, or 5% of those with the same answer have a different verdict',
  explains: ['no_gain', 'stopped_learning', 'hollow_reward', 'rate_too_low'],
  look(run) {
    if (isGood(run)) return undefined;
    const completed = trainingEpisodes(run).filter(({ status }) => status === 'completed');
    const keyOf = ({ tokensHash }: EpisodeOf): string => tokensHash;
    const hasAllTokens = run.settings.isOneOfSeveral !== true;
    const sameTokens = hasAllTokens ? findUnstable(completed, { keyOf, valueOf: ({ reward }) => reward }) : undefined;
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
