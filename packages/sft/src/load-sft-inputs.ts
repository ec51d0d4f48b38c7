import { ConfigError, openEntry, type CommonConfig, type ConfigComposition, type OpenableEntry } from '@agentjet/core';
import type { ReaderParts, TaskReader } from '@agentjet/rollout';
import {
  checkReader,
  chooseEntry,
  backboneKind,
  openFamily,
  readerKind,
  templateKind,
  widen,
  type GivenInputs,
} from '@agentjet/inputs';
import type { SftInputs } from './sft-job.js';

type Given = Pick<GivenInputs, 'backbone' | 'reader' | 'templateFamily'>;

/**
 * Loads the inputs of imitation: a backbone, and the evaluation tasks if there are any. It does not load the agent and
 * its judge.
 */
export async function loadSftInputs<Config extends CommonConfig>(
  given: Given,
  loaded: {
    readonly config: Config;
    readonly composition: ConfigComposition<Config>;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<{ readonly config: Config; readonly inputs: SftInputs }> {
  const base = loaded.composition as unknown as ConfigComposition;
  const choices = {
    backbones: await chooseEntry(base, loaded.config, given.backbone, backboneKind),
    readers: await chooseEntry(base, loaded.config, given.reader, readerKind),
    templates: await chooseEntry(base, loaded.config, given.templateFamily, templateKind),
  };
  const composition = widen(base, choices);
  const config = composition === base ? loaded.config : (composition.recheck(loaded.config) as Config);
  const { backbones, readers, templates } = choices;
  if (backbones === undefined)
    throw new ConfigError(
      'no_training',
      'The backbone debug trains nothing. To imitate transcripts, leave out --backbone=debug, or name onnx, torch, tinker or verl.',
    );
  if (readers === undefined) throw new Error('The configuration was checked, so its reader is registered.');
  return {
    config,
    inputs: {
      backbone: backbones.entry,
      reader: await openReader(readers.entry, { config, signal: loaded.signal }),
      templateFamily: templates === undefined ? undefined : await openFamily(templates.entry, config),
      composition,
    },
  };
}

/** Opens the task reader. Resolves with undefined if the configuration names no tasks. */
async function openReader(
  entry: OpenableEntry<ReaderParts, TaskReader>,
  parts: Pick<ReaderParts, 'config' | 'signal'>,
): Promise<TaskReader | undefined> {
  try {
    return checkReader(await openEntry('readers', entry, parts.config, parts));
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'no_tasks') return undefined;
    throw error;
  }
}
