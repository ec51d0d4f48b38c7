/** The files at the top of a run folder, by their content. */
export const runFiles = {
  config: 'config.yaml',
  metrics: 'metrics.jsonl',
  evaluations: 'evaluations.jsonl',
  log: 'log.jsonl',
  system: 'system.jsonl',
  writer: 'writer.json',
  changes: 'changes.jsonl',
  code: 'code.json',
  model: 'model.json',
  rules: 'rules.json',
  arithmetic: 'arithmetic.json',
  tasks: 'tasks.json',
  sums: 'sums.jsonl',
  curve: 'reward.svg',
} as const;

export type RunFile = keyof typeof runFiles;
