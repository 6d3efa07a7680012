import type { StoredNode } from '../../crds/node/index.js';
import { isSignedBy, parseNodeKey } from '../../pkg/link/index.js';

const SIGNATURE_BYTES = 64;

type Sign = (text: string) => string;

/**
 * What agents have signed. To sign and to verify costs more than all else that most of their requests cause, and they do little
 * else: whether a key is theirs is found out once, with a real signature, and after that only whether they have signed this text.
 */
export class Signatures {
  readonly #made = new Map<string, { readonly text: string; readonly sign: Sign }>();
  readonly #owned = new Map<Sign, Map<string, boolean>>();

  /** Stands for the signature that `sign` would give. */
  make(sign: Sign, text: string): string {
    const bytes = Buffer.alloc(SIGNATURE_BYTES);
    bytes.writeUInt32BE(this.#made.size);
    const signature = bytes.toString('base64');
    this.#made.set(signature, { text, sign });
    return signature;
  }

  /** Whether the agent that made it has the key of the node, and signed this. */
  check({ publicKey }: StoredNode, text: string, signature: string): boolean {
    const made = this.#made.get(signature);
    return made?.text === text && this.#isOwned(made.sign, publicKey);
  }

  #isOwned(sign: Sign, publicKey: string): boolean {
    const known = this.#owned.get(sign) ?? new Map<string, boolean>();
    this.#owned.set(sign, known);
    const isOwned = known.get(publicKey) ?? isSignedBy(parseNodeKey(publicKey), publicKey, sign(publicKey));
    known.set(publicKey, isOwned);
    return isOwned;
  }
}
