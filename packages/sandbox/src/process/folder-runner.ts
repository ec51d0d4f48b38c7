import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { refuseCode, type CodeOptions, type CodeResult, type CodeRunner } from '../code-runner.js';

/** Python by `run`, which gets a new folder each time. The folder is removed after it. */
export function createFolderRunner(
  run: (folder: string, code: string, options: CodeOptions) => Promise<CodeResult>,
): CodeRunner {
  return {
    languages: ['python'],
    async run(code, options) {
      const refused = refuseCode(code, options);
      if (refused !== null) return refused;
      if (options.signal?.aborted === true) return { stdout: '', value: undefined, error: null, limit: 'aborted' };
      const folder = await mkdtemp(path.join(tmpdir(), 'ajet-sandbox-'));
      try {
        return await run(folder, code, options);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    close: async () => {},
  };
}
