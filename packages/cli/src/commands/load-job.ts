import { AgentJetJob } from 'agentjet';

type JobFlags = { readonly conf: string; readonly backbone?: string };

/** Loads the job of a YAML file. `--backbone=name` is a short form of the override `backbone=name`, which comes last. */
export function loadJob({ conf, backbone }: JobFlags, overrides: readonly string[]): AgentJetJob {
  const all = backbone === undefined ? overrides : [...overrides, `backbone=${backbone}`];
  return new AgentJetJob().loadJobFromYaml(conf, all);
}
