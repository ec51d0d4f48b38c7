import { formatRate } from '@agentjet/core/success';
import type { Cause, Sighting } from '../cause.js';
import { compareTokens, firstEpisodes, episodeIds, trainingEpisodes, type SameTokens } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { between, meanOf } from '../figures/series.js';
import { isGood, trainingSuccess } from '../outcome.js';
import { figure, percent, nameSetting } from '../words.js';

/** With a smaller difference of temperatures, a difference between the tasks could explain the success equally well. */
const leastDifference = 0.3;
/** A share of the success that is lost to the temperature at which the training samples. */
const mostShare = 0.5;
const leastGroups = 8;
/** Runs usually sample at up to this temperature. */
const mostUsual = 1.1;

export const temperatureTooHigh: Cause = {
  name: 'temperature_too_high',
  needs: ['success'],
  threshold:
    'success in training under half of that of an evaluation, which was cooler by 0.3 or more, by more than chance; or, while success is below 0.1, an entropy over 3 nats per token at a temperature above 1, or over 1.2 nats from 1.3 on',
  explains: [
    'never_solved',
    'no_spread',
    'no_gain',
    'stopped_learning',
    'cut_answers',
    'tools_refused',
    'format_not_met',
    'zero_gradients',
    'lost_variety',
    'rate_too_low',
    'collapsed',
  ],
  look: (run) => worseThanCooler(run, 'last') ?? nearlyRandom(run) ?? worseThanCooler(run, 'first'),
};

/** Whether training samples above the usual temperatures. */
export const isHot = ({ settings: { temperature = 1 } }: ExaminedRun): boolean => temperature > mostUsual;

/** At a usual temperature, a model that fails in training may fail for other reasons. */
const explainsAt = (run: ExaminedRun): { readonly explains?: readonly string[] } =>
  isHot(run) ? {} : { explains: ['no_gain', 'stopped_learning'] };

/** The same model is much better at a lower temperature. */
function worseThanCooler(run: ExaminedRun, at: 'first' | 'last'): Sighting | undefined {
  const { temperature } = run.settings;
  const last = run.evaluations.at(at === 'last' ? -1 : 0);
  const trained = at === 'last' ? trainingSuccess(run, 0.75) : trainingSuccess(run, 0, 0.3);
  if (temperature === undefined || last?.temperature === undefined || trained === undefined) return undefined;
  // A later fall of the held-out success hides that the model was better. A usual temperature needs more than its start.
  if (at === 'first' && !isHot(run)) return undefined;
  if (temperature - last.temperature < leastDifference) return undefined;
  const { low = 0, high = 1 } = last;
  const isApart = isHot(run)
    ? last.score - trained.rate > Math.hypot(last.score - low, trained.high - trained.rate)
    : trained.high < low;
  if (!isApart || trained.rate >= mostShare * last.score) return undefined;
  return {
    summary: `At temperature ${temperature} the model cannot show what it knows: success in training is ${formatRate(trained.rate, trained)}, and ${formatRate(last.score, { low, high })} on held-out tasks at temperature ${last.temperature}.`,
    cure: cooler(temperature),
    ...explainsAt(run),
    // At a usual temperature, most models are better if they are cooler.
    taken: (isHot(run) ? 1 : 0.2) * (1 - trained.rate / last.score),
  };
}

/** Text has 0.3 to 2 nats per token, and less at a temperature at which a model can solve tasks. */
const mostEntropy = 3;
const mostEntropyOfHot = 1.2;
const hot = 1.3;

function nearlyRandom(run: ExaminedRun): Sighting | undefined {
  const { entropy } = run.figures;
  const { temperature } = run.settings;
  const trained = trainingSuccess(run, 0.5);
  if (entropy === undefined || temperature === undefined || temperature <= 1 || trained === undefined) return undefined;
  const nats = meanOf(between(entropy, 0.5, 1).values);
  if (nats <= (temperature >= hot ? mostEntropyOfHot : mostEntropy) || trained.rate >= 0.1) return undefined;
  return {
    summary: `At temperature ${temperature} the model writes nearly at random: ${figure(nats)} nats per token, and success in training is ${formatRate(trained.rate, trained)}.`,
    cure: cooler(temperature),
    taken: 1 - trained.rate,
  };
}

const cooler = (temperature: number): string =>
  `Lower ${nameSetting('rollout.temperature', temperature)}; ajet probe compares temperatures before a run.`;

/** Training usually samples at 0.6 or more. Below half of that, the answers of a confident model have no variety. */
const leastUsual = 0.3;
/** A share of equal groups that shows a lack of variety, at such a temperature and above it. */
const mostSame = { cold: 0.3, cool: 0.5 };

/**
 * Whether the settings can be the reason. At a usual temperature, a model that always writes the same is sure of its
 * answers, and another finding says what follows.
 */
function isCool({ temperature, topP = 1, topK = -1 }: ExaminedRun['settings']): boolean {
  return temperature === undefined || temperature < 0.7 || topP < 0.5 || (topK > 0 && topK <= 3);
}

function isSame(run: ExaminedRun, first: SameTokens, all: SameTokens): boolean {
  const { temperature = 1 } = run.settings;
  if (all.compared < leastGroups || !isCool(run.settings)) return false;
  return temperature < leastUsual
    ? all.share > mostSame.cold
    : all.share > mostSame.cool && first.share > mostSame.cool;
}

export const temperatureTooLow: Cause = {
  name: 'temperature_too_low',
  needs: ['episodes'],
  threshold:
    'temperature below 0.7, top_p below 0.5 or top_k of at most 3, while success is below 0.8 and all episodes have the same tokens in half of the groups, in the first step too; below 0.3, a third of the groups is enough',
  explains: ['no_spread', 'zero_gradients', 'no_gain', 'stopped_learning', 'never_solved', 'lost_variety'],
  look(run) {
    if (isGood(run)) return undefined;
    const [first, all] = [compareTokens(firstEpisodes(run)), compareTokens(trainingEpisodes(run))];
    if (!isSame(run, first, all)) return undefined;
    const since = first.share > mostSame.cool ? `, before the first update already (${percent(first.share)})` : '';
    return {
      summary: `The episodes of a group do not differ: in ${all.same.length} of ${all.compared} groups (${percent(all.share)}) all have the same tokens${since}.`,
      cure: `Raise ${nameSetting('rollout.temperature', run.settings.temperature)}; 0.7 to 1 is usual. See also rollout.top_p and rollout.top_k.`,
      episodes: episodeIds(all.same),
      taken: all.share,
    };
  },
};
