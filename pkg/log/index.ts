/**
 * Structured logs: one JSON line for each change made to the world.
 *
 * The message is constant; everything that varies is a field, and the fields come from one table, so that a
 * log can be searched by key. A value that might be a secret has no key to go under.
 *
 * Winston does the writing, and is imported here only.
 *
 * @module
 */
export type { LogFields, LogFormat, Logger, LogLevel } from './logger.js';
export { createLogger, silentLogger } from './logger.js';
