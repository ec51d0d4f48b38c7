import { ConfigError } from '@agentjet/core';
import {
  choosePalette,
  compareEvaluations,
  formatComparison,
  formatOutcome,
  inspectEpisode,
  OutcomeReader,
  selectEpisodes,
  type ComparedTask,
  type EpisodeSelection,
  type OutcomeLayout,
  type ShownOutcome,
} from '@agentjet/inspect';
import { saysWords } from '@agentjet/run-folder';
import { createOutput } from '../output.js';
import type { InspectFlags } from '../inspect-program.js';
import { readStep } from './read-flags.js';

/** Whether a flag asks for questions and answers, and not for a table or for tokens. */
export function asksForOutcomes({ html: _html, tokens: _tokens, ...flags }: InspectFlags): boolean {
  return Object.values(flags).some((value) => value !== undefined);
}

/** Shows what episodes were asked, what was expected, what they answered, and why they got their rewards. */
export async function showOutcomes(run: string, flags: InspectFlags): Promise<void> {
  const selection = toSelection(flags);
  const reader = await OutcomeReader.open(run);
  const { rows, seen } = await selectEpisodes(reader.index, run, selection);
  const { writeLine, writeJson } = createOutput(flags);
  const layout = layoutOf(process.stdout);
  const shown: ShownOutcome[] = [];
  let count = 0;
  for (const row of rows) {
    const outcome = await reader.read(row);
    if (flags.find !== undefined && !saysWords(outcome.outcome, flags.find)) continue;
    count++;
    if (flags.json === true) shown.push(outcome);
    else for (const line of [...formatOutcome(outcome, layout), '']) writeLine(line);
  }
  const place = selection.step === undefined ? '' : ` of step ${selection.step}`;
  const phase = selection.phase === undefined ? '' : `${selection.phase === 'train' ? 'training' : 'evaluation'} `;
  writeLine(`${count} of ${seen} ${phase}episodes${place}`);
  writeJson({
    run_dir: run,
    episodes: shown.map(({ row, outcome }) => ({ ...row, ...outcome })),
    of: seen,
  });
}

/** Prints the row and the outcome of one episode, named by its id or by a prefix that only one id has. */
export async function showEpisodeAsJson(run: string, episodeId: string): Promise<void> {
  const { record } = await inspectEpisode(run, episodeId);
  const reader = await OutcomeReader.open(run);
  const row = (await reader.index.rowsOf(record.step)).findLast(({ episode_id: id }) => id === record.episode_id);
  const { outcome } = row === undefined ? { outcome: {} } : await reader.read(row);
  createOutput({ json: true }).writeJson({ run_dir: run, ...row, ...outcome });
}

/** Shows by task what was gained and lost between the first and the last evaluation. */
export async function showComparison(run: string, flags: InspectFlags): Promise<void> {
  const { beforeAfter: _asked, json: _json, ...others } = flags;
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  if (other !== undefined)
    throw new ConfigError('wrong_value', `--before-after compares two evaluations and does not take --${other}.`);
  const reader = await OutcomeReader.open(run);
  const found = await compareEvaluations(reader, run);
  const { writeLine, writeJson } = createOutput(flags);
  if (flags.json !== true)
    for await (const line of formatComparison(found, reader, layoutOf(process.stdout))) writeLine(line);
  else
    writeJson({
      run_dir: run,
      first_step: found.firstStep,
      last_step: found.lastStep,
      success_before: found.before.rate,
      success_after: found.after.rate,
      change: found.difference,
      left_out: found.leftOut,
      tasks: await Promise.all(found.tasks.map((task) => toTaskRecord(task, reader))),
    });
}

async function toTaskRecord({ taskId, kind, change, before, after }: ComparedTask, reader: OutcomeReader) {
  const { outcome: earlier } = await reader.read(before.episode);
  const { outcome: later } = await reader.read(after.episode);
  const sideOf = (
    { successes, trials, episode }: ComparedTask['before'],
    { answered, reason, error }: typeof later,
  ) => {
    return { successes, trials, episode_id: episode.episode_id, answered, reason, error };
  };
  return {
    task_id: taskId,
    ...(kind !== undefined && { kind }),
    change,
    question: later.question,
    expected: later.expected,
    before: sideOf(before, earlier),
    after: sideOf(after, later),
  };
}

function layoutOf(stream: NodeJS.WriteStream): OutcomeLayout {
  return { palette: choosePalette(stream), width: stream.isTTY ? stream.columns : Infinity };
}

function toSelection({ failed, task, step, kind, phase, sort }: InspectFlags): EpisodeSelection {
  return {
    ...(failed === true && { failed }),
    ...(task !== undefined && { task }),
    ...(step !== undefined && { step: readStep(step) }),
    ...(kind !== undefined && { kind }),
    ...(phase !== undefined && { phase }),
    ...(sort !== undefined && { sort }),
  };
}
