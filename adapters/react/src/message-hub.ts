import type { Message } from './message.js';
import type { Participant } from './react-agent.js';

/**
 * Connects agents: while the hub is open, every agent observes the replies of the others. If the conversation has a
 * clear end, use `withMessageHub`, which also closes the hub.
 */
export class MessageHub {
  readonly #leave = new Map<Participant, () => void>();

  constructor(participants: readonly Participant[]) {
    for (const participant of participants) this.add(participant);
  }

  add(participant: Participant): void {
    if (this.#leave.has(participant)) return;
    this.#leave.set(
      participant,
      participant.onReply((reply) => this.broadcast(reply, participant)),
    );
  }

  remove(participant: Participant): void {
    this.#leave.get(participant)?.();
    this.#leave.delete(participant);
  }

  /** Sends the message to all participants except the speaker. */
  async broadcast(message: Message, speaker?: Participant): Promise<void> {
    for (const participant of this.#leave.keys()) {
      if (participant !== speaker) await participant.observe(message);
    }
  }

  close(): void {
    for (const participant of this.#leave.keys()) this.remove(participant);
  }
}

/** Opens a hub, sends the announcement, runs the conversation, and closes the hub even if the conversation throws. */
export async function withMessageHub<T>(
  participants: readonly Participant[],
  conversation: (hub: MessageHub) => Promise<T>,
  options: { readonly announcement?: Message } = {},
): Promise<T> {
  const hub = new MessageHub(participants);
  try {
    if (options.announcement !== undefined) await hub.broadcast(options.announcement);
    return await conversation(hub);
  } finally {
    hub.close();
  }
}
