import path from 'node:path';
import { ConfigError, type ConfigInput } from '@agentjet/core';
import { createTaskReader, readJsonlTasks, type TaskReader, type TaskSource } from '@agentjet/rollout';

/** A JSONL file, a list, or a function that starts a pass. */
type TaskPart = string | TaskSource;

/** Where tasks come from: files, lists and generators, a reader, or numbered tasks without text. */
export type JobData =
  | TaskReader
  | { readonly type?: 'jsonl_dataset_file'; readonly training: TaskPart; readonly validation?: TaskPart }
  | { readonly type: 'random_dummy'; readonly training?: number; readonly validation?: number };

/** What a job keeps of it: what a configuration can say, or else a reader. */
export type GivenData = { readonly config: ConfigInput } | { readonly reader: TaskReader };

type Fields = { readonly [name: string]: unknown };

function isReader(data: Fields): boolean {
  return typeof data['trainingTasks'] === 'function' && typeof data['evaluationTasks'] === 'function';
}

function badData(seen: string): ConfigError {
  return new ConfigError(
    'bad_data',
    `setData() got ${seen}. Pass { training, validation }: for each a JSONL file, a list of tasks, or a function that returns an iterable of them.`,
  );
}

function show(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'an object' : (JSON.stringify(value) ?? String(value));
}

function checkPart(name: string, part: unknown): TaskPart {
  if (typeof part === 'string' || Array.isArray(part) || typeof part === 'function') return part as TaskPart;
  throw badData(`${show(part)} as ${name} tasks`);
}

function toCounts({ training, validation }: Fields): ConfigInput {
  const counts = [
    ['training', training],
    ['validation', validation],
  ].filter(([, count]) => count !== undefined);
  return {
    taskReader: {
      type: 'random_dummy',
      randomDummy: Object.fromEntries(counts.map(([split, count]) => [split, { numTasks: count }])),
    },
  };
}

function toSource(part: TaskPart): TaskSource {
  if (typeof part !== 'string') return part;
  const file = path.resolve(part);
  return async function* () {
    yield* await readJsonlTasks(file);
  };
}

/** Throws ConfigError `bad_data` or `no_tasks`. */
export function readJobData(data: JobData): GivenData {
  const fields: unknown = data;
  if (typeof fields !== 'object' || fields === null) throw badData(show(fields));
  const { type, training, validation } = fields as Fields;
  if (isReader(fields as Fields)) return { reader: fields as TaskReader };
  if (type === 'random_dummy') return { config: toCounts(fields as Fields) };
  if (type !== undefined && type !== 'jsonl_dataset_file') throw badData(`the type ${show(type)}`);
  if (training === undefined)
    throw new ConfigError(
      'no_tasks',
      'setData() got no training tasks. Pass { training: tasks }, a file, a list or an async generator function.',
    );
  const parts = [
    checkPart('training', training),
    ...(validation === undefined || validation === null ? [] : [checkPart('validation', validation)]),
  ] as const;
  const [train, evaluate] = parts;
  if (typeof train === 'string' && (evaluate === undefined || typeof evaluate === 'string')) {
    return {
      config: {
        taskReader: {
          type: 'jsonl_dataset_file',
          jsonlDatasetFile: { training: { filePath: train }, validation: { filePath: evaluate ?? null } },
        },
      },
    };
  }
  return {
    reader: createTaskReader({
      training: toSource(train),
      ...(evaluate === undefined ? {} : { evaluation: toSource(evaluate) }),
    }),
  };
}
