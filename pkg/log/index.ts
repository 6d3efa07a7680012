/**
 * Structured logs: one JSON line for each change that a process makes.
 *
 * The message is constant; everything that varies is a field, and the fields come from one table, so that a
 * log can be searched by key. No key is meant for a value that might be a secret.
 *
 * Winston does the writing, and is imported here only.
 *
 * @module
 */
import winston from 'winston';

/** All keys that a log line may carry beside `time`, `level` and `message`. */
export interface LogFields {
  readonly process?: string;
  readonly tenant?: string;
  readonly deployment?: string;
  readonly job?: string;
  readonly replica?: string;
  readonly node?: string;
  readonly network?: string;
  readonly volume?: string;
  /** Of volumes. */
  readonly driver?: string;
  readonly loop?: string;
  readonly reconcileId?: string;
  readonly requestId?: string;
  /** The id of the trace that the request belongs to. */
  readonly trace?: string;
  /** Public id of the token of the request. */
  readonly token?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly code?: string;
  readonly container?: string;
  readonly image?: string;
  readonly key?: string;
  readonly revision?: number;
  readonly attempt?: number;
  readonly ms?: number;
  readonly count?: number;
  /** Of a replica, among those of its deployment. */
  readonly slot?: number;
  readonly pid?: number;
  readonly address?: string;
  readonly version?: string;
  /** Why: a cause in words, or the code of one. */
  readonly because?: string;
  /** What something has become, or what it is about to do. */
  readonly phase?: string;
  readonly alterations?: readonly { readonly field: string; readonly why: string }[];
  readonly error?: Error;
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';
export type LogFormat = 'json' | 'pretty';

export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly fields?: LogFields;
  /** Append to this file instead. */
  readonly file?: string;
}

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };
const ignore = (): void => undefined;

/** Writes to standard error, so that standard output stays a command's own; or to a file. */
export function createLogger({ level, format, file, fields = {} }: LogOptions): Logger {
  const logger = winston.createLogger({
    level,
    format: format === 'json' ? winston.format.json() : winston.format.printf(info => pretty(info)),
    transports: [
      file === undefined
        ? new winston.transports.Console({ stderrLevels: ['error', 'warn', 'info', 'debug'] })
        : new winston.transports.File({ filename: file, options: { flags: 'a', mode: 0o600 } }),
    ],
  });
  const write: Write = (at, message, own) => logger.log(at, { message, time: new Date().toISOString(), ...plain(own) });
  return bind(write, fields, level);
}

/** Logs nothing. For tests, and for tools that print for people. */
export const silentLogger: Logger = bind(() => undefined, {}, 'error');

type Write = (level: LogLevel, message: string, fields: LogFields) => void;

/** Lines below the level are not even formatted. */
function bind(write: Write, bound: LogFields, most: LogLevel): Logger {
  const at = (level: LogLevel) =>
    SEVERITY[level] > SEVERITY[most]
      ? ignore
      : (message: string, fields?: LogFields) => write(level, message, { ...bound, ...fields });
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    with: fields => bind(write, { ...bound, ...fields }, most),
  };
}

function plain({ error, ...fields }: LogFields): Record<string, unknown> {
  if (!error) return fields;
  return { ...fields, error: { name: error.name, message: error.message, stack: error.stack } };
}

function pretty({ level, message, time, ...fields }: Record<string, unknown>): string {
  const details = Object.entries(fields)
    .filter(([key, value]) => typeof key === 'string' && value !== undefined)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(message)} ${details.join(' ')}`.trimEnd();
}
