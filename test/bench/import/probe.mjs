// Imports one module in a fresh process and prints the files that were loaded: `node probe.mjs agentjet`.
import { Session } from 'node:inspector';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/**
 * Collects every script that V8 has parsed, of our files and of packages. The debugger reports ES modules and CommonJS
 * alike.
 */
function watchFiles() {
  const files = new Set();
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params: { url } }) => {
    const file = url.startsWith('file:') ? fileURLToPath(url) : url;
    if (/^([A-Za-z]:)?[\\/]/.test(file)) files.add(file);
  });
  session.post('Debugger.enable');
  return files;
}

/** Returns shared objects that the process has mapped: addons, and the libraries that they load. */
function nativeLibraries() {
  process.report.excludeNetwork = true;
  return process.report.getReport().sharedObjects;
}

const known = new Set(nativeLibraries());
const files = watchFiles();
const before = new Set(files);
await import(process.argv[2]);
console.log(
  JSON.stringify({
    files: [...files].filter((file) => !before.has(file)),
    native: nativeLibraries().filter((library) => !known.has(library)),
  }),
);
