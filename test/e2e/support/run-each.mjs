// `node run-each.mjs <program.js> '[["--conf", "a.yaml"], ...]'` runs the built module of the command with each list of
// arguments, one after the other in one process. It ends with the errors of those that failed, one line each.
import { pathToFileURL } from 'node:url';

const [program, lists] = process.argv.slice(2);
const { createProgram } = await import(pathToFileURL(program).href);

let numFailed = 0;
for (const args of JSON.parse(lists)) {
  try {
    let exitCode = 0;
    await createProgram((code) => (exitCode = code)).parseAsync(args, { from: 'user' });
    if (exitCode !== 0) throw new Error(`exit code ${exitCode}`);
  } catch (error) {
    numFailed++;
    console.error(`${args.join(' ')}: ${error.message}`);
  }
}
process.exit(numFailed === 0 ? 0 : 1);
