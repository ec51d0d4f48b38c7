import path from 'node:path';
import { toErrorMessage, type CommonConfig } from '@agentjet/core';
import { loadModelTokenizer, resolveModelDir } from '@agentjet/models';
import type { RunFolder } from '@agentjet/run-folder';
import type { ChatTokenizer, TemplateFamily } from '@agentjet/tokenizer';

export type TokenizerParts = {
  /** Reads the configuration of the run, which names its model. */
  readonly readConfig: (file: string) => CommonConfig;
  readonly templateFamily: TemplateFamily | undefined;
  readonly onNotice: (message: string) => void;
  readonly signal?: AbortSignal | undefined;
};

/** Opens the tokenizer of a run: of its last checkpoint, or of the model that it began with. */
export async function openTokenizer(
  { dir: runDir, checkpoints }: RunFolder,
  { readConfig, templateFamily, onNotice, signal }: TokenizerParts,
): Promise<ChatTokenizer | undefined> {
  try {
    const config = readConfig(path.join(runDir, 'config.yaml'));
    const dir =
      (await checkpoints.latest())?.dir ??
      (await resolveModelDir(config.model.path, { withWeights: false, signal, onNotice }));
    return await loadModelTokenizer(dir, { templateFamily, onNotice }, config);
  } catch (error) {
    onNotice(`The conversations of the run cannot be read, because its tokenizer is gone: ${toErrorMessage(error)}`);
    return undefined;
  }
}
