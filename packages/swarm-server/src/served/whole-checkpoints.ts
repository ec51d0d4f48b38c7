import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { checkpointName, type RunFolder } from '@agentjet/run-folder';

type Looked = { readonly isWhole: boolean; readonly files: string };

/**
 * Finds out which checkpoints are complete. A check reads all files of a checkpoint, so each checkpoint is checked only
 * once, and again if its files change.
 */
export class WholeCheckpoints {
  readonly #checkpoints: RunFolder['checkpoints'];
  readonly #onNotice: (message: string) => void;
  readonly #looked = new Map<number, Looked>();

  constructor(checkpoints: RunFolder['checkpoints'], onNotice: (message: string) => void) {
    this.#checkpoints = checkpoints;
    this.#onNotice = onNotice;
  }

  async steps(): Promise<readonly number[]> {
    const steps = await this.#checkpoints.steps();
    for (const step of steps) await this.#look(step);
    return steps.filter((step) => this.#looked.get(step)?.isWhole === true);
  }

  /** Marks a checkpoint that this process wrote. */
  async add(step: number): Promise<void> {
    this.#looked.set(step, { isWhole: true, files: await this.#filesOf(step) });
  }

  delete(step: number): void {
    this.#looked.delete(step);
  }

  async #look(step: number): Promise<void> {
    const files = await this.#filesOf(step);
    if (this.#looked.get(step)?.files !== files) this.#looked.set(step, { isWhole: await this.#open(step), files });
  }

  /** Returns the names, sizes and times of the checkpoint's files as a string. */
  async #filesOf(step: number): Promise<string> {
    const dir = path.join(this.#checkpoints.dir, checkpointName(step));
    const names = (await readdir(dir, { recursive: true }).catch((): string[] => [])).sort();
    const lines = await Promise.all(names.map((name) => describe(path.join(dir, name))));
    return lines.join('\n');
  }

  async #open(step: number): Promise<boolean> {
    try {
      await this.#checkpoints.open(`step-${step}`);
      return true;
    } catch (error) {
      this.#onNotice(`${toErrorMessage(error)} The run repeats the steps since the checkpoint before it.`);
      return false;
    }
  }
}

async function describe(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  return `${file} ${found?.size} ${found?.mtimeMs}`;
}
