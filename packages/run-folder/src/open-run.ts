import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, ConfigError, makeFolders, parseJsonObject, tellOlderFormat, replaceFile } from '@agentjet/core';
import { describeFileError } from './file-error.js';
import { runFiles } from './run-files.js';
import { RunFolder, type RunFolderOptions } from './run-folder.js';
import { claimWriting } from './writer-claim.js';

export type NewRun = {
  /** The folder that contains a folder per experiment, which contains a folder per run. */
  readonly experimentDir: string;
  readonly experimentName: string;
  /** Content of config.yaml. */
  readonly configYaml: string;
  /** SHA-256 of the code that the configuration names. */
  readonly code?: Readonly<Record<string, string>>;
} & RunFolderOptions;

/** Makes a new folder `<experimentDir>/<experimentName>/<time>/`. Throws ConfigError `unwritable_run_folder`. */
export async function createRunFolder({
  experimentDir,
  experimentName,
  configYaml,
  code = {},
  ...options
}: NewRun): Promise<RunFolder> {
  const parent = path.resolve(experimentDir, experimentName);
  try {
    makeFolders(parent);
    const dir = await makeUniqueFolder(path.join(parent, formatTime(options.clock?.() ?? new Date())));
    return await fillRunFolder(dir, { configYaml, code, ...options });
  } catch (cause) {
    throw new ConfigError('unwritable_run_folder', describeFileError(parent, cause), { cause });
  }
}

/** Makes a run folder inside another one, for one of several policies. Throws ConfigError `unwritable_run_folder`. */
export async function createRunFolderAt(dir: string, options: RunContents): Promise<RunFolder> {
  try {
    makeFolders(dir);
    return await fillRunFolder(dir, options);
  } catch (cause) {
    throw new ConfigError('unwritable_run_folder', describeFileError(dir, cause), { cause });
  }
}

type RunContents = Omit<NewRun, 'experimentDir' | 'experimentName'>;

/** The content of `rules.json`. The learning-rate schedule counts steps of the loop, including skipped ones. */
const rules = { schedule: 'loop_steps' };

async function fillRunFolder(dir: string, { configYaml, code = {}, ...options }: RunContents): Promise<RunFolder> {
  await replaceFile(path.join(dir, runFiles.config), configYaml);
  await writeFile(path.join(dir, runFiles.code), `${JSON.stringify(code)}\n`);
  await claimWriting(path.join(dir, runFiles.writer));
  await replaceFile(path.join(dir, runFiles.rules), `${JSON.stringify(rules)}\n`);
  return new RunFolder(dir, options);
}

/**
 * Opens an existing run folder. Throws BackboneError `run_folder` for any other folder, and `older_format` for a run of
 * an older version.
 */
export async function openRunFolder(dir: string, options: RunFolderOptions = {}): Promise<RunFolder> {
  const isRun = await stat(path.join(dir, runFiles.config)).then(
    (entry) => entry.isFile(),
    () => false,
  );
  if (!isRun)
    throw new BackboneError(
      'run_folder',
      `${dir} is not a run folder: it has no ${runFiles.config}. ${await sayWhereRunsAre(dir)}`,
    );
  if (!(await hasPresentRules(dir))) throw new BackboneError('older_format', tellOlderFormat(`The run ${dir}`));
  return new RunFolder(path.resolve(dir), options);
}

async function hasPresentRules(dir: string): Promise<boolean> {
  const text = await readFile(path.join(dir, runFiles.rules), 'utf8').catch(() => '');
  return parseJsonObject(text)?.['schedule'] === rules.schedule;
}

async function sayWhereRunsAre(dir: string): Promise<string> {
  const newest = await findLatestRun(dir, '.');
  return newest === undefined
    ? 'Runs are the folders <experiment_dir>/<experiment_name>/<time>.'
    : `The newest run in it is ${newest}.`;
}

/**
 * Returns the run of an experiment that was written last, by the times of its files. The names are not used, because
 * they come from the wall clock, which may have been set back. Resolves with undefined if there is no run.
 */
export async function findLatestRun(experimentDir: string, experimentName: string): Promise<string | undefined> {
  const parent = path.resolve(experimentDir, experimentName);
  const names = await readdir(parent).catch(() => []);
  const runs = await Promise.all(
    names.map(async (name) => ({ name, writtenAt: await lastWrite(path.join(parent, name)) })),
  );
  const newest = runs
    .filter(({ writtenAt }) => writtenAt > 0)
    .sort((a, b) => a.writtenAt - b.writtenAt || compareRunNames(a.name, b.name))
    .at(-1);
  return newest === undefined ? undefined : path.join(parent, newest.name);
}

/** Returns the time in ms since 1970 of the newest file that a run writes, or 0 if the folder is not a run. */
async function lastWrite(dir: string): Promise<number> {
  const timeOf = (file: string): Promise<number> =>
    stat(path.join(dir, file)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
  const [config = 0, ...others] = await Promise.all([runFiles.config, runFiles.log, runFiles.metrics].map(timeOf));
  return config === 0 ? 0 : Math.max(config, ...others);
}

/** Returns local time such as 2026-08-09T12-30-05, which sorts by time and is a valid folder name on every system. */
function formatTime(date: Date): string {
  const pad = (value: number) => String(value).padStart(2, '0');
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())].join('-');
  return `${day}T${[pad(date.getHours()), pad(date.getMinutes()), pad(date.getSeconds())].join('-')}`;
}

async function makeUniqueFolder(dir: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const candidate = attempt === 1 ? dir : `${dir}_${attempt}`;
    const isNew = await mkdir(candidate).then(
      () => true,
      (thrown: NodeJS.ErrnoException) => {
        if (thrown.code === 'EEXIST') return false;
        throw thrown;
      },
    );
    if (isNew) return candidate;
  }
}

/** Orders by time, then by the number after it: `..._10` comes after `..._9`. */
function compareRunNames(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
