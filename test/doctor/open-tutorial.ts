import path from 'node:path';
import { AgentJetJob } from 'agentjet';

/** Opens a tutorial by its file below `tutorial`, with other settings such as `trainer_common.seed=2`. */
export const openTutorial = (file: string, experimentDir: string, overrides: readonly string[]): AgentJetJob =>
  new AgentJetJob().loadJobFromYaml(path.join(import.meta.dirname, '../../tutorial', file), [
    `experiment_dir=${experimentDir}`,
    ...overrides,
  ]);
