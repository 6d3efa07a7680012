import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

import { parseImageReference } from '../../crds/grammar/index.js';
import type { Clock } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import { AnswerCache } from './answer-cache.js';
import { converse } from './converse.js';
import type { CredentialAnswer, RegistryCredentials } from './credentials.js';
import { type ImageLocation, locate } from './image-location.js';
import { Line } from './line.js';
import { machineNames, type Names } from './names.js';
import { factOf, type ImageCheck, type ImageFact, refused, unreachable } from './outcome.js';
import { mayAsk, type RegistryPolicy, type RegistrySettings, registryPolicy } from './policy.js';
import { TenantSlots } from './tenant-slots.js';
import { within } from './within.js';

const DEADLINE_MS = 5_000;
const AT_ONCE = 4;
const ANSWERS_KEPT = 4_096;

export interface ImageCheckerDeps {
  readonly settings: RegistrySettings;
  readonly credentials: RegistryCredentials;
  readonly clock: Clock;
  /** Default: the machine's. */
  readonly names?: Names;
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
  readonly #names: Names;
  readonly #ca: readonly string[] | undefined;
  readonly #answers: AnswerCache;
  readonly #slots = new TenantSlots(AT_ONCE);
  readonly #underway = new Map<string, Promise<ImageCheck>>();

  /** Throws when a setting cannot be used. */
  constructor({ settings, credentials, clock, names = machineNames }: ImageCheckerDeps) {
    this.#clock = clock;
    this.#policy = registryPolicy(settings);
    this.#credentials = credentials;
    this.#names = names;
    this.#ca = certificates(settings.registryCaFile);
    this.#answers = new AnswerCache(clock, ANSWERS_KEPT);
  }

  /** What admission needs to know of an image. */
  async imageFact(tenant: string, reference: string): Promise<ImageFact> {
    return factOf(await this.check(tenant, reference));
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
    const location = parsed ? locate(parsed, this.#policy.defaultRegistry) : 'host';
    if (location === 'host') return refused('host');
    if (location === 'no_registry') return unreachable('no_registry');
    if (!mayAsk(this.#policy, location.registry)) return refused('not_listed');

    const deadline = new AbortController();
    const cancel = this.#clock.after(DEADLINE_MS, () => deadline.abort());
    try {
      return await this.#inTurn(tenant, location, deadline.signal);
    } finally {
      cancel();
    }
  }

  async #inTurn(tenant: string, location: ImageLocation, signal: AbortSignal): Promise<ImageCheck> {
    if (!(await this.#slots.enter(tenant, signal))) return unreachable('busy');
    try {
      const [policy, names, ca] = [this.#policy, this.#names, this.#ca];
      const line = new Line({ policy, names, ...(ca && { ca }), signal });
      const credential = () => this.#credentialFor(tenant, location.registry.text, signal);
      return await converse(line, { policy, location, credential });
    } finally {
      this.#slots.leave(tenant);
    }
  }

  /** A store that fails, or does not answer in time, is one that cannot be asked. */
  #credentialFor(tenant: string, host: string, signal: AbortSignal): Promise<CredentialAnswer> {
    const unavailable: CredentialAnswer = { kind: 'unavailable' };
    const answer = this.#credentials.credentialsFor(tenant, host, signal).catch(() => unavailable);
    return within(signal, answer, unavailable);
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
