import path from 'node:path';
import { loadConfig } from '@agentjet/core';
import { loadChatTokenizer, type Tokenizer } from '@agentjet/tokenizer';
import { openRunFolder } from '@agentjet/run-folder';
import { findModelDir } from '../inputs/model-dir.js';

/** The tokenizer of the model that the run trains, or of its newest checkpoint; undefined where neither can be read any more. */
export async function loadRunTokenizer(runDir: string): Promise<Tokenizer | undefined> {
  for (const findDir of [modelDirOf, checkpointDirOf]) {
    try {
      const dir = await findDir(runDir);
      if (dir !== undefined) return (await loadChatTokenizer(dir)).tokenizer;
    } catch {
      continue; // a run that was copied elsewhere has lost its model, but may hold checkpoints; ids can be shown without either
    }
  }
  return undefined;
}

async function modelDirOf(runDir: string): Promise<string> {
  return findModelDir(loadConfig(path.join(runDir, 'config.yaml')).model.path);
}

async function checkpointDirOf(runDir: string): Promise<string | undefined> {
  const { checkpoints } = await openRunFolder(runDir);
  return (await checkpoints.latest())?.dir;
}
