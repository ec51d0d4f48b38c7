import { isJsonObject } from '@agentjet/core';
import { parse } from 'yaml';

/** The keys of a run's configuration that its records are read by. */
export type RecordKeys = {
  /** `trainer_common.report_by`: the field of task metadata that holds the kind of a task. */
  readonly kindField: string | null;
  /** `task_judge.<type>.task_field`: the field of task metadata that holds the right answer. */
  readonly taskField?: string;
  /** `task_judge.<type>.output_field`: the field of the workflow's metadata that holds its answer. */
  readonly outputField?: string;
};

/** Reads single keys of config.yaml, because a run may have sections that only an external package knows. */
export function readRecordKeys(configYaml: string): RecordKeys {
  const config: unknown = parse(configYaml);
  const ajet = isJsonObject(config) && isJsonObject(config['ajet']) ? config['ajet'] : {};
  const { trainer_common: trainer, task_judge: judge } = ajet;
  const kindField = isJsonObject(trainer) ? trainer['report_by'] : undefined;
  const section = isJsonObject(judge) ? judge[String(judge['judge_type'])] : undefined;
  const { task_field: taskField, output_field: outputField } = isJsonObject(section) ? section : {};
  return {
    kindField: kindField === null || typeof kindField === 'string' ? kindField : 'kind',
    ...(typeof taskField === 'string' && { taskField }),
    ...(typeof outputField === 'string' && { outputField }),
  };
}
