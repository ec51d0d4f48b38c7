#!/usr/bin/env node
// This file is in the repository, so `npm ci` links the command before the first build.
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
