// `npm run setup:clients` makes test/endpoint/python/.venv with the pinned clients. It is safe to run again. Tests that
// need the clients are skipped without it.
import { makeEnvironment } from '../../../.ci/python-environment.mjs';

const problem = makeEnvironment(import.meta.dirname);
if (problem !== undefined) {
  console.log(`${problem} The tests with Python clients are skipped.`);
  process.exit(1);
}
