import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, type Backbone } from '@agentjet/core';
import { writeDirAtomically } from './write-dir-atomically.js';
import { describeFileError } from './file-error.js';
import { replaceFile } from './replace-file.js';

/** Where a run stands after a step: all that a resumed run needs beside the weights. */
export type TrainingState = {
  /** Steps done. */
  readonly step: number;
  readonly policyVersion: number;
  /** Groups that the source has given so far, skipped and dropped ones included: the data cursor. */
  readonly groupsDrawn: number;
};

/** What a run can go on from. */
export type Checkpoint = {
  /** A Hugging Face model folder with `trainer_state/` and `state.json`. */
  readonly dir: string;
  readonly state: TrainingState;
};

const stateFile = 'state.json';
const pointerFile = 'latest';

/**
 * The checkpoints of a run: `step-000020/` and so on, and `latest`, a text file with the newest one's name. A
 * checkpoint is written beside its place and renamed: a folder with the right name is always whole, and the previous
 * one stays until then.
 */
export class Checkpoints {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Throws BackboneError `checkpoint`; earlier checkpoints are untouched then. */
  async save(
    backbone: Pick<Backbone, 'save'>,
    state: TrainingState,
    options: { readonly maxCheckpoints: number },
  ): Promise<Checkpoint> {
    const dir = path.join(this.dir, `step-${String(state.step).padStart(6, '0')}`);
    try {
      await writeDirAtomically(dir, async (temporary) => {
        await backbone.save(temporary).catch((thrown: unknown) => {
          throw named(thrown, temporary, dir);
        });
        await writeFile(path.join(temporary, stateFile), `${JSON.stringify(state)}\n`);
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

  /** The newest whole checkpoint; undefined where there is none. */
  async latest(): Promise<Checkpoint | undefined> {
    const name = (await this.#names()).at(-1);
    if (name === undefined) return undefined;
    const dir = path.join(this.dir, name);
    return { dir, state: await readState(path.join(dir, stateFile)) };
  }

  /** Removes what killed writers left, and sets `latest` right where a writer was killed before it could. */
  async repair(): Promise<void> {
    const entries = await readFolder(this.dir);
    await Promise.all(
      entries
        .filter((name) => name.startsWith('.'))
        .map((name) => rm(path.join(this.dir, name), { recursive: true, force: true })),
    );
    const newest = (await this.#names()).at(-1);
    if (newest !== undefined) await replaceFile(path.join(this.dir, pointerFile), `${newest}\n`);
  }

  async #removeOldest(maxCheckpoints: number): Promise<void> {
    if (maxCheckpoints <= 0) return;
    for (const name of (await this.#names()).slice(0, -maxCheckpoints)) await removeWhole(path.join(this.dir, name));
  }

  /** Oldest first. */
  async #names(): Promise<string[]> {
    const names = await readFolder(this.dir);
    return names.filter((name) => /^step-\d{6,}$/.test(name)).sort((a, b) => stepOf(a) - stepOf(b));
  }
}

/** People look for the folder by its own name, not by the one it is written under. */
function named(thrown: unknown, temporary: string, dir: string): unknown {
  if (!(thrown instanceof BackboneError)) return thrown;
  return new BackboneError(thrown.code, thrown.message.replaceAll(temporary, dir), { cause: thrown });
}

async function readFolder(dir: string): Promise<string[]> {
  return readdir(dir).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return [];
    throw thrown;
  });
}

function stepOf(name: string): number {
  return Number(name.slice('step-'.length));
}

/** Removes a folder so that nobody sees it half removed. */
async function removeWhole(dir: string): Promise<void> {
  const aside = path.join(path.dirname(dir), `.${path.basename(dir)}.removing`);
  await rm(aside, { recursive: true, force: true });
  await rename(dir, aside);
  await rm(aside, { recursive: true, force: true });
}

async function readState(file: string): Promise<TrainingState> {
  try {
    const { step, policyVersion, groupsDrawn } = JSON.parse(await readFile(file, 'utf8')) as Partial<TrainingState>;
    if (typeof step === 'number' && typeof policyVersion === 'number' && typeof groupsDrawn === 'number')
      return { step, policyVersion, groupsDrawn };
  } catch (cause) {
    throw unreadableState(file, cause);
  }
  throw unreadableState(file, undefined);
}

function unreadableState(file: string, cause: unknown): BackboneError {
  return new BackboneError(
    'checkpoint',
    `${file} is not the state of a checkpoint. Remove the folder ${path.dirname(file)} to go on from the one before it.`,
    { cause },
  );
}
