import { createGroupJudge } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import type { JobInputs } from '@agentjet/inputs';
import { createConfig } from '@agentjet/inputs/testing';
import { withRollout } from './with-rollout.js';

it('refuses a judge of whole groups whose episodes run in several processes', async () => {
  const judge = createGroupJudge({ judgeGroup: () => [] });
  const inputs = { judge, processes: {} } as unknown as JobInputs;
  const policy = {
    kind: 'chat',
    model: { name: 'none', generate: () => Promise.reject(new Error('no model')) },
  } as const;
  const config = createConfig({ rollout: { workflowProcesses: 2 } });
  const running = withRollout(config, { inputs, policy, emit: () => undefined }, async () => undefined);
  await expect(running).rejects.toThrow('Set rollout.workflow_processes to 0');
});
