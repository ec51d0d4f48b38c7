import { cpSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeJob } from '../e2e/support/job-files.js';
import { onlyRun, readEpisodes } from '../e2e/support/read-run.js';
import { runAjet } from '../e2e/support/run-ajet.js';
import { applyMutation, drawMutation } from './mutate.js';
import { findDifference, readOutcome } from './run-outcome.js';
import { createSubject, type Subject } from './start-subject.js';
import type { Answer, Command } from './subject.js';
import { looksLikeStack, pick, type Attack, type Case, type World } from './world.js';

/**
 * Changes one file of a run folder, or of the model folder that it was trained from, and then resumes, evaluates or
 * inspects the run. The result must equal that of the untouched folders, or an error or a notice must report the
 * change.
 */
const wishes = ['resume', 'resume', 'evaluate', 'inspect', 'inspect-episode'] as const;
type Wish = (typeof wishes)[number];

const changes = { trainer_common: { save_freq: 2, total_training_steps: 4, val_before_train: true } };
const limitMs = 120_000;

type Setting = {
  readonly world: World;
  readonly subject: Subject;
  /**
   * The folder where each case works. It is always the same folder, because a run stores absolute paths of its files.
   */
  readonly folder: string;
  /** The files that are put there for each case: a job with a run of four steps, and its model. */
  readonly original: string;
  readonly files: readonly string[];
  readonly wanted: ReadonlyMap<Wish, unknown>;
};

const listFiles = (folder: string): readonly string[] =>
  ['model', 'saved_experiments'].flatMap((part) =>
    readdirSync(path.join(folder, part), { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(part, name))
      .filter((name) => lstatSync(path.join(folder, name)).isFile())
      .toSorted(),
  );

function toCommand(wish: Wish, folder: string): Command {
  const run = onlyRun(folder);
  const overrides = ['trainer_common.total_training_steps=6'];
  if (wish === 'resume') return { kind: 'resume', folder, overrides };
  if (wish === 'evaluate') return { kind: 'evaluate', folder, checkpoint: run };
  return { kind: 'inspect', run, episode: wish === 'inspect' ? null : 'eval-0-test0' };
}

/** Returns the outcome of a command: its answer and, for a resumed run, the whole folder. */
function outcomeOf(
  wish: Wish,
  folder: string,
  answer: Extract<Answer, { ok: true }>,
): Readonly<Record<string, unknown>> {
  if (wish === 'resume') return { ...readOutcome(onlyRun(folder)), answer: answer.value };
  const value = typeof answer.value === 'string' ? answer.value.split('\n') : answer.value;
  return { answer: value };
}

async function carryOut(setting: Setting, wish: Wish, folder: string) {
  const command = toCommand(wish, folder);
  return setting.subject.ask(command, limitMs);
}

function putBack({ folder, original }: Pick<Setting, 'folder' | 'original'>): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(original, folder, { recursive: true });
}

/** Whether a notice may report the change. The notice that says where a run continues comes with every resume. */
const isNews = (notice: string): boolean => !notice.startsWith('Resuming ');

async function runOnce(setting: Setting, each: Case): Promise<void> {
  const wish = pick(each.random, wishes);
  const mutation = drawMutation(each.random, setting.files);
  const drawn = { wish, ...mutation };
  const { folder } = setting;
  putBack(setting);
  if (!applyMutation(mutation, path.join(folder, mutation.file))) return;
  setting.world.counts.mutations++;
  const answer = await carryOut(setting, wish, folder);
  if ('hung' in answer) return each.found('hangs', drawn, `No answer in ${limitMs} ms.`);
  if ('died' in answer) return each.found('stack_traces', drawn, answer.died);
  if (!answer.ok) {
    if (answer.stack !== null || looksLikeStack(answer.message))
      each.found('stack_traces', drawn, answer.stack ?? answer.message);
    return;
  }
  if (answer.notices.some(isNews)) return;
  const difference = differenceOf(setting, wish, folder, answer);
  if (difference !== undefined) each.found('silent_differences', drawn, difference);
}

function differenceOf(
  setting: Setting,
  wish: Wish,
  folder: string,
  answer: Extract<Answer, { ok: true }>,
): string | undefined {
  try {
    return findDifference(
      setting.wanted.get(wish) as Readonly<Record<string, unknown>>,
      outcomeOf(wish, folder, answer),
    );
  } catch (error) {
    return `The run that came out cannot be read: ${String(error)}`;
  }
}

async function readWanted(setting: Omit<Setting, 'wanted'>): Promise<ReadonlyMap<Wish, unknown>> {
  const wanted = new Map<Wish, unknown>();
  for (const wish of new Set(wishes)) {
    const { folder } = setting;
    putBack(setting);
    const answer = await carryOut({ ...setting, wanted }, wish, folder);
    if (!('ok' in answer) || !answer.ok) throw new Error(`${wish} of untouched folders: ${JSON.stringify(answer)}`);
    wanted.set(wish, outcomeOf(wish, folder, answer));
  }
  return wanted;
}

export async function createMutatedFolders(world: World, modelDir: string): Promise<Attack> {
  const folder = path.join(world.folder, 'attacked');
  const original = path.join(world.folder, 'original');
  mkdirSync(folder, { recursive: true });
  cpSync(modelDir, path.join(folder, 'model'), { recursive: true });
  writeJob(folder, 'model', {}, changes);
  const { code, stderr } = await runAjet(folder, ['--conf', 'job.yaml']);
  if (code !== 0) throw new Error(`The run to be attacked ended with ${code}: ${stderr}`);
  if (readEpisodes(onlyRun(folder)).length === 0) throw new Error('The run to be attacked has no episodes.');
  cpSync(folder, original, { recursive: true });
  const subject = createSubject();
  const setting = { world, subject, folder, original, files: listFiles(original) };
  const wanted = await readWanted(setting).catch((error: unknown) => {
    subject.close();
    throw error;
  });
  return {
    name: 'mutated-folders',
    runCase: (each) => runOnce({ ...setting, wanted }, each),
    close: async () => subject.close(),
  };
}
