import { chanceOfMixedGroup, formatRate, wilsonInterval } from '@agentjet/core/success';
import type { MetricsRecord } from '@agentjet/run-folder';
import { learnedSuccess, lowestSuccess } from '../limits.js';
import type { RuleFinding, Rule, RunRecords } from '../rule.js';
import { meanSuccess, nameSteps, sumOf } from '../sums.js';
import { cureOfEasyTasks } from '../cures.js';

/**
 * Finds runs in which most groups have equal rewards and train nothing, although the model does not solve its tasks.
 * Equal rewards are expected once the model has learned its tasks.
 */
export const noSignal: Rule = {
  name: 'no_signal',
  find(records) {
    const { steps } = records;
    const [groups, skipped] = [sumOf(steps, 'groups'), sumOf(steps, 'groups_skipped')];
    const [episodes, failed] = [sumOf(steps, 'episodes'), sumOf(steps, 'failed_episodes')];
    if (groups === 0 || sumOf(steps, 'generated_tokens') === 0 || failed === episodes) return undefined;
    const hasNone = steps.every((step) => step['policy_version'] === 0) && skipped === groups;
    if (!hasNone && wilsonInterval((groups - skipped) / groups, groups).high >= 0.5) return undefined;
    if (steps.some((step) => step['teacher_kl'] !== undefined)) return { message: agreesWithTeacher(records, skipped) };
    return explain(records, { groups, skipped, failed });
  },
};

type Counts = { readonly groups: number; readonly skipped: number; readonly failed: number };

/** A teacher also trains groups with equal rewards, so a group that trains nothing has another reason. */
function agreesWithTeacher({ steps }: RunRecords, skipped: number): string {
  const which = skipped === 1 ? 'one group' : `${skipped} groups`;
  return `In ${which} of ${nameSteps(steps)} the student agrees with its teacher on each sampled token, so they train nothing. Check that teacher.model is another model than model.path.`;
}

function explain(records: RunRecords, counts: Counts): RuleFinding | undefined {
  const { steps, evaluations } = records;
  const success = meanSuccess(steps);
  if (success < lowestSuccess) return { message: `${describe(records, counts)} ${tooHard(records, success)}` };
  if (success > learnedSuccess) {
    const isStart = steps[0]?.step === 1;
    return isStart ? { message: `${describe(records, counts)} ${tooEasy}` } : undefined;
  }
  const evaluated = evaluations.at(-1)?.['success_rate'] ?? 0;
  return evaluated > learnedSuccess
    ? undefined
    : { message: `${describe(records, counts)} ${agreeing(records, success)}` };
}

function describe({ steps, config }: RunRecords, { groups, skipped, failed }: Counts): string {
  const of = skipped === groups ? `all ${groups}` : `${skipped} of ${groups}`;
  const lost = failed === 0 ? '' : ` (${failed} episodes failed)`;
  const which = groups === 1 ? 'the only group' : `${of} groups`;
  const rate = meanSuccess(steps);
  return (
    `In ${which} of ${nameSteps(steps)} the episodes got equal rewards${lost}, so they train nothing. ` +
    `Success is ${formatRate(rate, wilsonInterval(rate, groups))} at temperature ${config.rollout.temperature}.`
  );
}

function tooHard({ config, evaluations }: RunRecords, success: number): string {
  const { temperature, numRepeat } = config.rollout;
  const evaluation = evaluations.findLast((line) => line['success_rate'] !== undefined);
  const helps = [
    'imitate successful transcripts first (debug.collect, then ajet sft)',
    ...coolerHelp(evaluation, { success, temperature }),
    'put example turns into the prompt',
    ...(success > 0 ? [`raise rollout.num_repeat (now ${numRepeat})`] : []),
  ];
  return `The tasks are too hard for this model as it is sampled. What helps: ${listed(helps.slice(0, 3))}.`;
}

/**
 * Suggests a lower temperature, which often helps a small model. If an evaluation at a lower temperature succeeded more
 * often, the suggestion shows its success.
 */
function coolerHelp(
  evaluation: MetricsRecord | undefined,
  { success, temperature }: { readonly success: number; readonly temperature: number },
): readonly string[] {
  if (temperature < 0.5) return [];
  const rate = evaluation?.['success_rate'] ?? 0;
  const [least, most] = [evaluation?.['success_low'] ?? 0, evaluation?.['success_high'] ?? 1];
  const cooler = evaluation?.['temperature'] ?? 0;
  if (least <= success || cooler >= temperature) return [`lower rollout.temperature (now ${temperature})`];
  const seen = formatRate(rate, { low: least, high: most });
  return [`lower rollout.temperature (now ${temperature}; at ${cooler} success is ${seen})`];
}

const tooEasy = `The tasks are too easy to teach anything. ${cureOfEasyTasks}`;

/** Explains groups that agree because some tasks are always solved and the others never are. */
function agreeing({ config, trained }: RunRecords, success: number): string {
  const { numRepeat, temperature } = config.rollout;
  const chance = chanceOfMixedGroup(success, numRepeat);
  const [first = 0, last = 0] = [trained?.first['entropy'], trained?.last['entropy']];
  const hasNoVariety = first > 0 && last < 0.2 * first;
  const warmer = `a higher rollout.temperature (now ${temperature})`;
  const helps = hasNoVariety
    ? [`a lower trainer_common.optim.lr (now ${config.trainerCommon.optim.lr})`, 'trainer_common.use_kl_loss', warmer]
    : [
        ...(temperature < 0.5 ? [warmer] : []),
        'tasks between the two kinds (task_reader.difficulty finds them)',
        'a reward with more values between 0 and 1',
      ];
  const why = hasNoVariety
    ? `The samples of a task hardly differ: entropy fell from ${first.toFixed(3)} to ${last.toFixed(4)}.`
    : 'The model solves a task in all episodes of its group or in none.';
  return `By chance, ${Math.round(100 * chance)}% of groups of ${numRepeat} would differ. ${why} What helps: ${listed(helps)}.`;
}

const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')}, or ${items.at(-1)}`;
