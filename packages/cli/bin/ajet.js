#!/usr/bin/env node
// Starts the built command. This file is not built, so `npm ci` can link the command before the first build. It has no
// static import of ours, because an older Node cannot parse the rest.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`error: ajet needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
} else if (existsSync(main)) {
  await import(main.href);
} else {
  console.error(
    'ajet is not built yet: run "npm run build" in the repository once (npm start and npm test do it too).',
  );
  process.exitCode = 1;
}
