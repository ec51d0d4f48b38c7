import { AgentJetError } from '@agentjet/core';
import { createProgram } from './program.js';

process.setSourceMapsEnabled(true);
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Ignore that the reader of the output, such as `head`, has ended: a run continues without a reader.
    if (error.code !== 'EPIPE') throw error;
  });
}

async function main(): Promise<void> {
  let exitCode = 0;
  try {
    await createProgram((code) => {
      exitCode = code;
    }).parseAsync();
  } catch (error) {
    reportError(error);
    exitCode = 1;
  }
  // Wait, because an immediate exit would lose output that the reader of a pipe has not read yet.
  await Promise.all([process.stdout, process.stderr].map(taken));
  // Exit explicitly, because a workflow may have left timers or sockets open.
  process.exit(exitCode);
}

/** Resolves once all output has been read, or its reader is gone. */
async function taken(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve));
}

// There is no await at the top level. With it, Node would print a line of this file if a module of the user never
// settles.
process.once('beforeExit', () => {
  process.exitCode = 13; // Node uses this exit code for an await that never settles
});
void main();

/** Our own errors explain themselves. Any other error is a defect, of ours or of user code, and keeps its stack. */
function reportError(error: unknown): void {
  if (error instanceof AgentJetError) {
    console.error(`error: ${error.message.replaceAll('\n', '\n       ')}`);
    return;
  }
  console.error('error: something unexpected happened.');
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
}
