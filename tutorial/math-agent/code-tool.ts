import { openCodeRunner, SandboxError, type CodeResult } from '@agentjet/sandbox';
import { Outage } from 'agentjet';

/**
 * The calculator as a code tool: the model's expression is JavaScript that runs in a sandbox, so it may be any program. It cannot reach
 * this process, its files or the network. One sandbox serves all episodes of a run; every call gets a new interpreter.
 */

const limits = { seconds: 1, megabytes: 32, outputCharacters: 500 };
const runner = openCodeRunner('javascript');

/**
 * Describes the result of the code to the model. Limits and errors are answers. Only a broken sandbox fails the episode
 * as an outage.
 */
export async function runCode(code: string, signal?: AbortSignal): Promise<string> {
  try {
    return describe(
      await runner.run(code, { language: 'javascript', limits, ...(signal !== undefined && { signal }) }),
    );
  } catch (error) {
    if (error instanceof SandboxError) throw new Outage(error.message, { host: 'sandbox', cause: error });
    throw error;
  }
}

function describe({ value, stdout, error, limit }: CodeResult): string {
  if (limit !== null) return `stopped: the code reached its limit of ${limit}`;
  if (error !== null) return error;
  const shown = typeof value === 'number' ? String(Math.round(value * 100) / 100) : JSON.stringify(value);
  return [stdout.trim(), shown].filter((part) => part !== undefined && part !== '').join('\n');
}
