import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

import { parseImageReference } from '../../crds/grammar/index.js';
import type { Clock } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import type { CredentialLookup, RegistryCredentials } from './challenge.js';
import {
  type ImageCheck,
  ImageCheckCache,
  type ImageFact,
  toImageFact,
  toRefused,
  toUnreachable,
} from './image-check.js';
import { type ImageLocation, locateImage } from './image-location.js';
import { checkImage } from './manifest.js';
import { mayCheck, parseRegistryPolicy, type RegistryPolicy, type RegistrySettings } from './policy.js';
import { type HostResolver, RegistryTransport, systemResolver, withDeadline } from './transport.js';

const DEADLINE_MS = 5_000;
const AT_ONCE = 4;
const ANSWERS_KEPT = 4_096;

export interface ImageCheckerDeps {
  readonly settings: RegistrySettings;
  readonly credentials: RegistryCredentials;
  readonly clock: Clock;
  /** Default: the machine's. */
  readonly resolve?: HostResolver;
}

/** Says whether an image is there. What admission asks. */
export interface ImageFacts {
  imageFact(tenant: string, reference: string): Promise<ImageFact>;
}

/** Asks registries for the manifests of images, on behalf of tenants. */
export class ImageChecker implements ImageFacts {
  readonly #clock: Clock;
  readonly #policy: RegistryPolicy;
  readonly #credentials: RegistryCredentials;
  readonly #resolve: HostResolver;
  readonly #ca: readonly string[] | undefined;
  readonly #answers: ImageCheckCache;
  readonly #slots = new TenantSemaphore(AT_ONCE);
  readonly #underway = new Map<string, Promise<ImageCheck>>();

  /** Throws when a setting cannot be used. */
  constructor({ settings, credentials, clock, resolve = systemResolver }: ImageCheckerDeps) {
    this.#clock = clock;
    this.#policy = parseRegistryPolicy(settings);
    this.#credentials = credentials;
    this.#resolve = resolve;
    this.#ca = certificates(settings.registryCaFile);
    this.#answers = new ImageCheckCache(clock, ANSWERS_KEPT);
  }

  /** What admission needs to know of an image. */
  async imageFact(tenant: string, reference: string): Promise<ImageFact> {
    return toImageFact(await this.check(tenant, reference));
  }

  /** Whether the registry has the image, within five seconds, and never a throw. The same question at once is asked once. */
  check(tenant: string, reference: string): Promise<ImageCheck> {
    const key = `${tenant} ${reference}`;
    const known = this.#answers.get(key);
    if (known) return Promise.resolve(known);

    const underway = this.#underway.get(key);
    if (underway) return underway;
    const asking = this.#ask(tenant, reference).then(check => {
      this.#underway.delete(key);
      this.#answers.put(key, check);
      return check;
    });
    this.#underway.set(key, asking);
    return asking;
  }

  async #ask(tenant: string, reference: string): Promise<ImageCheck> {
    const parsed = parseImageReference(reference);
    const location = parsed ? locateImage(parsed, this.#policy.defaultRegistry) : 'host';
    if (location === 'host') return toRefused('host');
    if (location === 'no_registry') return toUnreachable('no_registry');
    if (!mayCheck(this.#policy, location.registry)) return toRefused('not_listed');

    const deadline = new AbortController();
    const cancel = this.#clock.after(DEADLINE_MS, () => deadline.abort());
    try {
      return await this.#inTurn(tenant, location, deadline.signal);
    } finally {
      cancel();
    }
  }

  async #inTurn(tenant: string, location: ImageLocation, signal: AbortSignal): Promise<ImageCheck> {
    if (!(await this.#slots.acquire(tenant, signal))) return toUnreachable('busy');
    try {
      const [policy, resolve, ca] = [this.#policy, this.#resolve, this.#ca];
      const line = new RegistryTransport({ policy, resolve, ...(ca && { ca }), signal });
      const credential = () => this.#credentialFor(tenant, location.registry.text, signal);
      return await checkImage(line, { policy, location, credential });
    } finally {
      this.#slots.release(tenant);
    }
  }

  /** A store that fails, or does not answer in time, is one that cannot be asked. */
  #credentialFor(tenant: string, host: string, signal: AbortSignal): Promise<CredentialLookup> {
    const unavailable: CredentialLookup = { kind: 'unavailable' };
    const answer = this.#credentials.credentialsFor(tenant, host, signal).catch(() => unavailable);
    return withDeadline(signal, answer, unavailable);
  }
}

/** The machine's own certificates and those of a file; undefined when there is no file. */
function certificates(file: string): readonly string[] | undefined {
  if (file === '') return undefined;
  try {
    return [...rootCertificates, readFileSync(file, 'utf8')];
  } catch (thrown) {
    throw new InvalidSettingFault('setting "registryCaFile": the file cannot be read', { cause: thrown });
  }
}

/** Lets each tenant do so many things at once, and has the rest of them wait in line. */
export class TenantSemaphore {
  readonly #size: number;
  readonly #lines = new Map<string, { busy: number; readonly waiting: Set<() => void> }>();

  constructor(size: number) {
    this.#size = size;
  }

  /** Takes a slot, to be given back with `leave`. False, and nothing to give back, when `signal` was aborted first. */
  acquire(tenant: string, signal: AbortSignal): Promise<boolean> {
    const line = this.#lines.get(tenant) ?? { busy: 0, waiting: new Set() };
    this.#lines.set(tenant, line);
    if (line.busy < this.#size) {
      line.busy++;
      return Promise.resolve(true);
    }
    return new Promise(resolve => {
      const finish = (entered: boolean) => {
        line.waiting.delete(enter);
        signal.removeEventListener('abort', giveUp);
        resolve(entered);
      };
      const enter = () => finish(true);
      const giveUp = () => finish(false);
      line.waiting.add(enter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Hands the slot to whoever waits longest. */
  release(tenant: string): void {
    const line = this.#lines.get(tenant);
    if (!line) return;
    const [next] = line.waiting;
    if (next) next();
    else if (--line.busy === 0) this.#lines.delete(tenant);
  }
}
