import type { EtcdInspection } from '../../store/index.js';
import type { NodeView } from '../../../crds/node/index.js';

/** One line of `moor doctor`. */
export interface Finding {
  readonly area: string;
  readonly state: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly message: string;
  /** What to do; present unless it is ok. */
  readonly remedy?: string;
}

/** What `moor doctor` has seen. Each part is judged by itself; what could not be looked at says why. */
export interface Observations {
  readonly server: ServerObservation;
  readonly etcd: EtcdObservation;
  readonly nodes: Observation<readonly NodeView[]> & { readonly isTokenRefused?: true };
  readonly engine: Observation<EngineObservation> & { readonly host: string };
  readonly certificates: readonly CertificateObservation[];
  readonly disks: readonly DiskObservation[];
  readonly ports: readonly PortObservation[];
  readonly firewall: FirewallObservation;
}

/** What was seen, or why it was not. `isAbsent` when this machine need not have it. */
export type Observation<Value> =
  | { readonly value: Value; readonly fault?: never }
  | { readonly value?: never; readonly fault: string; readonly isAbsent?: true };

/** As `GET /healthz` answers. */
export interface HealthView {
  readonly status: string;
  readonly store: {
    readonly connected: boolean;
    readonly databaseBytes?: number;
    readonly quotaBytes?: number;
    readonly nearsQuota?: boolean;
    readonly isReserved?: boolean;
    readonly alarms?: readonly string[];
  };
  readonly controllers: Readonly<Record<string, { readonly leader: boolean }>>;
}

export interface ServerObservation {
  /** Its address; where no server can be asked, `health` says why. */
  readonly address: string | undefined;
  readonly health: Observation<HealthView>;
  /** How far its clock is ahead of this one's, in milliseconds, and by how much that may be wrong. */
  readonly clock?: { readonly aheadMs: number; readonly uncertainMs: number };
}

export interface EtcdObservation {
  /** Why etcd itself was not asked: its settings are not known to this command. */
  readonly skipped?: string;
  /** The server names no member: it keeps everything in its memory. */
  readonly isInMemory?: true;
  readonly members: readonly (Observation<EtcdInspection> & { readonly endpoint: string })[];
  readonly quotaBytes: number;
}

export interface EngineObservation {
  readonly version: string;
  readonly apiVersion: string;
  readonly warnings: readonly string[];
}

export interface CertificateObservation {
  /** Whose it is: a file, or the server. */
  readonly subject: string;
  /** In milliseconds. */
  readonly validUntil: Observation<number>;
  readonly validFrom?: number;
  /** How it is replaced. */
  readonly remedy: string;
}

export interface DiskObservation {
  readonly path: string;
  readonly space: Observation<{ readonly freeBytes: number; readonly totalBytes: number }>;
}

export interface PortObservation {
  /** What should listen there. */
  readonly owner: string;
  /** `host:port`. */
  readonly address: string;
  readonly isOpen: boolean;
  /** Reached from other machines without TLS. */
  readonly isExposed: boolean;
}

export interface FirewallObservation {
  /** Whether the kernel forwards packets; undefined where that cannot be read. */
  readonly forwards: boolean | undefined;
  /** `iptables -S FORWARD`. */
  readonly rules: Observation<string>;
}
