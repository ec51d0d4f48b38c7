import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { AgentJetError, TaskError } from '@agentjet/core';
import { downloadDataset, listFiles, parseDatasetName, readHubSettings, type HubSettings } from '@agentjet/model-hub';
import type { TaskReader } from '@agentjet/rollout/inputs';
import type { SideRows, SplitOptions } from '../../splits/open-splits.js';
import { tellProgress } from '../../splits/tell-progress.js';
import { parseFields, type Fields } from '../../tasks/fields.js';
import { openFiles } from '../open-files.js';
import { createSplitReader } from '../split-reader.js';
import { chooseFiles } from './choose-files.js';

export type DatasetReaderOptions = Omit<SplitOptions, 'onProgress'> & {
  /** A folder, a file, or a name on the hub. */
  readonly datasetPath: string;
  /** The subset. Null: the only one, or `default`. */
  readonly datasetName: string | null;
  readonly trainingSplit: string;
  /** Null for no evaluation. */
  readonly validationSplit: string | null;
  readonly revision: string | null;
  readonly fields: Fields;
  /** The number of tasks of each split that are read. Null: all. */
  readonly limit: number | null;
  readonly cacheDir: string | null;
  readonly offline: boolean;
  /** For tests: replaces the settings from the environment. */
  readonly settings?: HubSettings;
};

/** The files of one split. */
type Found = { readonly files: readonly string[]; readonly revision: string | null; readonly location: string };

/** Reads a data set in the layout of the Hugging Face hub. A folder of that name is used before the cache, and the cache before the hub. */
export function createDatasetReader(options: DatasetReaderOptions): TaskReader {
  parseFields(options.fields);
  const onProgress = tellProgress(options.onNotice);
  const isFile = existsSync(options.datasetPath) && statSync(options.datasetPath).isFile();
  const open = (split: string) => async (): Promise<SideRows> => openSplit(options, split, onProgress);
  const { trainingSplit, validationSplit } = options;
  return createSplitReader(
    {
      training: open(trainingSplit),
      evaluation: validationSplit === null || isFile ? null : open(validationSplit),
    },
    { ...options, onProgress },
  );
}

async function openSplit(
  options: DatasetReaderOptions,
  split: string,
  onProgress: SplitOptions['onProgress'],
): Promise<SideRows> {
  const { files, revision, location } = await findSplit(options, split);
  const source = existsSync(options.datasetPath) ? path.basename(options.datasetPath) : options.datasetPath;
  const name = [source, options.datasetName, split].filter((part) => part !== null).join('/');
  return openFiles(location, files, {
    kind: 'huggingface_dat_repo',
    revision,
    limit: options.limit,
    fields: options.fields,
    idPrefix: () => name,
    isOneTable: true,
    locate: (file) =>
      revision === null
        ? file
        : `${source}: ${file.split(`${path.sep}${revision}${path.sep}`).at(-1)?.split(path.sep).join('/')}`,
    onNotice: options.onNotice,
    onProgress,
  });
}

async function findSplit(options: DatasetReaderOptions, split: string): Promise<Found> {
  const { datasetPath, datasetName } = options;
  const choose = (paths: readonly string[]): readonly string[] =>
    chooseFiles(paths, { subset: datasetName, split }, datasetPath);
  if (!existsSync(datasetPath)) return findOnHub(options, choose);
  if (statSync(datasetPath).isFile()) return { files: [datasetPath], revision: null, location: datasetPath };
  const files = choose(await listFiles(datasetPath)).map((file) => path.join(datasetPath, ...file.split('/')));
  return { files, revision: null, location: datasetPath };
}

async function findOnHub(
  { datasetPath, revision, onNotice, ...options }: DatasetReaderOptions,
  choose: (paths: readonly string[]) => readonly string[],
): Promise<Found> {
  const name = parseDatasetName(datasetPath);
  if (name === undefined)
    throw new TaskError(
      'missing_file',
      `dataset_path is "${datasetPath}", which is neither a folder, a file, nor a name on the hub. Write org/name.`,
    );
  const settings = options.settings ?? readHubSettings();
  const tell = tellProgress(onNotice);
  try {
    const found = await downloadDataset(name, {
      settings: {
        ...settings,
        ...(options.cacheDir !== null && { cacheDir: options.cacheDir }),
        isOffline: settings.isOffline || options.offline,
      },
      revision: revision ?? undefined,
      choose,
      onNotice,
      onProgress: ({ doneBytes, totalBytes }) => tell(`downloading ${datasetPath}`, doneBytes / totalBytes),
    });
    const files = found.paths.map((file) => path.join(found.dir, ...file.split('/')));
    return { files, revision: found.commit, location: `${datasetPath}@${found.revision}` };
  } catch (error) {
    if (!(error instanceof AgentJetError) || error.constructor.name === 'ConfigError') throw error;
    throw new TaskError(error.code, error.message, { cause: error });
  }
}
