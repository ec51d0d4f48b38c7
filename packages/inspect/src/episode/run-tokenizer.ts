import { existsSync } from 'node:fs';
import path from 'node:path';
import { type BundledModel, isBundledModel, isJsonObject } from '@agentjet/core';
import { microModelDir } from '@agentjet/micro';
import { findCachedModel, parseModelName, readHubSettings } from '@agentjet/model-hub';
import { nanoModelDir } from '@agentjet/nano';
import type { RunFolder } from '@agentjet/run-folder';
import { type ChatTokenizer, loadChatTokenizer, type Tokenizer } from '@agentjet/tokenizer';
import { parse } from 'yaml';

/** Loads the tokenizer of a run without its chat template: see `loadRunChatTokenizer`. */
export async function loadRunTokenizer(run: RunFolder): Promise<Tokenizer | undefined> {
  return (await loadRunChatTokenizer(run))?.tokenizer;
}

/**
 * Loads the tokenizer of the model that the run trains, or of its newest checkpoint. Undefined if neither can be read
 * any longer.
 */
export async function loadRunChatTokenizer(run: RunFolder): Promise<ChatTokenizer | undefined> {
  for (const findDir of [modelDirOf, checkpointDirOf]) {
    try {
      const dir = await findDir(run);
      if (dir !== undefined) return await loadChatTokenizer(dir);
    } catch {
      continue; // a run that was copied elsewhere has lost its model but may have checkpoints; without either, ids are shown
    }
  }
  return undefined;
}

const bundledModelDirs: { readonly [name in BundledModel]: string } = { nano: nanoModelDir, micro: microModelDir };

/** Returns what `model.path` of a run names: `nano`, a name of the hub, or a folder, which is shown without its parents. */
export async function modelNameOf(run: RunFolder): Promise<string | undefined> {
  const modelPath = await readModelPath(run).catch(() => undefined);
  return modelPath !== undefined && path.isAbsolute(modelPath) ? path.basename(modelPath) : modelPath;
}

/** Reads a single key of config.yaml, because a run may have sections that only an external package knows. */
async function readModelPath(run: RunFolder): Promise<string | undefined> {
  const config: unknown = parse(await run.readConfig());
  const model = isJsonObject(config) && isJsonObject(config['ajet']) ? config['ajet']['model'] : undefined;
  const modelPath = isJsonObject(model) ? model['path'] : undefined;
  return typeof modelPath === 'string' ? modelPath : undefined;
}

export async function modelDirOf(run: RunFolder): Promise<string | undefined> {
  const modelPath = await readModelPath(run);
  if (modelPath === undefined) return undefined;
  if (isBundledModel(modelPath)) return bundledModelDirs[modelPath];
  const name = existsSync(modelPath) ? undefined : parseModelName(modelPath);
  if (name === undefined) return path.resolve(modelPath);
  return (await findCachedModel(readHubSettings(), name))?.dir;
}

async function checkpointDirOf({ checkpoints }: RunFolder): Promise<string | undefined> {
  return (await checkpoints.latest())?.dir;
}
