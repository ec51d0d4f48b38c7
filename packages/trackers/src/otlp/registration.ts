import { defineTracker } from '../tracker.js';

/**
 * Sends the episodes of each step as traces. The rows say which steps have been recorded; the episodes are read from
 * the run's files.
 */
export const otlp = defineTracker({
  name: 'otlp',
  async open({ runDir, project, experiment, traceSample = 1 }) {
    const { openSpanExport } = await import('@agentjet/inspect');
    const traces = await openSpanExport({ runDir, project, experiment, share: traceSample });
    return {
      write: async (rows) => {
        for (const { step, values } of rows) {
          const isEvaluation = Object.keys(values).some((name) => name.startsWith('eval/'));
          await traces.exportStep(step, isEvaluation ? 'evaluation' : 'train');
        }
      },
      close: () => traces.close(),
    };
  },
});
