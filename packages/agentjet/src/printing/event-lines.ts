import { countOf, formatCount, formatSeconds, quoteForShell } from '@agentjet/core';
import { formatChange, formatRate } from '@agentjet/core/success';
import type {
  Evaluation,
  HeldOutLoss,
  JobEvent,
  JobListener,
  JobResult,
  RunPlan,
  SftResult,
  StepMetrics,
} from '@agentjet/records';
import { showCommand, showPath } from './see-run.js';
import { ProgressLines } from './progress-lines.js';
import { formatTranscript, type TranscriptStyle } from './format-transcript.js';

const fixed = (value: number | undefined, digits: number): string =>
  value === undefined ? '-' : value.toFixed(digits);

function formatEvaluation(evaluation: Evaluation, subject: string | undefined): string {
  const { step, successRate, interval, temperature, rewardMean, passes } = evaluation;
  const { episodes, failedEpisodes, unscoredEpisodes, seconds } = evaluation;
  const unscored = unscoredEpisodes === undefined ? '' : ` (${unscoredEpisodes} by an outage, not counted)`;
  const failed = failedEpisodes === 0 ? '' : `, ${failedEpisodes} failed${unscored}`;
  const inRun = step === 0 ? 'before training' : `after step ${step}`;
  const label = subject === undefined ? inRun : `of ${showPath(subject)}`;
  const passed =
    passes === undefined
      ? ''
      : `pass@${passes.episodesPerTask} ${fixed(passes.any, 3)}  all-pass ${fixed(passes.all, 3)}  `;
  const line = [
    `evaluation ${label}: success ${formatRate(successRate, interval)}`,
    ...formatChangeSince(evaluation),
    ...formatSampled(evaluation),
    `${passed}reward ${fixed(rewardMean, 3)}`,
    `(${episodes} episodes at temperature ${temperature}${failed}, ${formatSeconds(seconds)})`,
  ].join('  ');
  return [line, ...formatKinds(evaluation)].join('\n');
}

function formatChangeSince({ change }: Evaluation): readonly string[] {
  if (change === undefined) return [];
  const since = change.sinceStep === 0 ? '' : ` since step ${change.sinceStep}`;
  return [`change${since} ${formatChange(change)}`];
}

function formatSampled({ sampled }: Evaluation): readonly string[] {
  if (sampled === undefined) return [];
  const { temperature, successRate, interval } = sampled;
  return [`at temperature ${temperature} ${formatRate(successRate, interval)}`];
}

/** The maximum number of kinds in a line. The kinds with the most tasks are shown; the records have all kinds. */
const mostKinds = 12;

function formatKinds({ kinds = [] }: Evaluation): readonly string[] {
  if (kinds.length < 2) return [];
  const shown = kinds
    .slice(0, mostKinds)
    .map(
      ({ kind, successRate, interval, tasks }) =>
        `${kind} ${formatRate(successRate, interval)}, ${countOf(tasks, 'task')}`,
    );
  const left = kinds.length - shown.length;
  return [`  by kind: ${[...shown, ...(left > 0 ? [`and ${left} more kinds`] : [])].join('; ')}`];
}

function formatStep(step: number, totalSteps: number, metrics: StepMetrics): string {
  // Leave out the loss and entropy of a step that trained nothing, because they are unknown and not 0.
  const measured = metrics['trained_tokens'] === 0 ? {} : metrics;
  const parts = [
    `step ${String(step).padStart(String(totalSteps).length)}/${totalSteps}`,
    `reward ${fixed(metrics['reward_mean'], 3)}`,
    `success ${formatStepSuccess(metrics)}`,
    `loss ${fixed(measured['loss'], 4)}`,
    `grad ${fixed(measured['grad_norm'], 2)}`,
    `entropy ${fixed(measured['entropy'], 3)}`,
    ...(measured['teacher_kl'] === undefined ? [] : [`teacher_kl ${fixed(measured['teacher_kl'], 3)}`]),
    `tokens ${formatCount(metrics['generated_tokens'] ?? 0)}`,
    `sampling ${formatSeconds(metrics['seconds_sampling'] ?? 0)}`,
    `training ${formatSeconds(metrics['seconds_training'] ?? 0)}${formatWaits(metrics)}`,
  ];
  const failed = metrics['failed_episodes'] ?? 0;
  return [...parts, ...(failed > 0 ? [`failed ${failed}`] : [])].join('  ');
}

function formatStepSuccess(metrics: StepMetrics): string {
  const { success_rate: rate, success_low: low, success_high: high } = metrics;
  return rate === undefined || low === undefined || high === undefined
    ? fixed(rate, 3)
    : formatRate(rate, { low, high });
}

/**
 * Formats how long the step was queued and how long it took to send the weights to the sampler, if the backbone reports
 * this.
 */
function formatWaits(metrics: StepMetrics): string {
  const waits = [
    ['queued', metrics['seconds_queued'] ?? 0],
    ['syncing', metrics['seconds_sync'] ?? 0],
  ] as const;
  const long = waits.filter(([, seconds]) => seconds >= 0.05);
  return long.length === 0 ? '' : ` (${long.map(([name, seconds]) => `${name} ${formatSeconds(seconds)}`).join(', ')})`;
}

/** Formats a step of a run that imitates transcripts. Such a step samples nothing. */
function formatSftStep(step: number, totalSteps: number, metrics: StepMetrics): string {
  const seconds = metrics['seconds_training'] ?? 0;
  const parts = [
    `step ${String(step).padStart(String(totalSteps).length)}/${totalSteps}`,
    `epoch ${fixed(metrics['epoch'], 2)}`,
    `loss ${fixed(metrics['loss'], 4)}`,
    `grad ${fixed(metrics['grad_norm'], 2)}`,
    `rate ${metrics['learning_rate']?.toExponential(1) ?? '-'}`,
    `tokens ${formatCount(metrics['trained_tokens'] ?? 0)} of ${formatCount(metrics['row_tokens'] ?? 0)}`,
    `training ${formatSeconds(seconds)}`,
    ...(step < totalSteps ? [`${formatSeconds(seconds * (totalSteps - step))} left`] : []),
  ];
  return parts.join('  ');
}

function formatHeldOut({ step, loss, examples, tokens, seconds }: HeldOutLoss): string {
  const when = step === 0 ? 'before training' : `after step ${step}`;
  return `held out ${when}: loss ${fixed(loss, 4)}  (${countOf(examples, 'example')}, ${formatCount(tokens)} tokens, ${formatSeconds(seconds)})`;
}

function formatSftResult(result: SftResult): string {
  const { seconds, secondsTraining, secondsEvaluating, lossBefore, lossAfter, modelDir, runDir, isInterrupted } =
    result;
  const best = result.bestStep === undefined ? '' : ` (lowest after step ${result.bestStep} of ${result.steps})`;
  const parts = [`training ${formatSeconds(secondsTraining)}`, `evaluation ${formatSeconds(secondsEvaluating)}`];
  return [
    `${isInterrupted ? 'stopped' : 'done'} after ${formatSeconds(seconds)}: ${parts.join(', ')}`,
    ...(lossBefore === null && lossAfter === null
      ? []
      : [`held-out loss ${fixed(lossBefore ?? undefined, 4)} -> ${fixed(lossAfter ?? undefined, 4)}${best}`]),
    ...(modelDir === null ? [] : [`model  ${showPath(modelDir)}`]),
    ...showRun(runDir),
  ].join('\n');
}

function formatPlan({ firstStep, totalSteps, tasksPerStep, episodesPerTask, temperature, unit }: RunPlan): string {
  if (firstStep > totalSteps) return `its ${firstStep - 1} steps are made`;
  const resumed = firstStep > 1 ? `from step ${firstStep} of ` : '';
  if (unit !== undefined) return `${resumed}${countOf(totalSteps, 'step')} of ${countOf(tasksPerStep, unit)}`;
  const sampled = temperature === undefined ? '' : ` at temperature ${temperature}`;
  return `${resumed}${countOf(totalSteps, 'step')} of ${countOf(tasksPerStep, 'task')}, ${countOf(episodesPerTask, 'episode')} each${sampled}`;
}

function formatResult(result: JobResult): string {
  const { seconds, secondsSampling, secondsTraining, secondsEvaluating, successBefore, successAfter } = result;
  const rest = Math.max(0, seconds - secondsSampling - secondsTraining - secondsEvaluating);
  const split = { sampling: secondsSampling, training: secondsTraining, evaluation: secondsEvaluating, rest };
  const parts = Object.entries(split).map(([name, value]) => `${name} ${formatSeconds(value)}`);
  const lines = [`${result.isInterrupted ? 'stopped' : 'done'} after ${formatSeconds(seconds)}: ${parts.join(', ')}`];
  const change = result.successChange === undefined ? '' : `: ${formatChange(result.successChange)}`;
  if (successBefore !== null || successAfter !== null)
    lines.push(`success ${fixed(successBefore ?? undefined, 3)} -> ${fixed(successAfter ?? undefined, 3)}${change}`);
  if (result.modelDir !== null) lines.push(`model  ${showPath(result.modelDir)}`);
  for (const [name, { modelDir }] of Object.entries(result.policies ?? {}))
    if (modelDir !== null) lines.push(`model  ${name}: ${showPath(modelDir)}`);
  if (result.runDir !== null) lines.push(...showRun(result.runDir));
  if (result.runDir !== null && result.modelDir !== null && !result.isInterrupted)
    lines.push(...nextCommands(result.runDir));
  return lines.join('\n');
}

/** What people usually do after a run, in addition to the studio. */
function nextCommands(runDir: string): readonly string[] {
  const quoted = quoteForShell(showPath(runDir));
  return [`next   ajet inspect ${quoted} --before-after`, `next   ajet serve ${quoted}`];
}

/** The folder of the run, and the command that shows it in a browser. */
function showRun(runDir: string): readonly string[] {
  return [`run    ${showPath(runDir)}`, showCommand(runDir)];
}

/**
 * Formats an event for a log. Undefined for events that only a progress bar shows. `style` colours the transcript of a
 * debugged episode; without it, the text is plain.
 */
export function formatEvent(event: JobEvent, style?: TranscriptStyle): string | undefined {
  switch (event.type) {
    case 'run_started':
      return [
        `run ${showPath(event.runDir)}: ${formatPlan(event.plan)}, model ${showPath(event.model)}${event.modelSummary === undefined ? '' : ` (${event.modelSummary})`}`,
        showCommand(event.runDir),
      ].join('\n');
    case 'evaluated':
      return formatEvaluation(event.evaluation, event.subject);
    case 'step_finished':
      return event.metrics['reward_mean'] === undefined
        ? formatSftStep(event.step, event.totalSteps, event.metrics)
        : `${event.policy === undefined ? '' : `${event.policy} `}${formatStep(event.step, event.totalSteps, event.metrics)}`;
    case 'held_out':
      return formatHeldOut(event.heldOut);
    case 'sft_finished':
      return formatSftResult(event.result);
    case 'checkpoint_saved':
      return `checkpoint ${showPath(event.dir)}`;
    case 'transcript':
      return formatTranscript(event.transcript, style);
    case 'notice':
      return event.message;
    case 'run_finished':
      return formatResult(event.result);
    default:
      return undefined;
  }
}

/** Writes the line of each event, and from time to time the progress of a long phase. */
export function createLineListener(write: (line: string) => void): JobListener {
  const progress = new ProgressLines(write);
  return (event) => {
    progress.watch(event);
    const line = formatEvent(event);
    if (line !== undefined) write(line);
  };
}
