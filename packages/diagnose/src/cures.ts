import { nameSetting } from './examine/words.js';

/** These sentences say what helps. A run in progress and the examination of a whole run give the same advice. */

type Limits = { readonly answerLimit?: number | undefined; readonly contextLimit?: number | undefined };

export const cureOfCutAnswers = ({ answerLimit, contextLimit }: Limits): string =>
  `Raise ${nameSetting('rollout.max_response_length_in_one_turn', answerLimit)}, or ${nameSetting('rollout.max_model_len', contextLimit)} if long prompts leave no room, or the agent's own max_tokens; or ask for shorter answers.`;

type Training = { readonly rate?: number | 'auto' | undefined; readonly usesKl?: boolean | undefined };

/** `bestStep` is absent or 0 if no checkpoint of the run is worth resuming from. */
export function cureOfCollapse({ rate, usesKl }: Training, bestStep = 0): string {
  const from = bestStep === 0 ? 'Begin again' : `Begin again, or resume from a checkpoint near step ${bestStep},`;
  const kl = usesKl === true ? '' : ', or set trainer_common.use_kl_loss';
  return `${from} with a lower ${nameSetting('trainer_common.optim.lr', rate)}${kl}. trainer_common.keep_best: success_rate keeps the best checkpoint.`;
}

export const cureOfEasyTasks =
  'Use harder tasks, or let task_reader.difficulty leave out those that are always solved.';
