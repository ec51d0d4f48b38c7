import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, quoteForShell } from '@agentjet/core';
import { parseModelName } from '@agentjet/model-hub';
import { parseNamedModel } from '../sources/parse-named-model.js';
import { transcriptsFile } from '@agentjet/records';
import { Checkpoints, findLatestRun, openRunFolder } from '@agentjet/run-folder';

/**
 * Returns the model folder of a run folder or a checkpoint. A model folder, a model file and the name of a model are
 * returned unchanged. Rejects with BackboneError `checkpoint`.
 */
export async function findCheckpoint(folder: string, onNotice: (message: string) => void): Promise<string> {
  const dir = path.resolve(folder);
  const isName = (parseModelName(folder) ?? parseNamedModel(folder)) !== undefined;
  if (!existsSync(dir) && isName) return folder;
  if (!existsSync(dir))
    throw new BackboneError(
      'checkpoint',
      `There is no checkpoint ${dir}. Name a run folder (for its last checkpoint), one of its checkpoints, any model folder or GGUF file, or a model of the Hugging Face hub (org/name).`,
    );
  if (statSync(dir).isFile()) return dir;
  if (isCheckpoint(dir)) return (await new Checkpoints(path.dirname(dir)).open(path.basename(dir))).dir;
  if (!existsSync(path.join(dir, 'config.yaml'))) return refuseExperiment(dir);
  const checkpoint = await (await openRunFolder(dir)).checkpoints.latest(onNotice);
  if (checkpoint !== undefined) return checkpoint.dir;
  requireOneModel(dir);
  if (existsSync(path.join(dir, transcriptsFile)))
    throw new BackboneError(
      'checkpoint',
      `${dir} holds collected transcripts and no model. Imitate them first: ajet sft --conf <your configuration> ${quoteForShell(`sft.transcripts=${dir}`)}`,
    );
  throw new BackboneError(
    'checkpoint',
    `The run ${dir} has no checkpoint. It was stopped before its first; the model that it began with is model.path in ${path.join(dir, 'config.yaml')}.`,
  );
}

/** Throws if the run has several policies, because each of them has its own checkpoints. */
function requireOneModel(dir: string): void {
  const parent = path.join(dir, 'policies');
  const names = existsSync(parent) ? readdirSync(parent).sort() : [];
  const [first] = names;
  if (first === undefined) return;
  throw new BackboneError(
    'several_policies',
    `The run ${dir} has the policies ${names.join(', ')}, each with its own model. Name the folder of one of them, such as ${path.join(parent, first)}.`,
  );
}

/**
 * Whether the folder is a checkpoint that a run wrote. The files of a checkpoint are checked against their SHA-256
 * sums, which other model folders do not have.
 */
function isCheckpoint(dir: string): boolean {
  return /^step-\d{6,}$/.test(path.basename(dir)) && existsSync(path.join(dir, 'state.json'));
}

/** Throws if the folder is that of an experiment, because users easily mistake it for one of its runs. */
async function refuseExperiment(dir: string): Promise<string> {
  const newest = existsSync(path.join(dir, 'config.json')) ? undefined : await findLatestRun(dir, '.');
  if (newest === undefined) return dir;
  throw new BackboneError(
    'checkpoint',
    `${dir} is the folder of an experiment, not of a run. The newest run in it is ${newest}.`,
  );
}
