import path from 'node:path';
import type { Cell } from './cells/cell.js';
import type { JudgeAgreement } from './cell-result.js';
import { ajet, lastLine, readUsage, reporter, root, runNode, type Ended } from './run-node.js';
import { serveWhile } from './serve-while.js';

/** The measurements while a frozen model answers the judge `llm`. */
export type Judged = { readonly ended: Ended; readonly agreement: JudgeAgreement; readonly baseUrl: string };

type Judge = NonNullable<Cell['judge']>;

/**
 * Serves the judge of a cell while `train` runs with the setting that names its address. Its processor time counts too.
 */
export async function trainWithJudge(
  cell: Cell,
  scratch: string,
  train: (settings: readonly string[]) => Promise<Ended>,
): Promise<Judged> {
  const { judge } = cell;
  if (judge === undefined) throw new Error(`The cell ${cell.tutorial} has no judge.`);
  const report = path.join(scratch, 'judge-usage.json');
  const model = path.join(root, judge.model);
  const command = ['--import', reporter, ajet, 'serve', model, '--no-key', '--port', '0', '--name', 'judge', '--json'];
  type Address = { readonly base_url: string };
  const place = { cwd: root, env: { USAGE_REPORT: report } };
  const judged = await serveWhile(command, place, async ({ base_url: baseUrl }: Address) => {
    const settings = [`task_judge.llm.base_url=${baseUrl}`];
    const agreement = await tryJudge(cell, judge, { scratch, settings });
    return { agreement, ended: await train(settings), baseUrl };
  });
  const cpuSeconds = judged.ended.cpuSeconds + (await readUsage(report)).cpuSeconds;
  return { ...judged, ended: { ...judged.ended, cpuSeconds } };
}

/** Reads the verdicts of the judge `llm` alone, even if it is one part of several. */
async function tryJudge(
  { conf, env = {} }: Cell,
  { labelled }: Judge,
  { scratch, settings }: { readonly scratch: string; readonly settings: readonly string[] },
): Promise<JudgeAgreement> {
  const examples = ['--examples', path.join(root, labelled), '--json'];
  const alone = ['task_judge.judge_type=llm', 'task_judge.llm.success_from=1', `experiment_dir=${scratch}/judge`];
  const args = [ajet, 'judge', '--conf', path.join(root, conf), ...examples, ...alone, ...settings];
  const { output } = await runNode(scratch, args, env);
  const said = JSON.parse(lastLine(output)) as JudgeAgreement;
  const { failed, agreement, rank_correlation } = said;
  return { examples: said.examples, failed, agreement, rank_correlation };
}
