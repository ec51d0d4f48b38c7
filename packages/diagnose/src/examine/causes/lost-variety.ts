import { rateDifference, wilsonInterval, type Rate } from '@agentjet/core/success';
import type { Cause, Sighting } from '../cause.js';
import {
  compareTokens,
  firstEpisodes,
  episodeIds,
  groupsOf,
  hasSameTokens,
  trainingEpisodes,
} from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises } from '../figures/change.js';
import { between, meanOf } from '../figures/series.js';
import { hasGained, isGood, outcomeOf } from '../outcome.js';
import { describeOutcome, figure, percent, nameSetting } from '../words.js';

/** A share of the entropy at the start. The rule `collapse`, which watches a running job, has the same limit. */
const leastShare = 0.05;
const leastGroups = 8;

export const lostVariety: Cause = {
  name: 'lost_variety',
  needs: ['entropy'],
  threshold:
    'success below 0.8 while all episodes have the same tokens in half of the last groups but not of the first, or entropy is under 5% of its start and the reward no longer rises; no change is asked for if success rose by more than chance and groups with a success are not less frequent since then',
  explains: ['no_spread', 'stopped_learning', 'zero_gradients', 'no_gain'],
  look(run) {
    if (isGood(run)) return undefined;
    const seen = sameTokens(run) ?? (stillDiffers(run) ? undefined : lowEntropy(run));
    const solved = seen && solvedBeforeAndAfter(run);
    if (seen === undefined || solved === undefined) return seen;
    const { lost, before, after } = solved;
    const summary = `${seen.summary} Some episode succeeded in ${percent(before.rate)} of the groups before step ${lost}, and in ${percent(after.rate)} since then.`;
    const isKept = hasGained(run) && rateDifference(before, after).high >= 0;
    return { ...seen, summary, ...(isKept && { asks: 'nothing', settles: true }) };
  },
};

/** The shares of groups in which some episode succeeds, before the samples became equal and since then. */
function solvedBeforeAndAfter(
  run: ExaminedRun,
): { readonly lost: number; readonly before: Rate; readonly after: Rate } | undefined {
  const groups = groupsOf(trainingEpisodes(run)).map((group) => ({
    step: group[0]?.step ?? 0,
    isSame: hasSameTokens(group),
    isSolved: group.some(({ success }) => success),
  }));
  const lost = stepOfLoss(groups);
  const [before, after] = [groups.filter(({ step }) => step < lost), groups.filter(({ step }) => step >= lost)];
  if (before.length < leastGroups || after.length < leastGroups) return undefined;
  return { lost, before: solvedIn(before), after: solvedIn(after) };
}

type Group = { readonly step: number; readonly isSame: boolean; readonly isSolved: boolean };

/** The step that parts groups whose samples differ from groups whose samples are equal with the fewest exceptions. */
function stepOfLoss(groups: readonly Group[]): number {
  const steps = [...new Set(groups.map(({ step }) => step))];
  const exceptions = steps.map((lost) => groups.filter(({ step, isSame }) => step < lost === isSame).length);
  return steps[exceptions.indexOf(Math.min(...exceptions))] ?? 0;
}

function solvedIn(groups: readonly Group[]): Rate {
  const rate = meanOf(groups.map(({ isSolved }) => Number(isSolved)));
  return { rate, ...wilsonInterval(rate, groups.length) };
}

/**
 * Looks for groups without a difference. It comes before `lowEntropy`, because low entropy only predicts such groups.
 */
function sameTokens(run: ExaminedRun): Sighting | undefined {
  const late = trainingEpisodes(run, 0.5);
  const [first, last] = [compareTokens(firstEpisodes(run)), compareTokens(late)];
  if (first.share > 0.25 || last.share <= 0.5 || last.compared < leastGroups) return undefined;
  const { entropy } = run.figures;
  const [before, after] =
    entropy === undefined ? [0, 0] : [entropy.values[0] ?? 0, meanOf(between(entropy, 0.75, 1).values)];
  const fell = after < before ? ` Entropy fell from ${figure(before)} to ${figure(after)} nats.` : '';
  return {
    summary: `The samples of a task do not differ any more: since step ${late[0]?.step}, all episodes have the same tokens in ${last.same.length} of ${last.compared} groups (${percent(last.share)}), in the first step in ${percent(first.share)}.${fell}`,
    cure: cureOf(run),
    episodes: episodeIds(last.same),
    taken: last.share,
  };
}

/** Episodes show that most groups still have something to compare. */
function stillDiffers({ episodes, figures: { equal_groups: equal } }: ExaminedRun): boolean {
  return episodes !== undefined && equal !== undefined && meanOf(between(equal, 0.5, 1).values) < 0.3;
}

function lowEntropy(run: ExaminedRun): Sighting | undefined {
  const { entropy, reward } = run.figures;
  if (entropy === undefined || entropy.values.length < 5) return undefined;
  const [before, after] = [meanOf(between(entropy, 0, 0.05).values), meanOf(between(entropy, 0.9, 1).values)];
  if (before <= 0 || after >= leastShare * before) return undefined;
  const late = reward && changeBetween(reward, { from: between(reward, 0.5, 0.75), to: between(reward, 0.75, 1) });
  if (rises(late)) return undefined;
  const outcome = outcomeOf(run);
  const limit = 2 * leastShare * before;
  const at = entropy.values.findIndex((_, index) => entropy.values.slice(index).every((value) => value < limit));
  return {
    summary: `The samples of a task hardly differ any more: entropy fell from ${figure(before)} to ${figure(after)} nats, and the reward no longer rises${outcome === undefined ? '' : `, although ${describeOutcome(outcome)}`}.`,
    cure: cureOf(run),
    ...(at > 0 && { since: entropy.steps[at] ?? 0 }),
    taken: 1 - after / before,
  };
}

const cureOf = ({ settings }: ExaminedRun): string =>
  `Lower ${nameSetting('trainer_common.optim.lr', settings.rate)}, raise trainer_common.clip_ratio_high above clip_ratio_low, set ${nameSetting('trainer_common.entropy_coeff', settings.entropyCoefficient)} or trainer_common.use_kl_loss, or raise ${nameSetting('rollout.temperature', settings.temperature)}.`;
