import type { TuneParts } from './tune.js';
import { createConfig } from '@agentjet/inputs/testing';
import { expect, it } from 'vitest';
import { tune } from './tune.js';

it('refuses several policies, which only a server trains', async () => {
  const policies = { planner: { trainableTargets: ['planner'] }, worker: { trainableTargets: ['worker'] } };
  const config = createConfig({ swarm: { policies: policies as never } });
  await expect(tune(config, {} as TuneParts)).rejects.toThrow(/ajet swarm serve/);
});
