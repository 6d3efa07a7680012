import { writeSync } from 'node:fs';

import { Fault } from '../fault/index.js';
import { type FailpointName, points } from './points.js';

/** Thrown at a point that is armed with `error`. Nothing is wrong. */
export class FailpointFault extends Fault {
  readonly retriable = true;
}

/** What was to be armed is no failpoint, or nothing that a failpoint can do. */
export class FailpointSyntaxFault extends Fault {
  readonly retriable = false;
}

type Action = 'kill' | 'error';

interface Armed {
  readonly action: Action;
  /** Passes until it acts. It acts once. */
  left: number;
}

const ARM = /^([a-z_.]+)=(kill|error)(?:@([1-9]\d*))?$/;
const armed = new Map<FailpointName, Armed>();

/** A step at which the process can be made to fail. Nothing at all, unless it is armed. */
export function failpoint(name: FailpointName): void {
  if (armed.size > 0) pass(name);
}

/**
 * Arms points in this process: `rotation.raised=kill@2,agent.created=error` kills it when it passes the one for the second
 * time, and throws a `FailpointFault` when it passes the other for the first. Answers how to take that back.
 */
export function arm(text: string): () => void {
  const wanted = text.split(',').filter(part => part !== '');
  const parsed = wanted.map(parse);
  for (const [name, action] of parsed) armed.set(name, action);
  return () => {
    for (const [name] of parsed) armed.delete(name);
  };
}

function parse(part: string): readonly [FailpointName, Armed] {
  const [, name = '', action, pass = '1'] = ARM.exec(part) ?? [];
  if (!Object.hasOwn(points, name)) throw new FailpointSyntaxFault(`"${part}" arms no failpoint`);
  return [name as FailpointName, { action: action as Action, left: Number(pass) }];
}

function pass(name: FailpointName): void {
  const point = armed.get(name);
  if (!point || --point.left > 0) return;
  armed.delete(name);
  if (point.action === 'error') throw new FailpointFault(`failpoint ${name}: ${points[name]}`);
  writeSync(process.stderr.fd, `failpoint ${name}: killed\n`);
  process.kill(process.pid, 'SIGKILL');
}

arm(process.env['MOORING_FAILPOINTS'] ?? '');
