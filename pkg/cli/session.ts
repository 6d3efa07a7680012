import type { Client, Refusal } from '../client/index.js';
import { type ConnectionFlags, connect, type Speaker } from './connection.js';
import { type ExitCode, exitCodeOf } from './exit-code.js';
import { type Paint, paint } from './print/paint.js';
import { type Locate, refusalText } from './print/refusal.js';
import type { Terminal } from './terminal.js';

/** What one command works with. */
export interface Session {
  readonly terminal: Terminal;
  readonly ink: Paint;
  /** A client for the server that the flags, the environment or this clone name. */
  connect(speaker?: Speaker): Promise<Client>;
  /** Prints why the server refused, and says what to exit with. */
  refused(refusal: Refusal, locate?: Locate): ExitCode;
}

/** A command's work. It prints through its session and answers what to exit with. */
export type Command<Input> = (session: Session, input: Input) => Promise<ExitCode>;

/** Loads a command and runs it with its input. */
export type Run = <Input>(load: () => Promise<Command<Input>>, input: Input) => Promise<void>;

export function openSession(terminal: Terminal, flags: ConnectionFlags): Session & { close(): void } {
  const ink = paint(terminal.colours);
  const clients: Client[] = [];
  return {
    terminal,
    ink,
    async connect(speaker) {
      const client = await connect(flags, terminal, speaker);
      clients.push(client);
      return client;
    },
    refused(refusal, locate) {
      terminal.err(refusalText(refusal, ink, locate));
      return exitCodeOf(refusal.status);
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}
