import { expect } from 'chai';

import { isSameTerm, type VolumeTerm } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { sampleRuns } from '../../../dev/testing/index.js';
import { isSyncName } from './messages.js';
import { V } from './replication-lab.testing.js';
import { type WalkNode, WalkWorld } from './walk.testing.js';

const SEEDS = sampleRuns(4, 120);
const STEPS = 24;
const KINDS = ['failure', 'death before', 'death after'] as const;

/** Everything that was ever written to the volume is a word. */
const toWords = (text: string) => text.split(' ').filter(word => word !== '');

interface Term extends VolumeTerm {
  readonly primary: number;
}

class Walk {
  readonly world: WalkWorld;
  readonly told: string[] = [];
  #writes = 0;
  /** What each node had when it was looked at last. */
  readonly #known = new Map<WalkNode, ReadonlySet<string>>();
  readonly #givenUp = new Set<string>();
  /** What was taken by each name. */
  readonly #taken = new Map<string, string>();
  /** Nobody touches the disks, or has anything removed. */
  readonly #isCalm: boolean;
  /** What the control plane knows to have issued; a restore takes the last from it. */
  readonly #terms: Term[] = [{ ...makeTerm(1), primary: 0 }];
  #issued = 1;

  constructor(seed: number) {
    this.world = new WalkWorld(seed, ['a', 'b', 'c']);
    this.#isCalm = seed % 2 === 0;
  }

  #draw(below: number): number {
    return Math.floor(this.world.random.next() * below);
  }

  #drawNode(): WalkNode {
    return this.world.nodes[this.#draw(this.world.nodes.length)]!;
  }

  get #term(): Term {
    return this.#terms.at(-1)!;
  }

  get #primary(): WalkNode {
    return this.world.nodes[this.#term.primary]!;
  }

  #tell(node: WalkNode, change: object = {}): Promise<void> {
    const { epoch, generationId } = this.#term;
    const isPrimary = this.#primary === node;
    const primary = this.#primary.name;
    const replica = { peers: [{ nodeId: primary, publicKey: primary }] };
    const more = { generationId, ...(!isPrimary && replica), ...change };
    return node.tell(isPrimary ? 'primary' : 'replica', epoch, more);
  }

  async begin(): Promise<void> {
    for (const node of this.world.nodes) await this.#tell(node);
    await this.#write(this.world.nodes[0]!);
    this.#connect(() => true);
    await this.#pass();
    if (this.#draw(3) > 0) await this.#diverge();
  }

  /** One is promoted that lacks what was written last, and of which another has a copy or not. */
  async #diverge(): Promise<void> {
    const [a, b] = this.world.nodes as [WalkNode, WalkNode];
    await this.#write(a);
    this.world.links.delete('a>c');
    if (this.#draw(2) === 0) b.mishap = { after: 0, kind: 'death before' };
    await this.#pass();
    b.mishap = undefined;
    await this.#restart();
    await this.#promote(2);
    for (const node of this.world.nodes) await this.#tell(node);
  }

  #connect(isUp: () => boolean): void {
    const { links, nodes } = this.world;
    links.clear();
    for (const { name: from } of nodes) for (const { name: to } of nodes) if (isUp()) links.add(`${from}>${to}`);
  }

  async #pass(ms = 6_001): Promise<void> {
    await this.world.clock.pass(ms);
    await this.world.rest();
  }

  async #write(node: WalkNode): Promise<void> {
    const isServed = node.record?.role === 'primary' && node.disk.volumes.has(V) && !node.life.isDead;
    if (!isServed || !node.assigned || (await node.replication.explainUnusable(node.assigned))) return;
    const word = `w${this.#writes++}`;
    this.told.push(`${node.name} writes ${word}`);
    node.disk.write(V, `${node.disk.read(V)}${word} `);
  }

  /** In the next epoch that the control plane knows of, or in a later one. */
  async #promote(at = this.#draw(3), least = 0): Promise<void> {
    const { nodes } = this.world;
    const { syncedAt } = await nodes[at]!.describe();
    if (at === this.#term.primary || syncedAt === undefined) return;
    const epoch = Math.max(this.#term.epoch + 1, least);
    this.#terms.push({ ...makeTerm(++this.#issued), epoch, primary: at });
    this.told.push(`${nodes[at]!.name} is promoted in ${epoch}`);
    await this.#tell(nodes[at]!);
  }

  /** The control plane is restored from a backup, and issues the same epochs again. */
  #restore(): void {
    this.#terms.splice(Math.max(1, this.#terms.length - 1 - this.#draw(2)));
    this.told.push(`a store of epoch ${this.#term.epoch} is restored`);
  }

  /** The machine of the primary, its disks or its state folder are as they were some time ago: what it had since is gone there, and there only. */
  async #setBack(): Promise<void> {
    const node = this.#primary;
    const saved = node.save();
    await this.#write(node);
    await this.#pass();
    node.kill();
    const what = (['all', 'disks', 'files'] as const)[this.#draw(3)]!;
    node.revert(saved, what);
    this.#known.delete(node);
    this.told.push(`${node.name} is set back: ${what}`);
    await this.#restart();
    for (let left = this.#draw(3); left > 0; left--) {
      this.#connect(() => this.world.random.next() < 0.5);
      await this.#write(node);
      await this.#pass();
    }
  }

  async #discard(node: WalkNode): Promise<void> {
    const { divergent = [] } = await node.describe();
    const given = divergent[this.#draw(divergent.length)];
    if (!given) return;
    this.told.push(`${node.name} is to remove ${given.name}`);
    for (const { volumes } of node.disks) {
      for (const word of toWords(volumes.get(V)?.snapshots.get(given.name) ?? '')) this.#givenUp.add(word);
    }
    await this.#tell(node, { discard: [given] });
  }

  async #step(): Promise<void> {
    const { random, nodes, links } = this.world;
    const node = this.#drawNode();
    if (random.next() < 0.5) node.mishap = { after: this.#draw(3), kind: KINDS[this.#draw(KINDS.length)]! };
    this.told.push(`${node.name} may have ${node.mishap?.kind ?? 'nothing'} after ${node.mishap?.after ?? 0}`);
    const drawn = random.next();
    if (drawn < 0.2) for (const each of nodes) await this.#write(each);
    else if (drawn < 0.5) {
      this.#connect(() => random.next() < 0.5);
      this.told.push(`links ${[...links].join()}`);
      await this.#pass();
    } else if (drawn < 0.7) {
      await this.#promote();
      for (const each of nodes) if (random.next() < 0.5) await this.#tell(each);
    } else if (drawn < 0.8) await this.#tell(node);
    else if (drawn < 0.85) this.#restore();
    else if (drawn < 0.88) await this.#setBack();
    else if (this.#isCalm) return;
    else if (drawn < 0.95) {
      if (node.record?.role !== 'replica') return; // of a primary the bytes are away
      node.at = 1 - node.at;
      this.told.push(`${node.name} has disk ${node.at}`);
      await node.settle();
    } else await this.#discard(node);
    await this.world.rest();
    node.mishap = undefined;
  }

  async walk(): Promise<void> {
    await this.begin();
    for (let step = 0; step < STEPS; step++) {
      await this.#step();
      await this.#restart();
      this.#check();
    }
    await this.#finish();
  }

  async #restart(): Promise<void> {
    for (const node of this.world.nodes) {
      if (!node.life.isDead) continue;
      this.told.push(`${node.name} is started again`);
      node.start();
      await node.settle();
    }
  }

  /** What a node has, it has until that is removed by order: in its volume while it is the primary, in its copy, or set aside. */
  #check(): void {
    for (const node of this.world.nodes) {
      const known = this.#listKnown(node);
      const lost = [...(this.#known.get(node) ?? [])].filter(word => !known.has(word) && !this.#givenUp.has(word));
      expect(lost, `lost on ${node.name}`).to.deep.equal([]);
      this.#known.set(node, known);
    }
  }

  #listKnown({ record, disks, disk }: WalkNode): ReadonlySet<string> {
    const known = new Set<string>();
    const isPrimary = record?.role === 'primary';
    const names = new Set([record?.synced?.snapshot, ...(record?.divergent ?? []).map(({ name }) => name)]);
    for (const each of disks) {
      const { content, snapshots } = each.volumes.get(V) ?? { content: '', snapshots: new Map<string, string>() };
      const isServed = isPrimary && each === disk;
      if (isServed) for (const word of toWords(content)) known.add(word);
      for (const [name, text] of snapshots) {
        this.#checkSame(name, text);
        if (names.has(name) || (isServed && !isSyncName(name))) for (const word of toWords(text)) known.add(word);
      }
    }
    return known;
  }

  /** A snapshot for copies is the same wherever it is. */
  #checkSame(name: string, text: string): void {
    if (!isSyncName(name)) return;
    expect(text, name).to.equal(this.#taken.get(name) ?? text);
    this.#taken.set(name, text);
  }

  /** Once everybody hears and reaches everybody, all have what the primary has; also when another is promoted, and nothing is written. */
  async #finish(): Promise<void> {
    const { nodes } = this.world;
    for (const node of nodes) node.mishap = undefined;
    this.told.push('all is well');
    this.#connect(() => true);
    const seen = nodes.map(({ record }) => record?.epoch ?? 0);
    for (let round = 0; round < 3; round++) {
      await this.#catchUp();
      await this.#promote(undefined, Math.max(...seen) + 1); // a restore was declared
    }
    for (const node of nodes) node.kill();
  }

  async #catchUp(): Promise<void> {
    const { nodes } = this.world;
    const primary = this.#primary;
    const ask = async () => {
      primary.kill(); // started again, it asks all nodes what they have
      await this.#restart();
      for (const node of nodes) await this.#tell(node);
      await this.#pass(8_000);
      return nodes.flatMap(({ disk }) => disk.steps.filter(step => step.startsWith('receive'))).length;
    };
    const sent = await ask();
    this.#check();
    if (primary.record?.role !== 'primary' || !isSameTerm(primary.record, this.#term)) return; // its copy is on the other disk
    if (nodes.some(({ record }) => record!.epoch > this.#term.epoch)) return; // the store is older than it
    const copies = nodes.map(node => {
      const { content, snapshots } = node.disk.volumes.get(V)!;
      return node === primary ? content : snapshots.get(node.record?.synced?.snapshot ?? '');
    });
    expect(copies, 'copies').to.deep.equal(nodes.map(() => primary.disk.read(V)));
    expect(await ask(), 'copies that were sent in vain').to.equal(sent);
  }
}

describe('a walk of nodes that copy a volume', () => {
  it('loses nothing that a node has, and forgets nothing that was set aside, in whatever order what happens', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const walk = new Walk(seed);
      await walk.walk().catch((thrown: Error) => {
        throw new Error(`seed ${seed}: ${thrown.message}\n${walk.told.join('\n')}`);
      });
    }
  });
});
