import { composeConfig, type Backbone, type BackboneParts } from '@agentjet/core';
import { templates } from '@agentjet/tokenizer/registrations';
import { algorithms, backbones } from '@agentjet/trainer/registrations';

type Open = (section: never, parts: BackboneParts) => Promise<Backbone>;

const [embedded] = backbones;
export const openEmbedded: Open = async (section, parts) => embedded.open(section, parts);

/** Composes the configuration of a server whose embedded backbone `open` opens. */
export const composeWith = (open: Open) =>
  composeConfig({
    backbones: [{ ...embedded, open }],
    algorithms,
    readers: [],
    judges: [],
    environments: [],
    templates,
  });
