#!/usr/bin/env node
// Starts the built command. This file is not built, so `npm ci` can link the command before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  console.error(
    'ajet is not built yet: run "npm run build" in the repository once (npm start and npm test do it too).',
  );
  process.exitCode = 1;
}
