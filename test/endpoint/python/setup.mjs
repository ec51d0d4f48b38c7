// Makes test/endpoint/python/.venv with the pinned clients: `npm run setup:clients`. Safe to run again; without it their tests are skipped.
import { makeEnvironment } from '../../../.ci/python-environment.mjs';

const problem = makeEnvironment(import.meta.dirname);
if (problem !== undefined) {
  console.log(`${problem} The tests with Python clients are skipped.`);
  process.exit(1);
}
