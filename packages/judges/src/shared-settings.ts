import path from 'node:path';
import { setting, z, type CommonConfig, type SectionOf } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import { limitSettings, serverSettings, toServerOptions } from '@agentjet/model-client/settings';

/** Settings of every judge that reads one answer. They say where the answer is. */
export const answerSource = {
  output_field: setting(
    z.string().min(1),
    'answer',
    "field of the workflow's metadata; if the workflow returns none, the agent's last message is read",
  ),
  agent: setting(
    z.string().min(1).nullable(),
    null,
    'agent whose last message is read; null: the agent that spoke last',
  ),
};

/** The ways to compare two answers. */
export const comparisons = ['text', 'number', 'choice', 'expression', 'set'] as const;
export type Comparison = (typeof comparisons)[number];

/** Settings of every judge that asks a language model: the model, its keys and its limits. */
export const judgeModelSettings = {
  base_url: serverSettings.base_url,
  model: setting(z.string().min(1).nullable(), null),
  keys: serverSettings.keys,
  backup_keys: serverSettings.backup_keys,
};

export const modelLimits = limitSettings(60);

export const onOutage = ['pause', 'drop', 'stop'] as const;

export const outageSetting = {
  on_outage: setting(
    z.enum(onOutage),
    'pause',
    'pause: episodes wait for the judge; drop: they are left out; stop: the run ends',
  ),
};

type Section = SectionOf<z.ZodObject<typeof judgeModelSettings & typeof modelLimits>>;

/** Opens the client of these settings. Its answers are kept in the experiment's folder. */
export async function openJudgeModel(
  section: Omit<Section, 'model'> & { readonly model: string },
  { experimentDir, experimentName }: Pick<CommonConfig, 'experimentDir' | 'experimentName'>,
): Promise<ModelClient> {
  const { openModelClient } = await import('@agentjet/model-client');
  const cacheFile = path.join(experimentDir, experimentName, 'judge-answers.jsonl');
  return openModelClient(toServerOptions(section, section.model, cacheFile));
}
