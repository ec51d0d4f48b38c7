import { composeConfig, type ConfigComposition, type InputOf } from '@agentjet/core';
import { tableReaders } from '@agentjet/data/registrations';
import { judges, readers as ownReaders } from '@agentjet/rollout/registrations';
import { templates } from '@agentjet/tokenizer/registrations';
import { algorithms, backbones } from '@agentjet/trainer/registrations';

const readers = [...tableReaders, ...ownReaders] as const;
const composition = composeConfig({ backbones, algorithms, readers, judges, templates });

/**
 * Creates a configuration for tests. It may name everything that is registered in the packages that this package
 * imports.
 */
export const createConfig = composition.create.bind(composition);
export const testComposition = composition as unknown as ConfigComposition;
export type ConfigInput = InputOf<ReturnType<typeof createConfig>>;
export const embedded: (typeof backbones)[0] = backbones[0];
