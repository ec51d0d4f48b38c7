import type { Judge, Task, Verdict, WorkflowOutput } from 'agentjet';

/** Right or wrong: the number of the answer against the number of the task. */
export class AnswerJudge implements Judge {
  judge(task: Task, output: WorkflowOutput): Verdict {
    const answer = String(output.metadata?.['answer'] ?? '').trim();
    const isSuccess = answer !== '' && Number(answer) === Number(task.metadata['answer']);
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}
