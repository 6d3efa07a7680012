import type { Kind } from '../../crds/kind/index.js';
import type { Client, RejectionAnswer, ClientRejection } from '../client/index.js';
import {
  connect,
  type Connection,
  type ConnectionFlags,
  findConnection,
  type TokenScope,
  type ExitCode,
  toExitCode,
  type Paint,
  paint,
  type Terminal,
} from '../terminal/index.js';
import { stripControls } from './print/text.js';

/** The dependencies of one command. */
export interface Session {
  readonly terminal: Terminal;
  readonly ink: Paint;
  /** The kinds that there are; those of this release when absent. */
  readonly kinds: readonly Kind[] | undefined;
  /** A client for the server that the flags, the environment or this clone name. */
  connect(scope?: TokenScope): Promise<Client>;
  /** Which server that is, and the token for it. */
  findConnection(scope?: TokenScope): Promise<Connection>;
  /** Prints why the server refused, and returns the exit code. */
  reportRejection(refusal: RejectionAnswer, locate?: Locate): ExitCode;
}

/** The work of one command. It prints through its session and resolves with the exit code. */
export type Command<Input> = (session: Session, input: Input) => Promise<ExitCode>;

export function openSession(
  terminal: Terminal,
  flags: ConnectionFlags,
  kinds?: readonly Kind[],
): Session & { close(): void } {
  const ink = paint(terminal.colours);
  const clients: Client[] = [];
  return {
    terminal,
    ink,
    kinds,
    async connect(scope) {
      const client = await connect(flags, terminal, scope);
      clients.push(client);
      return client;
    },
    findConnection: scope => findConnection(flags, terminal, scope),
    reportRejection(refusal, locate) {
      terminal.err(formatRejections(refusal, ink, locate));
      return toExitCode(refusal.status);
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}

/** Finds a field in the file that the request was read from: `web.yaml:3:5`. */
export type Locate = (field: string) => string | undefined;

/** Every reason why a request was refused, each with its fix. */
function formatRejections(refusal: RejectionAnswer, ink: Paint, locate: Locate = () => undefined): string {
  const { rejections } = refusal;
  const head = rejections.length === 1 ? 'refused' : `refused for ${rejections.length} reasons`;
  return `${ink.red(head)}\n${rejections.map(rejection => formatRejection(rejection, ink, locate)).join('')}`;
}

function formatRejection(rejection: ClientRejection, ink: Paint, locate: Locate): string {
  const place = locate(rejection.field);
  const field = rejection.field === '' ? '(the request)' : stripControls(rejection.field);
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['field', place === undefined ? field : `${field}  ${ink.dim(place)}`],
    ['received', stripControls(rejection.received)],
    ['expected', stripControls(rejection.expected)],
    ['why', stripControls(rejection.why)],
    ['fix', rejection.fix && JSON.stringify(rejection.fix)],
    ['see', stripControls(rejection.doc)],
  ];
  const body = rows
    .filter(([, text]) => text !== undefined && text !== '')
    .map(([name, text]) => `    ${ink.dim(name.padEnd(9))} ${text}\n`);
  return `  ${ink.bold(stripControls(rejection.code))}\n${body.join('')}`;
}
