import { formatRate } from '@agentjet/core/success';
import type { Cause, Sighting } from '../cause.js';
import { compareTokens, firstEpisodes, episodeIds, trainingEpisodes } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { between, meanOf } from '../figures/series.js';
import { isGood, trainingSuccess } from '../outcome.js';
import { figure, percent, nameSetting } from '../words.js';

/** With a smaller difference of temperatures, a difference between the tasks could explain the success equally well. */
const leastDifference = 0.3;
/** A share of the success that is lost to the temperature at which the training samples. */
const mostShare = 0.5;
const leastGroups = 8;

export const temperatureTooHigh: Cause = {
  name: 'temperature_too_high',
  needs: ['success'],
  threshold:
    'success in training under half of that of the last evaluation, which was cooler by 0.3 or more, 95% intervals apart; or an entropy over 3 nats per token at a temperature above 1, while success is below 0.1',
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
  ],
  look: (run) => worseThanCooler(run) ?? nearlyRandom(run),
};

/** The same model is much better at a lower temperature. */
function worseThanCooler(run: ExaminedRun): Sighting | undefined {
  const { temperature } = run.settings;
  const last = run.evaluations.at(-1);
  const trained = trainingSuccess(run, 0.75);
  if (temperature === undefined || last?.temperature === undefined || trained === undefined) return undefined;
  if (temperature - last.temperature < leastDifference) return undefined;
  const { low = 0, high = 1 } = last;
  if (trained.high >= low || trained.rate >= mostShare * last.score) return undefined;
  return {
    summary: `At temperature ${temperature} the model cannot show what it knows: success in training is ${formatRate(trained.rate, trained)}, and ${formatRate(last.score, { low, high })} on held-out tasks at temperature ${last.temperature}.`,
    cure: cooler(temperature),
    taken: 1 - trained.rate / last.score,
  };
}

/** Text has 0.3 to 2 nats per token. */
const mostEntropy = 3;

function nearlyRandom(run: ExaminedRun): Sighting | undefined {
  const { entropy } = run.figures;
  const { temperature } = run.settings;
  const trained = trainingSuccess(run, 0.5);
  if (entropy === undefined || temperature === undefined || temperature <= 1 || trained === undefined) return undefined;
  const nats = meanOf(between(entropy, 0.5, 1).values);
  if (nats <= mostEntropy || trained.rate >= 0.1) return undefined;
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

export const temperatureTooLow: Cause = {
  name: 'temperature_too_low',
  needs: ['episodes'],
  threshold:
    'in half of the groups all episodes have the same tokens, in the first step too or at a temperature below 0.3, while success is below 0.8',
  explains: ['no_spread', 'zero_gradients', 'no_gain', 'stopped_learning', 'never_solved', 'lost_variety'],
  look(run) {
    if (isGood(run)) return undefined;
    const [first, all] = [compareTokens(firstEpisodes(run)), compareTokens(trainingEpisodes(run))];
    const { temperature = 1 } = run.settings;
    const isFirst = first.share > 0.5;
    if (all.compared < leastGroups || all.share <= 0.5 || !(isFirst || temperature < leastUsual)) return undefined;
    const since = isFirst ? `, before the first update already (${percent(first.share)})` : '';
    return {
      summary: `The episodes of a group do not differ: in ${all.same.length} of ${all.compared} groups (${percent(all.share)}) all have the same tokens${since}.`,
      cure: `Raise ${nameSetting('rollout.temperature', run.settings.temperature)}; 0.7 to 1 is usual. See also rollout.top_p and rollout.top_k.`,
      episodes: episodeIds(all.same),
      taken: all.share,
    };
  },
};
