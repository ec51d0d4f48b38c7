import { composeConfig, type ConfigComposition, type InputOf } from '@agentjet/core';
import { tableReaders } from '@agentjet/data/registrations';
import { judges, readers as ownReaders } from '@agentjet/rollout/registrations';
import { templates } from '@agentjet/tokenizer/registrations';
import { algorithms, backbones } from '@agentjet/trainer/registrations';

const readers = [...tableReaders, ...ownReaders] as const;
const composition = composeConfig({ backbones, algorithms, readers, judges, templates });

/** A configuration for tests, over everything that is registered below this package. */
export const createConfig = composition.create.bind(composition);
export const testComposition = composition as unknown as ConfigComposition;
export type ConfigInput = InputOf<ReturnType<typeof createConfig>>;
export const embedded: (typeof backbones)[0] = backbones[0];
