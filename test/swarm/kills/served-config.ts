import { configuration, type AgentJetConfig } from 'agentjet';

/** Small batches on the nano model, and a checkpoint now and then, so that most kills lose steps that have to be made again. */
export function createServedConfig(experimentDir: string): AgentJetConfig {
  return configuration.create({
    experimentDir,
    experimentName: 'kills',
    model: { path: 'nano' },
    data: { trainBatchSize: 4 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 6 },
    trainerCommon: { saveFreq: 5, maxCheckpoints: 0, totalEpochs: 1, valBeforeTrain: false },
    onnx: { numThreads: 1 },
  });
}
