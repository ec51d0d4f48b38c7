import { readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, tellOlderFormat, type Backbone, replaceFile } from '@agentjet/core';
import { findBrokenSeal, readSeal, sealCheckpoint, stateFile } from './checkpoint-seal.js';
import { areDraws, drawsOf, type Draws } from './draws.js';
import { writeDirAtomically } from './write-dir-atomically.js';
import { describeFileError, readFolder } from './file-error.js';

/** The position of a run after a step. Together with the weights, it is all that a resumed run needs. */
export type TrainingState = {
  /** Number of finished steps. */
  readonly step: number;
  readonly policyVersion: number;
  /** The number of groups that the source has given so far, including skipped and dropped groups. */
  readonly groupsDrawn: number;
  /** The draws of these groups. A resumed run makes only the other draws. Default: the first draws, as in `drawsOf`. */
  readonly draws?: Draws;
};

/** A state from which a run can continue. */
export type Checkpoint = {
  /** A Hugging Face model folder with `trainer_state/` and `state.json`. */
  readonly dir: string;
  readonly state: TrainingState;
};

const pointerFile = 'latest';
const bestFile = 'best';

/** Returns the folder name of a step's checkpoint: `step-000020`. */
export const checkpointName = (step: number): string => `step-${String(step).padStart(6, '0')}`;

/**
 * The checkpoints of a run: `step-000020/` and so on; `latest`, a text file with the name of the newest checkpoint; and
 * `best`, with the name of the checkpoint with the best evaluation, if the run keeps it. A checkpoint is written under
 * a temporary name and then renamed. So a folder with the right name is always complete, and the previous checkpoint
 * exists until the new one is complete.
 */
export class Checkpoints {
  readonly dir: string;
  #complete: (dir: string) => Promise<void> = () => Promise.resolve();

  constructor(dir: string) {
    this.dir = dir;
  }

  /**
   * Calls `complete` for each later checkpoint after the backbone has written its files, and before it is sealed and
   * becomes visible.
   */
  completeWith(complete: (dir: string) => Promise<void>): void {
    this.#complete = complete;
  }

  /**
   * Saves a checkpoint. Throws BackboneError `non_finite_weights` if a weight or moment is not finite, and `checkpoint`
   * for any other failure. In both cases, earlier checkpoints stay unchanged.
   */
  async save(
    backbone: Pick<Backbone, 'save'>,
    state: TrainingState,
    options: { readonly maxCheckpoints: number },
  ): Promise<Checkpoint> {
    const dir = path.join(this.dir, checkpointName(state.step));
    try {
      await writeDirAtomically(dir, async (temporary) => {
        await backbone.save(temporary).catch((thrown: unknown) => {
          throw named(thrown, temporary, dir);
        });
        await this.#complete(temporary);
        await sealCheckpoint(temporary, { ...state, draws: drawsOf(state) });
      });
      await replaceFile(path.join(this.dir, pointerFile), `${path.basename(dir)}\n`);
      await this.#removeOldest(options.maxCheckpoints);
    } catch (thrown) {
      if (thrown instanceof BackboneError) throw thrown;
      throw new BackboneError('checkpoint', `${describeFileError(dir, thrown)} Earlier checkpoints are intact.`, {
        cause: thrown,
      });
    }
    return { dir, state };
  }

  /**
   * Returns the newest undamaged checkpoint, or undefined if there is none. If a checkpoint is broken, `onBroken` is
   * called and the previous checkpoint is tried. Throws BackboneError `checkpoint` if all are broken, so that a failing
   * disk does not make a run start from the beginning.
   */
  async latest(onBroken?: (problem: string) => void): Promise<Checkpoint | undefined> {
    let firstProblem: BackboneError | undefined;
    for (const name of (await this.#names()).reverse()) {
      try {
        return await this.open(name);
      } catch (thrown) {
        if (!(thrown instanceof BackboneError)) throw thrown;
        firstProblem ??= thrown;
        onBroken?.(`${thrown.message} Continuing from the previous checkpoint.`);
      }
    }
    if (firstProblem !== undefined) throw firstProblem;
    return undefined;
  }

  /**
   * Opens a checkpoint by its name, such as `step-000020` or `step-20`. Throws BackboneError `checkpoint` if the
   * checkpoint is missing or broken.
   */
  async open(name: string): Promise<Checkpoint> {
    const names = await this.#names();
    const found = names.find((each) => each === name || `step-${stepOf(each)}` === name);
    if (found === undefined)
      throw new BackboneError(
        'checkpoint',
        `There is no checkpoint ${name} in ${this.dir}. It contains ${names.length === 0 ? 'none' : names.join(', ')}.`,
      );
    const dir = path.join(this.dir, found);
    const state = await readState(dir);
    const problem = await findBrokenSeal(dir);
    if (problem !== undefined) throw brokenCheckpoint(dir, problem);
    return { dir, state };
  }

  /**
   * Removes leftovers of killed writers, renames checkpoints after `lastStep` (such as `abandoned-step-000040`) so that
   * the run does not use them, and corrects `latest`. Resolves to the new names of the renamed checkpoints.
   */
  async rewind(lastStep: number): Promise<readonly string[]> {
    for (const name of await readFolder(this.dir))
      if (name.startsWith('.')) await rm(path.join(this.dir, name), { recursive: true, force: true });
    const names = await this.#names();
    const later = names.filter((name) => stepOf(name) > lastStep);
    for (const name of later) {
      const aside = path.join(this.dir, `abandoned-${name}`);
      await rm(aside, { recursive: true, force: true });
      await rename(path.join(this.dir, name), aside);
    }
    const newest = names.filter((name) => !later.includes(name)).at(-1);
    if (newest !== undefined) await replaceFile(path.join(this.dir, pointerFile), `${newest}\n`);
    return later;
  }

  /** Returns the steps that have a checkpoint, ascending. */
  async steps(): Promise<readonly number[]> {
    return (await this.#names()).map(stepOf);
  }

  /** Writes the name of this step's checkpoint into `best`. This checkpoint is then kept, however old it is. */
  async markBest(step: number): Promise<void> {
    const name = (await this.#names()).find((each) => stepOf(each) === step);
    if (name !== undefined) await replaceFile(path.join(this.dir, bestFile), `${name}\n`);
  }

  /** Removes the checkpoint of a step, unless it is the best one. */
  async remove(step: number): Promise<void> {
    const best = await readFile(path.join(this.dir, bestFile), 'utf8').catch(() => '');
    for (const name of await this.#names())
      if (stepOf(name) === step && name !== best.trim()) await removeWhole(path.join(this.dir, name));
  }

  async #removeOldest(maxCheckpoints: number): Promise<void> {
    if (maxCheckpoints <= 0) return;
    const best = await readFile(path.join(this.dir, bestFile), 'utf8').catch(() => '');
    for (const name of (await this.#names()).slice(0, -maxCheckpoints))
      if (name !== best.trim()) await removeWhole(path.join(this.dir, name));
  }

  /** Returns the names of all checkpoints, oldest first. */
  async #names(): Promise<string[]> {
    const names = await readFolder(this.dir);
    return names.filter((name) => /^step-\d{6,}$/.test(name)).sort((a, b) => stepOf(a) - stepOf(b));
  }
}

/** Replaces the temporary folder in an error with the real folder, because people do not know the temporary name. */
function named(thrown: unknown, temporary: string, dir: string): unknown {
  if (!(thrown instanceof BackboneError)) return thrown;
  return new BackboneError(thrown.code, thrown.message.replaceAll(temporary, dir), { cause: thrown });
}

function stepOf(name: string): number {
  return Number(name.slice('step-'.length));
}

/** Removes a folder. It is renamed first, so that a half-removed folder never has the name of a checkpoint. */
async function removeWhole(dir: string): Promise<void> {
  const aside = path.join(path.dirname(dir), `.${path.basename(dir)}.removing`);
  await rm(aside, { recursive: true, force: true });
  await rename(dir, aside);
  await rm(aside, { recursive: true, force: true });
}

/**
 * Reads the state of a checkpoint. Throws BackboneError `checkpoint` if a field is missing or impossible, or if the
 * step does not match the folder.
 */
async function readState(dir: string): Promise<TrainingState> {
  const seal = await readSeal(dir);
  if (seal === undefined)
    throw brokenCheckpoint(dir, `its ${stateFile} is missing or has changed since it was written`);
  const read = (key: 'step' | 'policyVersion' | 'groupsDrawn'): number => {
    const value = seal[key];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw brokenCheckpoint(dir, `"${key}" of its ${stateFile} is ${JSON.stringify(value)}, not a count`);
  };
  const state = { step: read('step'), policyVersion: read('policyVersion'), groupsDrawn: read('groupsDrawn') };
  if (state.step !== stepOf(path.basename(dir)))
    throw brokenCheckpoint(dir, `its ${stateFile} says step ${state.step}`);
  const { draws } = seal;
  if (draws === undefined) throw new BackboneError('older_format', tellOlderFormat(`The checkpoint ${dir}`));
  if (!areDraws(draws)) throw brokenCheckpoint(dir, `"draws" of its ${stateFile} is not a set of draws`);
  return { ...state, draws };
}

function brokenCheckpoint(dir: string, problem: string): BackboneError {
  return new BackboneError('checkpoint', `The checkpoint ${dir} is broken: ${problem}.`);
}
