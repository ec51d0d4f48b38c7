import type { Cause } from '../cause.js';
import { median, type FigureSeries } from '../figures/series.js';
import { figure, nameSetting } from '../words.js';

/** A step whose norm is this many times that of its neighbours moves the weights as far as that many of them. */
const leastRatio = 10;
/** A spike is also this many robust deviations away, because the norms of small batches vary strongly. */
const leastDeviations = 6;
/** Neighbours on each side. */
const reach = 10;
/** A short run has fewer. */
const leastAround = 6;
/** A single spike may be one odd batch. In a run of fewer than 20 steps, two are enough. */
const leastSpikes = 3;

export const gradientSpikes: Cause = {
  name: 'gradient_spikes',
  needs: ['grad_norm'],
  threshold:
    '3 steps (2 in a run of fewer than 20) whose gradient norm is over 10 times, and 6 robust deviations above, that of the 20 steps around them',
  explains: ['collapsed', 'stopped_learning', 'no_gain'],
  look({ figures: { grad_norm: norms }, settings }) {
    const spikes = norms === undefined ? [] : findSpikes(norms);
    const [first] = spikes;
    if (
      norms === undefined ||
      first === undefined ||
      spikes.length < (norms.values.length < 20 ? leastSpikes - 1 : leastSpikes)
    )
      return undefined;
    const largest = Math.max(...spikes.map(({ ratio }) => ratio));
    const steps = spikes.slice(0, 5).map(({ step }) => step);
    return {
      summary: `The gradient norm jumped in ${spikes.length} of ${norms.values.length} steps, by up to ${figure(largest)} times that of the steps around it (steps ${steps.join(', ')}${spikes.length > 5 ? ', ...' : ''}).`,
      cure: `Lower trainer_common.optim.grad_clip to the usual norm (${figure(median(norms.values.filter((value) => value > 0)))}) or ${nameSetting('trainer_common.optim.lr', settings.rate)}, and look at the episodes of these steps for very long or very rare answers.`,
      since: first.step,
      taken: Math.min(0.5, (spikes.length * leastRatio) / norms.values.length),
    };
  },
};

type Spike = { readonly step: number; readonly ratio: number };

function findSpikes({ steps, values }: FigureSeries): readonly Spike[] {
  const logs = values.map((value) => (value > 0 ? Math.log(value) : undefined));
  return logs.flatMap((log, at) => {
    if (log === undefined) return [];
    const around = logs
      .slice(Math.max(0, at - reach), at + reach + 1)
      .filter((each, index) => each !== undefined && index !== Math.min(at, reach)) as number[];
    if (around.length < leastAround) return [];
    const usual = median(around);
    const deviation = 1.4826 * median(around.map((each) => Math.abs(each - usual)));
    const excess = log - usual;
    return excess > Math.log(leastRatio) && excess > leastDeviations * deviation
      ? [{ step: steps[at] ?? 0, ratio: Math.exp(excess) }]
      : [];
  });
}
