import type { CommonConfig, ConfigComposition } from '@agentjet/core';
import type { TemplateFamily } from '@agentjet/tokenizer';
import { chooseEntry } from './choose-entry.js';
import { openFamily, templateKind, widen } from './job-inputs.js';

/** Loads the template family that the configuration names. Undefined: it is recognized from the chat template. */
export async function loadTemplateFamily<Config extends CommonConfig>(
  given: unknown,
  loaded: { readonly config: Config; readonly composition: ConfigComposition<Config> },
): Promise<TemplateFamily | undefined> {
  const base = loaded.composition as unknown as ConfigComposition;
  const chosen = await chooseEntry(base, loaded.config, given, templateKind);
  if (chosen === undefined) return undefined;
  const composition = widen(base, { templates: chosen });
  return openFamily(chosen.entry, composition === base ? loaded.config : composition.recheck(loaded.config));
}
