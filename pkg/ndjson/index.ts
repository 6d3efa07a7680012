/**
 * Newline-delimited JSON: how streams of objects travel between our processes and from container engines.
 *
 * A line is only a line once its line break has arrived, so a stream that breaks in the middle of one never yields
 * half an object. A line longer than the limit is a fault, because the other side decides how long it is.
 *
 * Use `lines` for text and `documents` for parsed values. Opening and closing the stream is left to the caller.
 *
 * @module
 */
export { LineTooLongFault } from './faults.js';
export { documents, lines } from './lines.js';
