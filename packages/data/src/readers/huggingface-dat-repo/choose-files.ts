import { ConfigError, findNearestKey } from '@agentjet/core';
import { isTaskFile } from '../../rows/formats.js';

/**
 * Chooses the files of a data set that hold a split of a subset. It recognizes the names of the hub's own Parquet
 * files, and common names: `main/train/0000.parquet`, `main/train-00000-of-00002.parquet`, `data/train.jsonl`,
 * `gsm8k_test.csv`.
 */

export type SplitName = { readonly subset: string | null; readonly split: string };

type KnownFile = { readonly path: string; readonly subset: string; readonly split: string };

/** Files that describe a data set and contain no rows. */
const descriptions = /^(dataset_infos?|dataset_dict|state|config|metadata|package|README)\.json$/i;

const keywords: Readonly<Record<string, string>> = {
  train: 'train',
  training: 'train',
  validation: 'validation',
  valid: 'validation',
  val: 'validation',
  dev: 'validation',
  test: 'test',
  testing: 'test',
  eval: 'test',
  evaluation: 'test',
};

/** Endings in order of preference. A data set often has several kinds of files, and the first kind is read. */
const ends = ['.parquet', '.jsonl', '.ndjson', '.csv', '.tsv', '.json'];

/** Returns paths in order. If the wanted subset or split does not exist, throws a ConfigError that lists those that do. */
export function chooseFiles(paths: readonly string[], wanted: SplitName, dataset: string): readonly string[] {
  const known = paths.flatMap(describeFile);
  if (known.length === 0)
    throw new ConfigError(
      'no_tasks',
      `The data set ${dataset} has no file that can be read here (${ends.join(', ')}), only ${paths.slice(0, 5).join(', ') || 'nothing'}.`,
    );
  const subset = chooseSubset(known, wanted.subset, dataset);
  const ofSubset = known.filter((file) => file.subset === subset);
  const ofSplit = ofSubset.filter(({ split }) => split === wanted.split);
  if (ofSplit.length === 0)
    throw missingSplit(ofSubset, wanted.split, `${dataset}${subset === '' ? '' : ` (${subset})`}`);
  const end = ends.find((each) => ofSplit.some(({ path }) => path.toLowerCase().endsWith(each))) ?? '';
  return ofSplit
    .map(({ path }) => path)
    .filter((path) => path.toLowerCase().endsWith(end))
    .sort();
}

/** Returns one file if it looks like part of a split. */
function describeFile(path: string): readonly KnownFile[] {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  if (!isTaskFile(name) || descriptions.test(name) || path.split('/').some((part) => part.startsWith('.'))) return [];
  const stem = name.replace(/\.\w+$/, '');
  const parent = parts.at(-1)?.replace(/^partial-/, '');
  const shard = /^(.+?)-\d{5}-of-\d{5}/.exec(stem)?.[1];
  const isNumber = /^\d+$/.test(stem) && parent !== undefined;
  const split = isNumber ? parent : shard === undefined ? splitOf(stem) : (keywordOf(shard) ?? shard);
  const folders = isNumber || (parent !== undefined && keywordOf(parent) === split) ? parts.slice(0, -1) : parts;
  return [{ path, subset: folders.filter((folder) => folder !== 'data').join('/'), split }];
}

/** Returns `train` for `gsm8k_train`. A name without such a word is itself the split. */
function splitOf(stem: string): string {
  const words = stem.split(/[-_.\s]+/);
  const found = words.map(keywordOf).find((word) => word !== undefined);
  return found ?? stem;
}

function keywordOf(word: string): string | undefined {
  const key = word.toLowerCase();
  return Object.hasOwn(keywords, key) ? keywords[key] : undefined;
}

function chooseSubset(known: readonly KnownFile[], wanted: string | null, dataset: string): string {
  const subsets = [...new Set(known.map(({ subset }) => subset))].sort();
  if (wanted !== null && (subsets.includes(wanted) || (wanted === 'default' && subsets.includes('')))) {
    return subsets.includes(wanted) ? wanted : '';
  }
  const [only] = subsets;
  if (wanted === null && only !== undefined && subsets.length === 1) return only;
  const fallback = ['default', ''].find((name) => subsets.includes(name));
  if (wanted === null && fallback !== undefined) return fallback;
  const names = subsets.map((name) => (name === '' ? 'default' : name));
  const nearest = wanted === null ? undefined : findNearestKey(wanted, names);
  throw new ConfigError(
    'no_such_subset',
    `The data set ${dataset} has the subsets ${names.join(', ')}${wanted === null ? '' : `, not "${wanted}"`}. ${nearest === undefined ? 'Set dataset_name to one of them.' : `Did you mean "${nearest}"?`}`,
  );
}

function missingSplit(files: readonly KnownFile[], wanted: string, dataset: string): ConfigError {
  const splits = [...new Set(files.map(({ split }) => split))].sort();
  return new ConfigError(
    'no_such_split',
    `The data set ${dataset} has the splits ${splits.join(', ')}, not "${wanted}". Set training_split and validation_split; validation_split: null evaluates nothing, and split.evaluation sets training tasks aside.`,
  );
}
