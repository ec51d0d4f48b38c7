import { composeConfig, type ConfigComposition, type ConfigOf, type InputOf } from '@agentjet/core';
import { tableReaders } from '@agentjet/data/registrations';
import { environments, worldReaders } from '@agentjet/environments/registrations';
import { namedJudges } from '@agentjet/judges/registrations';
import { judges as ownJudges, readers as ownReaders } from '@agentjet/rollout/registrations';
import { templates } from '@agentjet/tokenizer/registrations';
import { algorithms as ownAlgorithms, backbones, presets } from '@agentjet/trainer/registrations';
import { dataGeneration } from './readers/data-generation.js';
import { feedbackTracing } from './readers/feedback-tracing.js';

/**
 * The one list of everything that a configuration may name. An entry is loaded when it is opened; listing it loads only
 * its settings.
 */
const algorithms = [...ownAlgorithms, ...presets] as const;
const judges = [...ownJudges, ...namedJudges] as const;
const readers = [...tableReaders, dataGeneration, feedbackTracing, ...ownReaders, ...worldReaders] as const;
const registrations = { backbones, algorithms, readers, judges, environments, templates };

/** The resolved configuration of a job. Every key has a value, and paths are absolute. */
export type AgentJetConfig = ConfigOf<typeof registrations>;

/** A part of the configuration, as code sets it. Other keys have their defaults. */
export type ConfigInput = InputOf<AgentJetConfig>;

/** The keys of a configuration, and how they are read. */
export const configuration: ConfigComposition<AgentJetConfig> = composeConfig(registrations);
