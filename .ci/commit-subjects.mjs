// Checks that commit subjects are short enough to read in a list. It checks only commits that are newer than the rule.
// In a clone without those commits it checks none.
import { spawnSync } from 'node:child_process';
import { root } from './workspaces.mjs';

const longest = 72;
/**
 * Allows subjects that were on main before their length was noticed. To shorten them, one would have to rewrite the
 * history, and kept results name commits by their hashes.
 */
const exempt = [
  'trackers, tokenizer: rewrite comments, messages and pages in plain English',
  'ledger, endpoint, swarm: drop a clock nobody reads and a second check of nesting',
  'inputs, models, local-run, sft, job: repair the sentences of a fresh draw',
  'ledger, judges: rewrite the other comments and pages that need two readings',
  'inputs, models, local-run, sft, job: rewrite comments that need two readings',
  'records, run, run-folder, generation, traces: say each fact in one reading',
];
const lastBeforeTheRule = 'ba5b17a';

const { status, stdout } = spawnSync('git', ['log', '--no-merges', '--format=%h %s', `${lastBeforeTheRule}..HEAD`], {
  cwd: root,
  encoding: 'utf8',
});
const subjects = (status === 0 ? stdout : '').split('\n').filter(Boolean);
const wrong = subjects.flatMap((line) => {
  const subject = line.slice(line.indexOf(' ') + 1);
  const problems = [
    ...(subject.length > longest && !exempt.includes(subject)
      ? [`has ${subject.length} columns, but at most ${longest} are allowed`]
      : []),
    ...(/^[^ :]+(, [^ :]+)*( [^ :]+)?: \S/.test(subject)
      ? []
      : ['should be "area: imperative" or "area, area: imperative"']),
  ];
  return problems.map((problem) => `${line}\n  ${problem}`);
});
for (const line of wrong) console.log(line);
process.exit(wrong.length === 0 ? 0 : 1);
