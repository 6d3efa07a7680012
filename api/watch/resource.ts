import type { Entry } from '../../pkg/store/index.js';

/**
 * One kind of thing that can be listed and watched.
 *
 * What a client sees of it may be made of two entries with different writers: what is asked for, and what was seen. They
 * share tenant and name, and a change to either is a change to the thing.
 */
export interface Resource {
  /** `deployments/`: what exists. */
  readonly range: string;
  /** `status/`: what is shown beside it, where it has such a thing. */
  readonly joined?: string;
  /** The thing as clients see it, in JSON. */
  readonly view: (entry: Entry, joined: Entry | undefined) => Buffer;
}
