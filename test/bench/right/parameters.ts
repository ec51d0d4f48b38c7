import { startEndpointServer } from '@agentjet/endpoint';
import { elsewhere, findSilence, rows } from '../../adapters/parameter-walk.js';
import type { BenchOptions } from '../bench.js';

/**
 * Is a parameter of any API dropped silently? Each entry of the table of parameters is sent through its protocol
 * or adapter. An entry is `silent` if it is not refused, is not counted, and does not change what the model or the
 * client sees.
 */
export async function measureParameters({
  report,
}: Pick<BenchOptions, 'report'>): Promise<{ readonly entries: number; readonly silent: number }> {
  const walked = rows.filter(([, name]) => !elsewhere.includes(name));
  const server = await startEndpointServer();
  let silent = 0;
  try {
    for (const row of walked) {
      const silence = await findSilence(server, row);
      if (silence === undefined) continue;
      silent++;
      report(silence);
    }
  } finally {
    await server.close();
  }
  return { entries: walked.length, silent };
}
