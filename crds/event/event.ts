/** `events/<tenant>/<id>`. */
export interface StoredEvent {
  readonly id: string;
  /** One of the types that the descriptors of the kinds name. */
  readonly type: string;
  readonly at: string;
  readonly lastSeenAt: string;
  readonly count: number;
  readonly tenant: string;
  readonly subject: {
    readonly kind: string;
    readonly name: string;
    readonly id: string;
  };
  readonly severity: 'info' | 'warning';
  readonly reason: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event as the server shows it. */
export type EventView = StoredEvent & { readonly revision?: string };
