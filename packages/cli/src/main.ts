import { createProgram } from './program.js';
import { reportError } from './report-error.js';

process.setSourceMapsEnabled(true);
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever read along (`| head`) has gone; a run goes on without a reader.
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
  // An exit would cut what the reader of a pipe has not taken yet.
  await Promise.all([process.stdout, process.stderr].map(taken));
  // A workflow may have left timers or sockets open; the run is over.
  process.exit(exitCode);
}

/** Resolves once all that was written is taken, or its reader is gone. */
async function taken(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve));
}

// With an await at the top level, Node would print a line of this file if a module of the user never settles.
process.once('beforeExit', () => {
  process.exitCode = 13; // as Node does for that await
});
void main();
