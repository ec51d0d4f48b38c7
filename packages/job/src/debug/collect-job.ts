import path from 'node:path';
import {
  deriveSeed,
  quoteForShell,
  WorkflowError,
  type CommonConfig,
  type ConfigComposition,
  type Task,
} from '@agentjet/core';
import { formatRate, successInterval } from '@agentjet/core/success';
import { type TaskReader, type WrapModel, samplingDefaults } from '@agentjet/rollout';
import { createRunFolder, type RunFolder } from '@agentjet/run-folder';
import { type Collected, type JobListener, transcriptsFile } from '@agentjet/records';
import { readTasks, hashCode } from '@agentjet/inputs';
import { runPhase, type RolloutContext, wrapModels, findRun, openFolderAgain } from '@agentjet/local-run';
import { KeptTranscripts } from './kept-transcripts.js';
import { TranscriptRecorder } from './transcript-recorder.js';

type CollectOptions = {
  readonly reader: TaskReader;
  readonly composition: ConfigComposition;
  readonly resume: boolean | string;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Runs training tasks, never evaluation tasks, and writes each transcript into a run folder when its episode ends. An
 * episode that was lost to an outage is not written, so with `resume` it runs again.
 */
export async function collectJob(
  context: RolloutContext,
  options: CollectOptions,
): Promise<Collected & { readonly runDir: string }> {
  const { config, emit } = context;
  const named = { ...config, experimentName: withSuffix(config.experimentName) };
  const folder = await openFolder(named, options, emit);
  try {
    const kept = new KeptTranscripts(path.join(folder.dir, transcriptsFile));
    await kept.read();
    emit({
      type: 'notice',
      message: `Transcripts are written to ${folder.dir}${kept.episodes === 0 ? '' : `, which already has ${kept.episodes}`}.`,
    });
    const tasks = await readTrainingTasks(options.reader, config.debug.collect);
    for (let pass = 0; pass < config.debug.collectRepeat && options.signal?.aborted !== true; pass++)
      await collectPass(context, { kept, tasks, pass, signal: options.signal });
    noticeMissing(kept, { tasks, passes: config.debug.collectRepeat, emit });
    const { episodes, successes, failed } = kept;
    await folder.log('collected', { episodes, successes, failed });
    if (episodes > 0 && failed === episodes)
      throw new WorkflowError(
        'nothing_completed',
        `None of the ${episodes} episodes completed, so there is nothing to imitate. Run without debug.collect to print each episode.`,
      );
    const { scores } = kept;
    const collected = { episodes, successes, failed, tasks: scores.length, interval: successInterval(scores) };
    emit({ type: 'notice', message: describeCollected(collected, folder.dir) });
    return { runDir: folder.dir, ...collected };
  } finally {
    await folder.close();
  }
}

function describeCollected({ episodes, successes, failed, tasks, interval }: Collected, dir: string): string {
  const rate = formatRate(successes / Math.max(1, episodes), interval);
  const counts = `Collected ${episodes} transcripts of ${tasks} tasks: ${successes} succeeded, ${failed} failed with an error, success ${rate}.`;
  if (successes === 0)
    return `${counts} None of them shows how to succeed. Collect from a stronger model (debug.base_url), or more often (debug.collect_repeat).`;
  return `${counts}\nNext: ajet sft --conf <your configuration> ${quoteForShell(`sft.transcripts=${dir}`)}`;
}

/** Reports how many episodes are missing because of an outage or an interrupt, because the file does not show this. */
function noticeMissing(
  kept: KeptTranscripts,
  { tasks, passes, emit }: { readonly tasks: readonly Task[]; readonly passes: number; readonly emit: JobListener },
): void {
  const ids = new Set(tasks.map(({ taskId }) => taskId));
  const wanted = ids.size * passes;
  let missing = 0;
  for (let pass = 0; pass < passes; pass++) for (const id of ids) if (!kept.has(pass, id)) missing++;
  if (missing === 0) return;
  emit({
    type: 'notice',
    message: `${missing} of ${wanted} episodes are missing: they were lost, or not run. The same command with --resume runs them.`,
  });
}

const suffix = '-transcripts';
const withSuffix = (name: string): string => (name.endsWith(suffix) ? name : `${name}${suffix}`);

async function openFolder(
  config: CommonConfig,
  { composition, resume }: CollectOptions,
  emit: JobListener,
): Promise<RunFolder> {
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  const { experimentDir, experimentName } = config;
  if (resume === false)
    return createRunFolder({
      experimentDir,
      experimentName,
      configYaml: composition.format(config),
      code: hashCode(config),
      onNotice,
    });
  const dir = await findRun(config, resume);
  const { run } = await openFolderAgain(config, { dir, modelDir: '', onNotice, composition });
  await run.rewind({ step: 0, policyVersion: 0, groupsDrawn: 0 });
  return run;
}

async function readTrainingTasks(reader: TaskReader, wanted: number | 'all' | null): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  const most = wanted === 'all' || wanted === null ? Infinity : wanted;
  for await (const task of readTasks(reader.trainingTasks())) {
    if (tasks.length >= most) break;
    tasks.push(task);
  }
  return tasks;
}

type Pass = {
  readonly kept: KeptTranscripts;
  readonly tasks: readonly Task[];
  readonly pass: number;
  readonly signal: AbortSignal | undefined;
};

/** Runs one episode of each task that has no episode in this pass yet. */
async function collectPass(context: RolloutContext, { kept, tasks, pass, signal }: Pass): Promise<void> {
  const { config } = context;
  const { debug, rollout } = config;
  const left = tasks.filter(({ taskId }) => !kept.has(pass, taskId));
  if (left.length === 0) return;
  const recorder = new TranscriptRecorder();
  const seed = deriveSeed(debug.seed, 'collect', pass);
  const wrapModel = wrapModels([recorder.wrapModel, context.wrapModel, withSeeds(seed)]);
  const emit: JobListener = (event) => {
    context.emit(event);
    if (event.type === 'episode_finished') kept.add(pass, recorder.take(event.episode));
  };
  const { groups } = await runPhase(
    { ...context, wrapModel, emit },
    {
      phase: 'sample',
      step: 0,
      tasks: left,
      numRepeat: 1,
      maxParallel: debug.debugMaxParallel,
      sampling: samplingDefaults(config),
      timeoutMs: rollout.episodeTimeout * 1000,
      seed,
      idPrefix: pass === 0 ? '' : `again${pass}-`,
      signal,
    },
  );
  context.keeper.release(groups);
  await kept.written();
}

/** Gives each episode another seed, because some servers repeat their answers for the same seed. */
function withSeeds(seed: number): WrapModel {
  return ({ episodeId }) =>
    (model, { agentName }) => {
      let calls = 0;
      return {
        ...model,
        generate: (request, options) => {
          const sampling = { seed: deriveSeed(seed, episodeId, agentName, calls++) % 2 ** 31, ...request.sampling };
          return model.generate({ ...request, sampling }, options);
        },
      };
    };
}
