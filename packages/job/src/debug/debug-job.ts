import type { Task } from '@agentjet/core';
import { type TaskReader, samplingDefaults } from '@agentjet/rollout';
import type { JobListener } from '@agentjet/records';
import { readTasks } from '@agentjet/inputs';
import { runPhase, type RolloutContext, wrapModels, silenceOf, unawaitedIn } from '@agentjet/local-run';
import { TranscriptRecorder } from './transcript-recorder.js';

export type DebugResult = { readonly episodes: number; readonly failedEpisodes: number };

async function firstTasks(reader: TaskReader, count: number): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  for (const split of [reader.trainingTasks(), reader.evaluationTasks()]) {
    for await (const task of readTasks(split)) {
      if (tasks.length >= count) break;
      tasks.push(task);
    }
    if (tasks.length > 0) return tasks;
  }
  return tasks;
}

/**
 * Runs one episode of each of the first tasks, and prints each one when it finishes. It does not train, and writes no
 * files.
 */
export async function debugJob(
  context: RolloutContext,
  options: { readonly reader: TaskReader; readonly signal?: AbortSignal | undefined },
): Promise<DebugResult> {
  const { config } = context;
  const { debug, rollout } = config;
  const recorder = new TranscriptRecorder();
  const emit: JobListener = (event) => {
    context.emit(event);
    if (event.type === 'episode_finished')
      context.emit({ type: 'transcript', transcript: recorder.take(event.episode) });
  };
  const wrapModel = wrapModels([recorder.wrapModel, context.wrapModel]);
  const { groups } = await runPhase(
    { ...context, wrapModel, emit },
    {
      phase: 'debug',
      step: 0,
      tasks: await firstTasks(options.reader, debug.debugFirstNTasks),
      numRepeat: 1,
      maxParallel: debug.debugMaxParallel,
      sampling: samplingDefaults(config),
      timeoutMs: rollout.episodeTimeout * 1000,
      seed: debug.seed,
      idPrefix: '',
      signal: options.signal,
    },
  );
  const episodes = groups.flatMap((group) => group.episodes);
  const calls = episodes.reduce((sum, { calls }) => sum + calls.answered + calls.failed + calls.aborted, 0);
  if (calls === 0 && episodes.some(({ status }) => status === 'completed'))
    emit({
      type: 'notice',
      message: silenceOf(config.trainableTargets, {
        workflow: rollout.userWorkflow,
        unawaited: episodes.map(unawaitedIn).find((message) => message !== undefined),
      }),
    });
  return { episodes: episodes.length, failedEpisodes: episodes.filter(({ status }) => status === 'failed').length };
}
