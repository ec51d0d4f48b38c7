#!/usr/bin/env node
import { createProgram } from './program.js';
import { reportError } from './report-error.js';

process.setSourceMapsEnabled(true);
let exitCode = 0;
try {
  await createProgram((code) => {
    exitCode = code;
  }).parseAsync();
} catch (error) {
  reportError(error);
  exitCode = 1;
}
// A workflow may have left timers or sockets open; the run is over.
process.exit(exitCode);
