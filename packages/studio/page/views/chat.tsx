import { useRef, useState } from 'preact/hooks';
import { readDeltas } from '../../src/page-logic/read-deltas.js';
import type { TalkMessage, TalkModel } from '../../src/wire.js';
import { Empty, Panel, Problem, Shown, Words } from '../parts/basics.js';
import { answerOf, source } from '../state/store.js';

/** Shows chats with the models of servers that the user started, side by side. */
export function Chat() {
  return (
    <div class="page">
      <Shown of={answerOf<{ readonly chats: readonly TalkModel[] }>('chats')}>
        {({ chats }) => <Talk chats={chats} />}
      </Shown>
    </div>
  );
}

/** The conversation with one model. The last answer may still be written. */
type Talked = { readonly messages: readonly TalkMessage[]; readonly error?: string };

function Talk({ chats }: { readonly chats: readonly TalkModel[] }) {
  const [talks, setTalks] = useState<readonly Talked[]>(chats.map(() => ({ messages: [] })));
  const [isAsking, setAsking] = useState(false);
  const ended = useRef<AbortController | undefined>(undefined);
  const change = (at: number, to: (talk: Talked) => Talked): void =>
    setTalks((now) => now.map((talk, place) => (place === at ? to(talk) : talk)));
  const ask = async (at: number, model: string, said: string): Promise<void> => {
    const messages = [...(talks[at]?.messages ?? []), { role: 'user', content: said } as const];
    change(at, () => ({ messages }));
    try {
      const request = { chat: at, model, messages, temperature: 1 };
      const response = await source.current.ask(request, ended.current?.signal ?? new AbortController().signal);
      if (!response.ok || response.body === null) throw new Error(await sayRefusal(response));
      let content = '';
      for await (const piece of readDeltas(response.body)) {
        content += piece;
        change(at, () => ({ messages: [...messages, { role: 'assistant', content }] }));
      }
    } catch (error) {
      if (ended.current?.signal.aborted !== true)
        change(at, (talk) => ({ ...talk, error: error instanceof Error ? error.message : String(error) }));
    }
  };
  const askAll = async (said: string): Promise<void> => {
    setAsking(true);
    ended.current = new AbortController();
    await Promise.all(chats.flatMap(({ model }, at) => (model === undefined ? [] : [ask(at, model, said)])));
    setAsking(false);
  };
  if (chats.length === 0)
    return (
      <Empty>
        Start <code>ajet serve</code>, and open the studio with <code>--chat before=http://127.0.0.1:8000</code>.
      </Empty>
    );
  return (
    <>
      <div class="bar">
        <h1>Chat</h1>
        <button type="button" onClick={() => setTalks(chats.map(() => ({ messages: [] })))} disabled={isAsking}>
          Begin again
        </button>
      </div>
      <div class="chat-columns">
        {chats.map((chat, at) => (
          <Column key={chat.url} chat={chat} talk={talks[at] ?? { messages: [] }} isAsking={isAsking} />
        ))}
      </div>
      <AskForm isAsking={isAsking} onAsk={(said) => void askAll(said)} onStop={() => ended.current?.abort()} />
    </>
  );
}

type AskProps = {
  readonly isAsking: boolean;
  readonly onAsk: (said: string) => void;
  readonly onStop: () => void;
};

function AskForm({ isAsking, onAsk, onStop }: AskProps) {
  const [words, setWords] = useState('');
  const send = (event: Event): void => {
    event.preventDefault();
    if (words.trim() === '' || isAsking) return;
    onAsk(words.trim());
    setWords('');
  };
  return (
    <form class="ask" onSubmit={send}>
      <textarea
        rows={3}
        aria-label="What to say to all models"
        placeholder="Say the same to all models. Enter sends it, Shift+Enter begins a line."
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && !event.shiftKey && send(event)}
      />
      {isAsking ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" class="primary">
          Send
        </button>
      )}
    </form>
  );
}

async function sayRefusal(response: Response): Promise<string> {
  const text = await response.text();
  const message = /"(?:message|error)":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  return message ?? `The server answered ${response.status}.`;
}

type ColumnProps = { readonly chat: TalkModel; readonly talk: Talked; readonly isAsking: boolean };

function Column({ chat: { name, model, url, problem }, talk, isAsking }: ColumnProps) {
  return (
    <Panel title={name} note={<span class="mono">{model ?? url}</span>}>
      {problem !== undefined && <Problem text={problem} />}
      <ol class="conversation" aria-live="polite">
        {talk.messages.map(({ role, content }, at) => (
          <li key={at} class={`message ${role === 'assistant' ? 'by-generated' : 'by-user'}`}>
            <header>
              <b>{role === 'assistant' ? 'model' : 'you'}</b>
              {content === '' && !isAsking && <span>the answer is empty</span>}
            </header>
            <Words text={content} class="said" />
          </li>
        ))}
      </ol>
      {talk.error !== undefined && <Problem text={talk.error} />}
    </Panel>
  );
}
