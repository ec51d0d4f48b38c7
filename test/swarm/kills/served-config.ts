import { configuration, type AgentJetConfig } from 'agentjet';

/** The agents of `client-child.ts`. With two policies each has one agent. */
export const agents = ['main', 'second'] as const;

/**
 * Small batches on the nano model and few checkpoints, so that after most kills some steps have to be repeated. With a
 * port, the second policy waits at this port for a torch worker that another program starts.
 */
export function createServedConfig(experimentDir: string, numPolicies: number, workerPort = 0): AgentJetConfig {
  const attached = { backbone: 'torch', torch: { launch: 'attach', listenPort: workerPort } };
  const policies = agents.map((agent, index) => {
    const isAttached = workerPort > 0 && index === 1;
    return [`policy_${agent}`, { trainableTargets: [agent], ...(isAttached && attached) }] as const;
  });
  return configuration.create({
    experimentDir,
    experimentName: 'kills',
    model: { path: 'nano' },
    data: { trainBatchSize: 4 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 6 },
    trainerCommon: { saveFreq: 5, maxCheckpoints: 0, totalEpochs: 1, valBeforeTrain: false },
    onnx: { numThreads: 1 },
    ...(numPolicies > 1 && { swarm: { policies: Object.fromEntries(policies) } }),
  });
}
