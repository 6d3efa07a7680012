import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

import { parseImageReference } from '../../crds/grammar/index.js';
import type { Clock } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import type { CredentialLookup, RegistryCredentials } from './challenge.js';
import { type ImageCheck, ImageCheckCache, type ImageFact, toRefused, toUnreachable } from './image-check.js';
import { type ImageLocation, locateImage } from './image-location.js';
import { checkImage } from './manifest.js';
import { mayCheck, parseRegistryPolicy, type RegistryPolicy, type RegistrySettings } from './policy.js';
import { type HostResolver, RegistryTransport, systemResolver, withDeadline } from './transport.js';

const DEADLINE_MS = 5_000;
const CHECKS_PER_TENANT = 4;
const CACHE_CAPACITY = 4_096;

export interface ImageCheckerDeps {
  readonly settings: RegistrySettings;
  readonly credentials: RegistryCredentials;
  readonly clock: Clock;
  readonly resolve?: HostResolver;
}

/** Whether an image exists, for admission. */
export interface ImageFacts {
  imageFact(tenant: string, reference: string): Promise<ImageFact>;
}

export class ImageChecker implements ImageFacts {
  readonly #clock: Clock;
  readonly #policy: RegistryPolicy;
  readonly #credentials: RegistryCredentials;
  readonly #resolve: HostResolver;
  readonly #ca: readonly string[] | undefined;
  readonly #results: ImageCheckCache;
  readonly #slots = new TenantSemaphore(CHECKS_PER_TENANT);
  readonly #underway = new Map<string, Promise<ImageCheck>>();

  /** Throws when a setting is invalid. */
  constructor({ settings, credentials, clock, resolve = systemResolver }: ImageCheckerDeps) {
    this.#clock = clock;
    this.#policy = parseRegistryPolicy(settings);
    this.#credentials = credentials;
    this.#resolve = resolve;
    this.#ca = loadCertificates(settings.registryCaFile);
    this.#results = new ImageCheckCache(clock, CACHE_CAPACITY);
  }

  async imageFact(tenant: string, reference: string): Promise<ImageFact> {
    return (await this.check(tenant, reference)).outcome;
  }

  /** Checks an image within five seconds, and never throws. Concurrent checks of the same image share one request. */
  check(tenant: string, reference: string): Promise<ImageCheck> {
    const key = `${tenant} ${reference}`;
    const known = this.#results.get(key);
    if (known) return Promise.resolve(known);

    const underway = this.#underway.get(key);
    if (underway) return underway;
    const checking = this.#checkNow(tenant, reference).then(check => {
      this.#underway.delete(key);
      this.#results.put(key, check);
      return check;
    });
    this.#underway.set(key, checking);
    return checking;
  }

  async #checkNow(tenant: string, reference: string): Promise<ImageCheck> {
    const parsed = parseImageReference(reference);
    const location = parsed ? locateImage(parsed, this.#policy.defaultRegistry) : 'host';
    if (location === 'host') return toRefused('host');
    if (location === 'no_registry') return toUnreachable('no_registry');
    if (!mayCheck(this.#policy, location.registry)) return toRefused('not_listed');

    const deadline = new AbortController();
    const cancel = this.#clock.after(DEADLINE_MS, () => deadline.abort());
    try {
      return await this.#checkInTurn(tenant, location, deadline.signal);
    } finally {
      cancel();
    }
  }

  async #checkInTurn(tenant: string, location: ImageLocation, signal: AbortSignal): Promise<ImageCheck> {
    if (!(await this.#slots.acquire(tenant, signal))) return toUnreachable('busy');
    try {
      const [policy, resolve, ca] = [this.#policy, this.#resolve, this.#ca];
      const transport = new RegistryTransport({ policy, resolve, ...(ca && { ca }), signal });
      const credential = () => this.#credentialFor(tenant, location.registry.text, signal);
      return await checkImage(transport, { policy, location, credential });
    } finally {
      this.#slots.release(tenant);
    }
  }

  /** A store that fails or is too slow counts as unavailable. */
  #credentialFor(tenant: string, host: string, signal: AbortSignal): Promise<CredentialLookup> {
    const unavailable: CredentialLookup = { kind: 'unavailable' };
    const answer = this.#credentials.credentialsFor(tenant, host, signal).catch(() => unavailable);
    return withDeadline(signal, answer, unavailable);
  }
}

/** The system's certificates and those of the file; undefined without a file. */
function loadCertificates(file: string): readonly string[] | undefined {
  if (file === '') return undefined;
  try {
    return [...rootCertificates, readFileSync(file, 'utf8')];
  } catch (thrown) {
    throw new InvalidSettingFault(`setting "registryCaFile": the file ${file} cannot be read`, { cause: thrown });
  }
}

/** Limits the concurrent checks of each tenant; the others wait in order. */
export class TenantSemaphore {
  readonly #size: number;
  readonly #queues = new Map<string, { busy: number; readonly waiting: Set<() => void> }>();

  constructor(size: number) {
    this.#size = size;
  }

  /** Acquires a slot, to be released with `release`. False, with nothing to release, when `signal` is aborted first. */
  acquire(tenant: string, signal: AbortSignal): Promise<boolean> {
    const queue = this.#queues.get(tenant) ?? { busy: 0, waiting: new Set() };
    this.#queues.set(tenant, queue);
    if (queue.busy < this.#size) {
      queue.busy++;
      return Promise.resolve(true);
    }
    return new Promise(resolve => {
      const finish = (entered: boolean) => {
        queue.waiting.delete(enter);
        signal.removeEventListener('abort', giveUp);
        resolve(entered);
      };
      const enter = () => finish(true);
      const giveUp = () => finish(false);
      queue.waiting.add(enter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Passes the slot to the longest waiter. */
  release(tenant: string): void {
    const queue = this.#queues.get(tenant);
    if (!queue) return;
    const [next] = queue.waiting;
    if (next) next();
    else if (--queue.busy === 0) this.#queues.delete(tenant);
  }
}
