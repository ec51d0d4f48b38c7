import { openEntry, type Algorithm, type CommonConfig, type ConfigComposition } from '@agentjet/core';
import type { TemplateFamily } from '@agentjet/tokenizer';
import { chooseEntry } from './choose-entry.js';
import {
  algorithmKind,
  backboneKind,
  firstBackbone,
  openFamily,
  templateKind,
  widen,
  type BackboneEntry,
} from './job-inputs.js';

/** The inputs of a model server. The agent, the tasks and the judge belong to its clients. */
export type ServedInputs = {
  readonly algorithm: Algorithm;
  readonly backbone: BackboneEntry;
  readonly templateFamily: TemplateFamily | undefined;
  readonly composition: ConfigComposition;
};

/** Opens what the configuration names for a server. It does not load the code of agents, readers and judges. */
export async function loadServedInputs<Config extends CommonConfig>(loaded: {
  readonly config: Config;
  readonly composition: ConfigComposition<Config>;
}): Promise<{ readonly config: Config; readonly inputs: ServedInputs }> {
  const base = loaded.composition as unknown as ConfigComposition;
  const choices = {
    backbones: await chooseEntry(base, loaded.config, undefined, backboneKind),
    algorithms: await chooseEntry(base, loaded.config, undefined, algorithmKind),
    templates: await chooseEntry(base, loaded.config, undefined, templateKind),
  };
  const composition = widen(base, choices);
  const config = composition === base ? loaded.config : (composition.recheck(loaded.config) as Config);
  const { backbones, algorithms, templates } = choices;
  if (algorithms === undefined) throw new Error('The configuration was checked, so its algorithm is registered.');
  return {
    config,
    inputs: {
      algorithm: await openEntry('algorithms', algorithms.entry, config, { config }),
      backbone: backbones?.entry ?? firstBackbone(base),
      templateFamily: templates === undefined ? undefined : await openFamily(templates.entry, config),
      composition,
    },
  };
}
