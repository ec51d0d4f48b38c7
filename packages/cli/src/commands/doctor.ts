import { examineRun } from '@agentjet/diagnose';
import { createOutput } from '../output.js';
import type { DoctorFlags } from '../program.js';
import { describeExamination } from './doctor-lines.js';

/** Runs `ajet doctor` and returns the exit code. It reads the records and changes nothing. */
export async function doctor(where: string, flags: DoctorFlags): Promise<number> {
  const output = createOutput(flags);
  const examination = await examineRun(where);
  for (const line of describeExamination(examination, where)) output.writeLine(line);
  const { episodesOf, ...others } = examination;
  output.writeJson({ run: where, ...others, ...(episodesOf !== undefined && { episodes_of: episodesOf }) });
  return 0;
}
