import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, findNearestKey, showValue, type JsonObject } from '@agentjet/core';
import { createTaskReader, type ReaderRegistration, type TaskReader, type TaskSource } from '@agentjet/rollout/inputs';

/** A JSONL file, a list, or a function that starts a pass. */
type TaskPart = string | TaskSource;

/** Tasks in the form of the Python AgentJet: a JSONL file, or a folder with one file for each split. */
type SplitData = {
  readonly type?: 'jsonl' | 'jsonl_dataset_file';
  readonly datasetPath: string;
  /** The split that is trained: `<datasetPath>/<split>.jsonl` in a folder. Default: `train`. */
  readonly trainingSplit?: string;
  /** The split that is evaluated. Default: `test`. If this file does not exist, there is no evaluation. */
  readonly validationSplit?: string;
};

/** A data set of the Hugging Face hub, or a folder in its layout. */
type HubData = {
  readonly type: 'hf' | 'huggingface' | 'huggingface_dat_repo';
  readonly datasetPath: string;
  /** The subset. */
  readonly datasetName?: string;
  /** The split that is trained. Default: `train`. */
  readonly trainingSplit?: string;
  /** The split that is evaluated. Default: `test`. With null, there is no evaluation. */
  readonly validationSplit?: string | null;
  /** Maps fields of the task to columns, such as `{ main_query: 'question' }`. */
  readonly fields?: Readonly<Record<string, string>>;
};

/** The source of the tasks: files, lists and generators, a reader, or numbered tasks without text. */
export type JobData =
  | TaskReader
  | ReaderRegistration
  | SplitData
  | HubData
  | { readonly type?: 'jsonl' | 'jsonl_dataset_file'; readonly training: TaskPart; readonly validation?: TaskPart }
  | { readonly type: 'random_dummy'; readonly training?: number; readonly validation?: number };

/** The part that a job keeps: settings if a configuration can express them, otherwise a reader. */
export type GivenData = { readonly config: JsonObject } | { readonly reader: unknown };

type Fields = { readonly [name: string]: unknown };

function isReader(data: Fields): boolean {
  const has = (name: string): boolean => typeof data[name] === 'function';
  return (has('trainingTasks') && has('evaluationTasks')) || has('open');
}

function badData(seen: string): ConfigError {
  return new ConfigError(
    'bad_data',
    `setData() got ${seen}. Pass { training, validation }: for each a JSONL file, a list of tasks, or a function that returns an iterable of them.`,
  );
}

function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'an object';
  return value === undefined ? 'undefined' : showValue('', value);
}

/** Maps the names of the Python AgentJet, in camelCase, to the names used here. */
const originalNames: Readonly<Record<string, string>> = {
  dataset_path: 'datasetPath',
  dataset_name: 'datasetName',
  training_split: 'trainingSplit',
  validation_split: 'validationSplit',
};

const dataNames = [
  'type',
  'training',
  'validation',
  'datasetPath',
  'datasetName',
  'trainingSplit',
  'validationSplit',
  'fields',
];

/** Renames fields to the names used here. Throws ConfigError `unknown_key` for a name that has no meaning. */
function renameFields(given: Fields): Fields {
  const renamed = Object.entries(given).map(([name, value]) => {
    const own = Object.hasOwn(originalNames, name) ? (originalNames[name] ?? name) : name;
    if (dataNames.includes(own)) return [own, value] as const;
    const nearest = findNearestKey(own, dataNames);
    const repair = nearest === undefined ? `It takes ${dataNames.join(', ')}.` : `Did you mean "${nearest}"?`;
    throw new ConfigError('unknown_key', `setData() has no argument "${name}". ${repair}`);
  });
  return Object.fromEntries(renamed);
}

const hubTypes: readonly unknown[] = ['hf', 'huggingface', 'huggingface_dat_repo'];

function toHubData({ type, training, validation, ...given }: Fields): JsonObject {
  if (typeof given['datasetPath'] !== 'string')
    throw badData(`${show(given['datasetPath'])} as datasetPath for the type ${show(type)}`);
  if (training !== undefined || validation !== undefined)
    throw badData(`training or validation for the type ${show(type)}, which has datasetPath`);
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  return { taskReader: { type: 'huggingface_dat_repo', huggingfaceDatRepo: Object.fromEntries(known) } };
}

const ends = ['jsonl', 'json', 'csv', 'parquet'];

function findFile(folder: string, split: string, isNeeded: boolean): string | undefined {
  const file = ends.map((end) => path.join(folder, `${split}.${end}`)).find((each) => existsSync(each));
  if (file !== undefined) return file;
  if (!isNeeded) return undefined;
  throw new ConfigError(
    'no_tasks',
    `setData() got the folder ${folder}, which has no ${split}.jsonl. Add it, or name another split in trainingSplit.`,
  );
}

/**
 * Returns the training and evaluation tasks. A file holds the training tasks, and a folder holds one file for each
 * split.
 */
function toParts({ datasetPath, trainingSplit = 'train', validationSplit = 'test' }: Fields): Fields {
  if (typeof datasetPath !== 'string' || typeof trainingSplit !== 'string' || typeof validationSplit !== 'string')
    throw badData(`${show(datasetPath)} as datasetPath`);
  if (!existsSync(datasetPath) || !statSync(datasetPath).isDirectory()) return { training: datasetPath };
  return {
    training: findFile(datasetPath, trainingSplit, true),
    validation: findFile(datasetPath, validationSplit, false),
  };
}

function checkPart(name: string, part: unknown): TaskPart {
  if (typeof part === 'string' || Array.isArray(part) || typeof part === 'function') return part as TaskPart;
  throw badData(`${show(part)} as ${name} tasks`);
}

function toCounts({ training, validation }: Fields): JsonObject {
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
    const { readJsonlTasks } = await import('@agentjet/data');
    yield* await readJsonlTasks(file);
  };
}

/** Throws ConfigError `bad_data` or `no_tasks`. */
export function readJobData(data: JobData): GivenData {
  const fields: unknown = data;
  if (typeof fields !== 'object' || fields === null) throw badData(show(fields));
  if (isReader(fields as Fields)) return { reader: fields };
  const named = Array.isArray(fields) ? {} : renameFields(fields as Fields);
  const { type }: Fields = named;
  if (type === 'random_dummy' || type === 'dummy') return { config: toCounts(named) };
  if (hubTypes.includes(type)) return { config: toHubData(named) };
  if (type !== undefined && type !== 'jsonl_dataset_file' && type !== 'jsonl') throw badData(`the type ${show(type)}`);
  const { training, validation } = named['datasetPath'] === undefined ? named : toParts(named);
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
