// Prints the reward of the trial that Harbor ran below the working directory, for `ajet swarm run --reward`. A trial without
// a verdict ends with 1, so that its attempt is repeated and gets no reward. Harbor itself ends with 0 in both cases.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const folder = process.argv[2] ?? 'trials';
const found = readdirSync(folder, { recursive: true })
  .map(String)
  .filter((name) => path.basename(name) === 'result.json')
  .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')))
  .filter((result) => 'verifier_result' in result);

function fail(why) {
  console.error(why);
  process.exit(1);
}

const [result, ...others] = found;
if (result === undefined) fail(`There is no result.json of a trial in ${folder}.`);
if (others.length > 0) fail(`There are ${found.length} trials in ${folder}. Give each episode a folder of trials.`);
const rewards = result.verifier_result?.rewards ?? {};
const values = Object.values(rewards);
if (values.length === 0 || !values.every(Number.isFinite))
  fail(`The trial has no reward: ${result.exception_info?.exception_type ?? 'no verifier ran'}.`);
const reward = rewards.reward ?? values.reduce((sum, value) => sum + value, 0) / values.length;
console.log(JSON.stringify({ reward, is_success: reward >= 1, metadata: { rewards } }));
