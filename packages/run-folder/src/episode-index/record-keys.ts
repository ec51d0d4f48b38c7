import { isJsonObject } from '@agentjet/core';
import { parse } from 'yaml';

/** The settings of a run that decide how its records are read. */
export type RecordKeys = {
  /** `trainer_common.report_by`: the field of task metadata that contains the kind of a task. */
  readonly kindField: string | null;
  /** `task_judge.<type>.task_field`: the field of task metadata that contains the right answer. */
  readonly taskField?: string;
  /** `task_judge.<type>.output_field`: the field of the workflow's metadata that contains its answer. */
  readonly outputField?: string;
  /** `trainer_common.val_pass_n`: later places of an evaluation are sampled as in training. */
  readonly valPassN: number;
};

/**
 * Reads only these keys of config.yaml. A run may have sections of external packages, which this package cannot check.
 */
export function readRecordKeys(configYaml: string): RecordKeys {
  const config: unknown = parse(configYaml);
  const ajet = isJsonObject(config) && isJsonObject(config['ajet']) ? config['ajet'] : {};
  const { trainer_common: trainer, task_judge: judge } = ajet;
  const kindField = isJsonObject(trainer) ? trainer['report_by'] : undefined;
  const section = isJsonObject(judge) ? judge[String(judge['judge_type'])] : undefined;
  const { task_field: taskField, output_field: outputField } = isJsonObject(section) ? section : {};
  const valPassN = isJsonObject(trainer) ? trainer['val_pass_n'] : undefined;
  return {
    valPassN: typeof valPassN === 'number' ? valPassN : 1,
    kindField: kindField === null || typeof kindField === 'string' ? kindField : 'kind',
    ...(typeof taskField === 'string' && { taskField }),
    ...(typeof outputField === 'string' && { outputField }),
  };
}
