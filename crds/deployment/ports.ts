import { type Static, Type } from 'typebox';

import type { FieldPath } from '../grammar/index.js';
import { annotate, type FieldRules, type FieldError, rule } from '../rule/index.js';
import type { DeploymentContext } from './limits.js';

/** A port of the container, and the port of the node that leads to it. */
export interface Port {
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly protocol: 'tcp' | 'udp';
}

const PORTS_MAX = 64;
const invalid = annotate({ 'x-reject': 'port_invalid' });
const number = Type.Integer({ minimum: 1, maximum: 65_535, ...invalid });

export const portsSchema = Type.Array(
  Type.Object(
    {
      containerPort: number,
      hostPort: Type.Optional(number),
      protocol: Type.Optional(Type.Enum(['tcp', 'udp'], { type: 'string', ...invalid })),
    },
    { additionalProperties: false, ...invalid },
  ),
  { maxItems: PORTS_MAX },
);

/** Ports as a client may send them. */
export type PortsInput = Static<typeof portsSchema>;

const portsAreDistinct = rule('port_duplicate', (ports: PortsInput, at, _context: DeploymentContext, refuse) => {
  if (ports.length < 2) return undefined;
  const repeated = (which: 'containerPort' | 'hostPort'): FieldError[] =>
    repeats(ports.map(port => port[which] && `${port[which]}/${port.protocol ?? 'tcp'}`)).map(position =>
      refuse(place(at, position, which), ports[position]?.[which]),
    );
  return [...repeated('containerPort'), ...repeated('hostPort')];
});

function place(at: FieldPath, position: number, name: string): FieldPath {
  return at.index(position).child(name);
}

/** Positions of entries that stand further left already. */
function repeats(values: readonly (string | number | undefined)[]): number[] {
  const seen = new Set<unknown>();
  return values.flatMap((value, position) => {
    if (value === undefined) return [];
    if (seen.has(value)) return [position];
    seen.add(value);
    return [];
  });
}

export const portsRules: FieldRules<DeploymentContext> = { field: 'ports', present: [portsAreDistinct] };
