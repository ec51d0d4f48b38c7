export type { ContractCase } from '@agentjet/core';

/** Opens what a case looks at, and closes it again whatever happens. */
export async function withOpened<Subject extends { close(): Promise<void> }>(
  open: () => Promise<Subject>,
  use: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subject = await open();
  try {
    await use(subject);
  } finally {
    await subject.close();
  }
}
