import path from 'node:path';
import { cutText, formatSeconds, snakeKeys, type JsonObject } from '@agentjet/core';
import { openRunFolder } from '@agentjet/run-folder';
import { AgentJetError, type RescoredEpisode, type RescoreReport, type EpisodeScore } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import type { JudgeFlags } from '../judge-program.js';
import { createOutput } from '../output.js';
import { loadJob } from './load-job.js';
import { readStep } from './read-flags.js';

/** Runs `ajet judge --run` and returns the exit code. */
export async function printRescore(
  { run, conf, step, ...flags }: JudgeFlags & { readonly run: string },
  overrides: readonly string[],
): Promise<number> {
  const output = createOutput(flags);
  const chosen = step === undefined ? {} : { step: readStep(step) };
  return runInterruptibly(
    () => output.writeLine('Stopping. What is known so far follows. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const { dir } = await openRunFolder(run);
      const job = loadJob({ conf: conf ?? path.join(dir, 'config.yaml') }, overrides);
      const report = await job.rescore(dir, { ...chosen, onEvent: output.listener, signal });
      for (const line of describe(report)) output.writeLine(line);
      output.writeJson(toJson(report));
      const [why] = report.leftOut;
      if (report.rescored > 0 || report.isInterrupted) return 0;
      throw new AgentJetError(
        'nothing_judged',
        `No episode of ${dir} was scored again: ${why?.reason ?? 'it has none'}.`,
      );
    },
  );
}

const mostShown = 20;

function describe(report: RescoreReport): readonly string[] {
  const { changes } = report;
  const rest = changes.length - mostShown;
  return [
    describeCounts(report),
    ...describeMeans(report),
    ...report.leftOut.map(
      ({ reason, episodes, firstEpisode }) => `left out: ${episodes}, such as ${firstEpisode}: ${reason}`,
    ),
    ...changes.slice(0, mostShown).map(describeChange),
    ...(rest > 0 ? [`  ... and ${rest} more; --json lists all`] : []),
  ];
}

function describeCounts({
  run,
  steps,
  episodes,
  rescored,
  scoredByWorkflow,
  changes,
  seconds,
  isInterrupted,
  usage,
}: RescoreReport): string {
  const parts = [
    `${rescored} of ${episodes} episodes of ${steps.length === 1 ? `step ${steps[0] ?? 0}` : `${steps.length} steps`} scored again`,
    `${changes.length} changed`,
    ...(scoredByWorkflow > 0 ? [`${scoredByWorkflow} had their reward from the workflow`] : []),
    ...(usage.calls > 0 ? [`${usage.calls} calls of the judge's model`] : []),
    formatSeconds(seconds),
    ...(isInterrupted ? ['stopped before the end'] : []),
  ];
  return `${run}: ${parts.join(', ')}`;
}

function describeMeans({ before, after }: RescoreReport): readonly string[] {
  if (before === null || after === null) return [];
  return [
    `mean reward ${show(before.reward)} -> ${show(after.reward)}, success ${before.successRate.toFixed(3)} -> ${after.successRate.toFixed(3)}`,
  ];
}

const show = (reward: number): string => String(Number(reward.toFixed(4)));

function describeChange({ episodeId, step, before, after }: RescoredEpisode): string {
  const name = ({ reward, isSuccess }: EpisodeScore): string => `${show(reward)}${isSuccess ? ' (success)' : ''}`;
  const reason = after.reason === null ? '' : `  ${cutText(after.reason)}`;
  return `  ${episodeId}  step ${step}  ${name(before)} -> ${name(after)}${reason}`;
}

function toJson({ isInterrupted, changes, leftOut, ...report }: RescoreReport): JsonObject {
  const toSnake = (part: object): JsonObject => snakeKeys(part as JsonObject);
  return {
    ...toSnake(report),
    interrupted: isInterrupted,
    changed: changes.length,
    changes: changes.map(toSnake),
    left_out: leftOut.map(toSnake),
  };
}
