import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { readTemplateKwargs, readToolSettings, type TemplateKwargs, type ToolSettings } from './template-kwargs.js';

/**
 * Reads the chat template variables that a checkpoint was trained with from the configuration of its run. They are
 * empty for other folders.
 */
export async function readTrainedKwargs(modelDir: string): Promise<TemplateKwargs> {
  return readTemplateKwargs(await readRunConfig(modelDir));
}

/** Reads the tool settings of the run that a checkpoint belongs to. They are empty for other folders. */
export async function readTrainedTools(modelDir: string): Promise<ToolSettings> {
  return readToolSettings(await readRunConfig(modelDir));
}

/** Reads config.yaml of the run that a checkpoint belongs to. */
async function readRunConfig(modelDir: string): Promise<unknown> {
  const file = path.resolve(modelDir, '..', '..', 'config.yaml');
  if (path.basename(path.dirname(path.resolve(modelDir))) !== 'checkpoints' || !existsSync(file)) return undefined;
  return parse(await readFile(file, 'utf8'));
}
