import { deriveSeed, type Sample } from '@agentjet/core';
import { type EnvironmentHost, type Episode, runGroups } from '@agentjet/rollout';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { Course } from './recipe.js';
import { TeacherEngine } from './teacher-engine.js';

export type Transcripts = {
  readonly course: string;
  readonly samples: readonly Sample[];
  readonly numEpisodes: number;
  readonly numTokens: number;
  readonly numAnswerTokens: number;
  /** The share of episodes in which the teacher happened to succeed. */
  readonly successRate: number;
};

export type RecordOptions = {
  readonly chatTokenizer: ChatTokenizer;
  readonly contextLength: number;
  readonly seed: number;
};

/** The limit is an hour, because the load of the machine must not change what is recorded. */
const timeoutMs = 3_600_000;

function hostOf({ environment }: Course): EnvironmentHost | undefined {
  if (environment === undefined) return undefined;
  return { environment, openTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs };
}

async function* runCourse(
  course: Course,
  { chatTokenizer, contextLength, seed }: RecordOptions,
): AsyncGenerator<Episode> {
  const groups = runGroups({
    workflow: course.workflow,
    ...(course.judge === undefined ? {} : { judge: course.judge }),
    environment: hostOf(course),
    policy: {
      kind: 'engine',
      engine: new TeacherEngine({ chatTokenizer, contextLength, teacher: course.teacher }),
      chatTokenizer,
    },
    sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 256 },
    timeoutMs,
    tasks: course.drawTasks({ seed: deriveSeed(seed, course.name), count: course.numEpisodes }),
    numRepeat: 1,
    maxParallel: 16,
    seed: deriveSeed(seed, 'transcripts', course.name),
    idPrefix: `${course.name}-`,
  });
  for await (const { episodes } of groups) yield* episodes;
}

/**
 * Runs a course from its tasks to its samples. If an episode fails, the teacher has a mistake, and this function
 * throws.
 */
export async function recordTranscripts(course: Course, options: RecordOptions): Promise<Transcripts> {
  const samples: Sample[] = [];
  let numSuccesses = 0;
  for await (const episode of runCourse(course, options)) {
    if (episode.status === 'failed')
      throw new Error(`The teacher of ${course.name} failed on ${episode.task.taskId}: ${episode.error.message}`);
    if (episode.isSuccess) numSuccesses++;
    samples.push(...episode.samples);
  }
  const numTokens = samples.reduce((sum, { ids }) => sum + ids.length, 0);
  const numAnswerTokens = samples.reduce(
    (sum, { lossMask }) => sum + lossMask.reduce((ones, mask) => ones + mask, 0),
    0,
  );
  return {
    course: course.name,
    samples,
    numEpisodes: course.numEpisodes,
    numTokens,
    numAnswerTokens,
    successRate: numSuccesses / course.numEpisodes,
  };
}
