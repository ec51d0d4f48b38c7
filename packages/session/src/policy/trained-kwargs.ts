import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { readTemplateKwargs, type TemplateKwargs } from './template-kwargs.js';

/** The variables of the chat template that a checkpoint was trained with, from the configuration of its run. Nothing for other folders. */
export async function readTrainedKwargs(modelDir: string): Promise<TemplateKwargs> {
  const file = path.resolve(modelDir, '..', '..', 'config.yaml');
  if (path.basename(path.dirname(path.resolve(modelDir))) !== 'checkpoints' || !existsSync(file))
    return readTemplateKwargs(undefined);
  return readTemplateKwargs(parse(await readFile(file, 'utf8')));
}
