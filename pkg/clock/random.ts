import { randomFillSync, randomUUID } from 'node:crypto';

/** A source of chance. Only `systemRandom` is fit for secrets. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  uuid(): string;
  bytes(count: number): Buffer;
}

const pool = Buffer.alloc(4096);
let drawn = pool.length;

/** Fresh bytes. The system is asked for many at a time; what was handed out is wiped from the pool. */
function draw(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  if (count > pool.length) return randomFillSync(bytes);
  if (drawn + count > pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  pool.copy(bytes, 0, drawn, drawn + count);
  pool.fill(0, drawn, drawn + count);
  drawn += count;
  return bytes;
}

/** The operating system's randomness. */
export const systemRandom: Random = {
  next: () => draw(4).readUInt32BE() / 2 ** 32,
  uuid: () => randomUUID(),
  bytes: draw,
};

/** The same numbers for the same seed, for simulations. Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => Math.floor(next() * 256)));
  const uuid = () => {
    const b = bytes(16);
    b[6] = (b[6]! & 0x0f) | 0x40;
    b[8] = (b[8]! & 0x3f) | 0x80;
    const hex = b.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
  return { next, bytes, uuid };
}
