import { exportTunedModel } from '@agentjet/models';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { ExportFlags } from '../program.js';

/** Runs `ajet export` and returns the exit code. */
export async function exportRun(model: string, folder: string, flags: ExportFlags): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping.'),
    async (signal) => {
      const { dir, numBytes, numMerged } = await exportTunedModel(model, folder, {
        ...(flags.base === undefined ? {} : { base: flags.base }),
        ...(flags.type === undefined ? {} : { type: flags.type }),
        signal,
        onNotice: output.writeLine,
      });
      const merged = numMerged === 0 ? '' : `; an adapter was merged into ${numMerged} of its tensors`;
      output.writeLine(`Written to ${dir}: ${(numBytes / 1e6).toFixed(1)} MB of weights${merged}.`);
      output.writeJson({ dir, bytes: numBytes, merged_tensors: numMerged });
      return 0;
    },
  );
}
