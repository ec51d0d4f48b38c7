import type { Cause } from '../cause.js';
import { groupEpisodes, episodeIds } from '../episode-sets.js';
import { heldOutChange, isGood } from '../outcome.js';
import { percent, nameSetting } from '../words.js';

/** At temperature 0, an answer changes as soon as another token becomes the likeliest at one position. */
const leastSame = 0.8;
const leastTasks = 10;

export const rateTooLow: Cause = {
  name: 'rate_too_low',
  needs: ['episodes', 'evaluations'],
  threshold: '80% of the held-out tasks are answered token by token as before the training, at temperature 0',
  explains: ['no_gain', 'stopped_learning', 'never_solved', 'no_spread', 'one_kind', 'temperature_too_high'],
  look(run) {
    const [first, last] = [run.evaluations[0], run.evaluations.at(-1)];
    if (first === undefined || last === undefined || first.step >= last.step || last.temperature !== 0 || isGood(run))
      return undefined;
    const change = heldOutChange(run);
    if (change !== undefined && change.low > 0) return undefined;
    const evaluated = (run.episodes ?? []).filter(({ phase, tokens }) => phase === 'evaluation' && tokens > 0);
    const byTask = [
      ...groupEpisodes(
        evaluated.filter(({ step }) => step === first.step || step === last.step),
        ({ task }) => task,
      ).values(),
    ];
    const pairs = byTask.flatMap((episodes) => {
      const [before, after] = [first, last].map(({ step }) => episodes.find((episode) => episode.step === step));
      return before === undefined || after === undefined ? [] : [{ before, after }];
    });
    const same = pairs.filter(({ before, after }) => before.tokensHash === after.tokensHash);
    if (pairs.length < leastTasks || same.length < leastSame * pairs.length || steps(run) < 5) return undefined;
    return {
      summary: `The training hardly changed the model: ${same.length} of ${pairs.length} held-out tasks (${percent(same.length / pairs.length)}) are answered token by token as before it.`,
      cure: `Raise ${nameSetting('trainer_common.optim.lr', run.settings.rate)}: begin with three times its value. With LoRA, 10 times the rate of full training is usual. If the rate is right, see whether groups have equal rewards.`,
      episodes: episodeIds(same.map(({ after }) => after)),
      taken: same.length / pairs.length,
    };
  },
};

/** Steps that made an update. */
const steps = ({ figures: { grad_norm: norms } }: Parameters<Cause['look']>[0]): number =>
  norms === undefined ? 0 : norms.values.filter((value) => value > 0).length;
